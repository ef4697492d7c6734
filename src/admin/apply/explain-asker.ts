// Owns for whom `explain` is asked: a key, a user of the app that mounts the Worker, or nobody in particular; and why they are
// not let in at all. Refuses to guess what an author's `visible` would say of somebody whose claims nobody named.

import { appPrincipal, readAppUser, type AppUser } from "../../auth/app-user.ts";
import { ANONYMOUS, keyPrincipal, type Principal } from "../../auth/principal.ts";
import type { KeyRecord } from "../../tenants/authority/policy-records.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { invalidFields, notFound } from "../problem.ts";
import type { Desk } from "../route.ts";
import type { Managed } from "./tenant-access.ts";

export interface Asker {
  /** By which suspensions name them. */
  readonly id: string;
  /** What limits what they see; undefined: nothing does. */
  readonly scopes: readonly string[] | undefined;
  readonly barred: readonly string[];
  /** That of them which a key would end. */
  readonly keyRequired?: string;
  /** Of whom `visible` can be asked; a text: why it cannot. */
  readonly viewer: Principal | string;
  /** What would have a say and is not known, because nobody is named; undefined: all of it is. */
  readonly unknown?: string;
}

interface Asked {
  readonly key?: string;
  /** JSON, as the app says it. */
  readonly user?: string;
  readonly profile?: string;
}

export async function askerOf(desk: Desk, managed: Managed, document: TenantDocument, asked: Asked): Promise<Asker> {
  const { key, user, profile = null } = asked;
  if (user !== undefined) {
    if (key !== undefined) throw invalidFields(["user", "name a key or a user, not both"]);
    return userAsking(desk, managed, document, user);
  }
  return key === undefined ? anybodyAsking(document) : keyAsking(await keyOf(managed, key), document, profile);
}

function anybodyAsking({ mode = "open", auth }: TenantDocument): Asker {
  const isLetIn = mode === "open" || mode === "mixed";
  const scopes = mode === "mixed" ? (auth?.anonymous?.scopes ?? []) : undefined;
  const keyRequired = isLetIn || mode === "oauth" ? undefined : "tenant: takes a key, and none is named";
  const barred = isLetIn ? [] : [keyRequired ?? NO_KEYS];
  const asker = { id: ANONYMOUS.id, scopes, barred, ...(keyRequired !== undefined && { keyRequired }) };
  if (isLetIn) return { ...asker, viewer: ANONYMOUS };
  const who = mode === "key" ? "no key is named" : "no caller is named";
  return { ...asker, viewer: "no key is named", unknown: `principal: ${who}, so what limits one is not known` };
}

const NO_KEYS = "tenant: takes tokens of its issuers, and no keys";

function keyAsking(key: KeyRecord, { mode }: TenantDocument, profile: string | null): Asker {
  const principal = keyPrincipal(key);
  const { id, scopes } = principal;
  if (mode === "oauth") return { id, scopes, barred: [NO_KEYS], viewer: principal };
  const ends = Math.min(key.expires ?? Infinity, key.retires ?? Infinity);
  const barred = [
    ...(ends <= Date.now() ? ["key: has ended"] : []),
    ...(key.profile !== null && key.profile !== profile ? [`key: is for the profile ${key.profile} only`] : []),
  ];
  return { id, scopes, barred, viewer: principal };
}

function userAsking(desk: Desk, { id: here }: Managed, document: TenantDocument, text: string): Asker {
  const user = readUser(text);
  const { tenant, claims, expires = Infinity } = user;
  const principal = appPrincipal(user, document.scopes);
  const { mode = "open" } = document;
  const barred = [
    ...(desk.options.catalog.isPrivate ? [] : ["app: this Worker has no authenticate, so nobody is its user"]),
    ...(tenant !== undefined && tenant !== here ? [`app: is a user of the tenant ${tenant}`] : []),
    ...(tenant === undefined && mode !== "open" ? ["app: names no tenant of theirs; only open ones let them in"] : []),
    ...(expires <= Date.now() ? ["app: what it said of them has ended"] : []),
  ];
  const viewer = claims ? principal : "what the app says of them in claims is not known here";
  return { id: principal.id, scopes: principal.scopes, barred, viewer };
}

function readUser(text: string): AppUser {
  try {
    return readAppUser(JSON.parse(text));
  } catch (error) {
    throw invalidFields(["user", (error as Error).message]);
  }
}

async function keyOf({ policy }: Managed, id: string): Promise<KeyRecord> {
  const key = await policy.key(id);
  if (!key) throw notFound(`key ${id}`);
  return key;
}
