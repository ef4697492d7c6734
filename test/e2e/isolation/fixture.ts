// A small world of tenants, profiles and keys, and an oracle that says from their documents alone who may see what.

import type { Json } from "../../support/mcp-client.ts";
import { ADMIN_TOKEN, type WatchedWorker } from "../../support/worker-pair.ts";

/** A name, or the beginning of one with `*` after it. */
type Pattern = string;
interface Patterns {
  readonly allow?: readonly Pattern[];
  readonly deny?: readonly Pattern[];
}
interface Profile {
  readonly search?: boolean;
  readonly tools?: Patterns & { readonly rename?: Readonly<Record<string, { readonly name: string }>> };
  readonly prompts?: Patterns & { readonly rename?: Readonly<Record<string, { readonly name: string }>> };
  readonly resources?: Patterns;
}
type Kind = "tools" | "prompts" | "resources";
interface Document {
  readonly mode: "open" | "key";
  readonly search: boolean;
  readonly tools: Readonly<Record<string, { readonly enabled: boolean }>>;
  readonly prompts: Readonly<Record<string, Json>>;
  readonly scopes: Readonly<Record<string, Readonly<Partial<Record<Kind, readonly Pattern[]>>>>>;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const TENANTS = ["alpha", "beta", "gamma"] as const;
export type TenantName = (typeof TENANTS)[number];
export const PROFILES = [null, "narrow", "renamed", "nowhere"] as const;
export const PRINCIPALS = [
  "none",
  "own",
  "scoped",
  "bound",
  "foreign",
  "expired",
  "revoked",
  "made-up",
  "ada",
  "bob",
  "guest",
] as const;
export type PrincipalName = (typeof PRINCIPALS)[number];

/** In every text that a tenant stores, and nowhere else. */
export const markOf = (tenant: TenantName) => `kept-by-${tenant}`;

const enabled = Object.fromEntries(
  ["lab_echo", "lab_strict", "lab_list", "lab_pay", "search", "fetch"].map((name) => [name, { enabled: true }]),
);
const text = (body: string) => ({ messages: [{ role: "user", content: { type: "text", text: body } }] });

function documentOf(tenant: TenantName, mode: Document["mode"]): Document {
  const secret = `${tenant}://secret/b`;
  return {
    mode,
    search: true,
    tools: { ...enabled, "*": { enabled: false } },
    prompts: {
      [`${tenant}_hello`]: text(`Hello, ${markOf(tenant)}`),
      [`${tenant}_secret`]: text(`Secret, ${markOf(tenant)}`),
      shared_prompt: text(`Shared, ${markOf(tenant)}`),
      embedding: { messages: [{ role: "user", content: { type: "resource", uri: secret } }] },
    },
    scopes: {
      reader: {
        tools: ["lab_echo", "search", "fetch"],
        prompts: [`${tenant}_hello`, "embedding"],
        resources: [`${tenant}://public/*`, "lab://notes/public/*"],
      },
    },
    profiles: {
      narrow: {
        search: true,
        tools: { allow: ["lab_echo", "lab_list", "lab_pay", "search", "fetch"], deny: ["lab_pay"] },
        prompts: { allow: [`${tenant}_*`, "embedding", "analyze_*"], deny: [`${tenant}_secret`] },
        resources: {
          allow: [`${tenant}://*`, "lab://notes/*", "lab://square/*"],
          deny: [`${tenant}://secret/*`, "lab://notes/secret/*"],
        },
      },
      renamed: {
        search: false,
        tools: { deny: ["lab_strict"], rename: { lab_echo: { name: "say" } } },
        prompts: { allow: ["shared_prompt"], rename: { shared_prompt: { name: "ours" } } },
        resources: { allow: ["shared://doc"] },
      },
    },
  };
}

export const documents: Readonly<Record<TenantName, Document>> = {
  alpha: documentOf("alpha", "open"),
  beta: documentOf("beta", "key"),
  gamma: documentOf("gamma", "key"),
};

export function storedUris(tenant: TenantName): readonly string[] {
  return [
    "lab://notes/public/one",
    `lab://notes/public/${tenant}`,
    `lab://notes/secret/${tenant}`,
    "shared://doc",
    `${tenant}://public/a`,
    `${tenant}://secret/b`,
  ];
}

/** Made by a template: it can be read, and is in no list. */
export const SQUARE = "lab://square/3";

/** Every name that any tenant has, under whichever name, and one that nobody has. */
export const universe: Readonly<Record<Kind, readonly string[]>> = {
  tools: ["lab_echo", "lab_strict", "lab_list", "lab_pay", "search", "fetch", "say", "lab_write", "crowd_001"],
  prompts: [
    ...TENANTS.flatMap((tenant) => [`${tenant}_hello`, `${tenant}_secret`]),
    "shared_prompt",
    "ours",
    "embedding",
    "analyze_code",
    "crowd_001",
  ],
  resources: [...new Set([...TENANTS.flatMap(storedUris), "archive://code/000", "test://static-text", SQUARE])],
};
/** In the code of the Worker, so that every tenant has them unless a profile or a scope hides them. */
const inCode: Readonly<Record<Kind, readonly string[]>> = {
  tools: [],
  prompts: ["analyze_code", "crowd_001"],
  resources: ["archive://code/000", "test://static-text", SQUARE],
};
export const templates = ["lab://notes/{folder}/{id}", "lab://square/{number}", "crowd://001/{id}"] as const;

/** From where somebody looks. */
export interface Viewpoint {
  readonly tenant: TenantName;
  readonly profile: (typeof PROFILES)[number];
  readonly principal: PrincipalName;
}

/** undefined: admitted; else the status of the refusal. */
export function refusal({ tenant, profile, principal }: Viewpoint): 401 | 403 | 404 | undefined {
  // Users of an app: two of the tenant, one of another.
  if (principal === "guest") return 404;
  if (principal === "none" && documents[tenant].mode === "key") return 401;
  if (["foreign", "expired", "revoked", "made-up"].includes(principal)) return 401;
  if (principal === "bound" && profile !== "narrow") return 403;
  return profile === "nowhere" ? 404 : undefined;
}

const fits = (patterns: readonly Pattern[], name: string) =>
  patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));

const profileOf = ({ tenant, profile }: Viewpoint): Profile =>
  (profile === null ? {} : documents[tenant].profiles[profile]) ?? {};

/** Whether something of the tenant, by the name it has there, may be seen. */
export function maySee(viewpoint: Viewpoint, kind: Kind, name: string): boolean {
  const { allow, deny = [] } = profileOf(viewpoint)[kind] ?? {};
  if (fits(deny, name) || (allow !== undefined && !fits(allow, name))) return false;
  return (
    !["scoped", "bob"].includes(viewpoint.principal) ||
    fits(documents[viewpoint.tenant].scopes["reader"]?.[kind] ?? [], name)
  );
}

/** What a viewpoint has under a name of the universe: its name in the tenant, or undefined. */
export function has(viewpoint: Viewpoint, kind: Kind, name: string): string | undefined {
  const { rename = {} } = kind === "resources" ? {} : (profileOf(viewpoint)[kind] ?? {});
  const original = Object.keys(rename).find((one) => rename[one]?.name === name) ?? name;
  if (original === name && rename[name] !== undefined) return undefined;
  return exists(viewpoint, kind, original) && maySee(viewpoint, kind, original) ? original : undefined;
}

function exists(viewpoint: Viewpoint, kind: Kind, name: string): boolean {
  const { tenant } = viewpoint;
  if (inCode[kind].includes(name)) return true;
  if (kind === "resources") return storedUris(tenant).includes(name);
  if (kind === "prompts") return Object.hasOwn(documents[tenant].prompts, name);
  const searches = profileOf(viewpoint).search ?? documents[tenant].search;
  if (!searches && ["search", "fetch"].includes(name)) return false;
  return Object.hasOwn(documents[tenant].tools, name);
}

export const visibleStored = (viewpoint: Viewpoint): readonly string[] =>
  storedUris(viewpoint.tenant).filter((uri) => maySee(viewpoint, "resources", uri));

/** The token of each principal, by tenant. */
export type Tokens = Readonly<Record<TenantName, Readonly<Record<PrincipalName, string | undefined>>>>;

/** Long enough that whatever a lease brings stays for a whole test. */
const LONG = 300_000;

/** Makes the tenants, what they store, and their keys; settles when the expired ones have expired. `more`: of each document. */
export async function makeFixture(
  worker: Pick<WatchedWorker, "origin" | "admin">,
  maxStalenessMs = LONG,
  more: (tenant: TenantName) => Json = () => ({}),
): Promise<Tokens> {
  for (const tenant of TENANTS) {
    const document = { ...documents[tenant], maxStalenessMs, ...more(tenant) };
    await worker.admin("POST", "/tenants", { id: tenant, document });
    for (const uri of storedUris(tenant)) await store(worker.origin, tenant, uri);
  }
  const tokens = await Promise.all(TENANTS.map(async (tenant) => [tenant, await keysOf(worker, tenant)] as const));
  return Object.fromEntries(tokens) as unknown as Tokens;
}

/** What is stored under a URI: the word that everything is found by, whose it is, and where it is. */
export const storedText = (tenant: TenantName, uri: string) => `otter ${markOf(tenant)} ${uri}`;

export async function store(
  origin: string,
  tenant: TenantName,
  uri: string,
  body = storedText(tenant, uri),
): Promise<void> {
  const query = new URLSearchParams({ uri });
  const { ok, status } = await fetch(`${origin}/admin/v1/tenants/${tenant}/resources/content?${query}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "text/plain" },
    body,
  });
  if (!ok) throw new Error(`${uri} was not stored: ${status}`);
}

async function keysOf(worker: Pick<WatchedWorker, "admin">, tenant: TenantName): Promise<Tokens[TenantName]> {
  const make = async (about: Json, of: string = tenant) => {
    const { token, id } = await worker.admin("POST", `/tenants/${of}/keys`, { name: "key", ...about });
    return { token: String(token), id: String(id) };
  };
  const expires = Date.now() + 1000;
  const expired = await make({ expires: new Date(expires).toISOString() });
  const revoked = await make({});
  await worker.admin("DELETE", `/tenants/${tenant}/keys/${revoked.id}`);
  const other = TENANTS[(TENANTS.indexOf(tenant) + 1) % TENANTS.length];
  const tokens = {
    none: undefined,
    own: (await make({})).token,
    scoped: (await make({ scopes: ["reader"] })).token,
    bound: (await make({ profile: "narrow" })).token,
    foreign: (await make({}, other)).token,
    expired: expired.token,
    revoked: revoked.token,
    "made-up": "tnt_not-a-key",
    ada: `user.${tenant}.ada`,
    bob: `user.${tenant}.bob.reader`,
    guest: `user.${other}.ada`,
  };
  while (Date.now() <= expires) await new Promise((resolve) => setTimeout(resolve, expires + 1 - Date.now()));
  return tokens;
}
