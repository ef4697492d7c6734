// Owns reading an authorization server: its metadata, in each place where it may be, and its keys. Refuses metadata that
// another one could have written, keys that are secret, and more of either than one server has.
// https://datatracker.ietf.org/doc/html/rfc8414#section-3

import type { JSONWebKeySet } from "jose";
import { allowedBy, OutboundDoor, type OutboundVars } from "../../outbound/outbound-door.ts";
import { resolverAt } from "../../outbound/resolve.ts";
import { jsonIn } from "../../outbound/token-endpoint.ts";

const WITHIN_MS = 5_000;
const MOST_BYTES = 256 * 1024;
const MOST_KEYS = 100;
/** Of a public key; whatever else a server publishes is not kept. */
const MEMBERS = "kty kid alg use crv x y n e".split(" ");

/** What is kept of a server: its keys, and what signing in there needs. */
export interface IssuerSection extends JSONWebKeySet {
  readonly endpoints: IssuerEndpoints;
}

/** https://datatracker.ietf.org/doc/html/rfc8414#section-2 */
export interface IssuerEndpoints {
  readonly authorize?: string | undefined;
  readonly token?: string | undefined;
  /** Says who a token was given for. */
  readonly user?: string | undefined;
  /** Whether its answers always name it: https://datatracker.ietf.org/doc/html/rfc9207 */
  readonly namesItself: boolean;
  /** Whether a client may show its secret by HTTP Basic, which is what it does where nothing is said. */
  readonly takesBasic: boolean;
}

/** By which what login reads of other servers is read. `whose`: with whose requests its own are counted. */
export function loginDoor(whose: string, env: unknown, withinMs = WITHIN_MS): OutboundDoor {
  return new OutboundDoor({
    tenant: whose,
    hops: 0,
    signal: () => AbortSignal.timeout(withinMs),
    allow: allowedBy(env),
    resolve: resolverAt((env as OutboundVars).OUTBOUND_RESOLVER),
    answerWithinMs: withinMs,
  });
}

type ReadJson = (url: string) => Promise<Readonly<Record<string, unknown>>>;

/** Rejects with what can be logged, and shown to no caller. `isOpenId`: of which metadata the words are taken first. */
export async function readIssuer(
  issuer: string,
  isOpenId: boolean,
  { tenant, env }: { readonly tenant: string; readonly env: unknown },
): Promise<IssuerSection> {
  const door = loginDoor(tenant, env);
  const readJson: ReadJson = async (url) => {
    const headers = { accept: "application/json" };
    const response = await door.fetch(url, { headers, redirect: "error", maxBytes: MOST_BYTES });
    const body = jsonIn(response.ok ? await response.text() : "");
    if (!response.ok) await response.body?.cancel();
    if (!body) throw new Error(`${url} answered ${response.status}, and no JSON that can be used`);
    return body;
  };
  try {
    const metadata = await readMetadata(placesOf(issuer, isOpenId), issuer, readJson);
    const { keys } = await readJson(metadata.jwks_uri);
    if (!Array.isArray(keys)) throw new Error(`${issuer} publishes no keys`);
    return { keys: keys.slice(0, MOST_KEYS).filter(isPublicKey).map(publicPart), endpoints: endpointsIn(metadata) };
  } finally {
    door.close();
  }
}

function placesOf(issuer: string, isOpenId: boolean): ReadonlySet<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const oauth = `${origin}/.well-known/oauth-authorization-server${path}`;
  const openId = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return new Set([isOpenId ? openId : oauth, openId, oauth, `${origin}/.well-known/openid-configuration${path}`]);
}

type Metadata = Readonly<Record<string, unknown>> & { readonly jwks_uri: string };

/** The first that is there decides: the name in it has to be the one under which it was looked for. */
async function readMetadata(places: ReadonlySet<string>, issuer: string, readJson: ReadJson): Promise<Metadata> {
  const failed: unknown[] = [];
  for (const place of places) {
    try {
      const metadata = await readJson(place);
      const { issuer: named, jwks_uri: keys } = metadata;
      if (named === issuer && typeof keys === "string") return { ...metadata, jwks_uri: keys };
      failed.push(new Error(`${place} is of another issuer, or names no keys`));
    } catch (error) {
      failed.push(error);
    }
  }
  throw new AggregateError(failed, `the authorization server ${issuer} has no metadata that can be used`);
}

function endpointsIn(metadata: Metadata): IssuerEndpoints {
  const textIn = (name: string) => (typeof metadata[name] === "string" ? metadata[name] : undefined);
  const methods = metadata["token_endpoint_auth_methods_supported"];
  return {
    authorize: textIn("authorization_endpoint"),
    token: textIn("token_endpoint"),
    user: textIn("userinfo_endpoint"),
    namesItself: metadata["authorization_response_iss_parameter_supported"] === true,
    takesBasic: !Array.isArray(methods) || methods.includes("client_secret_basic"),
  };
}

function isPublicKey(key: unknown): key is Readonly<Record<string, unknown>> {
  if (typeof key !== "object" || key === null) return false;
  const { kty, use } = key as Readonly<Record<string, unknown>>;
  return ["RSA", "EC", "OKP"].includes(kty as string) && use !== "enc";
}

function publicPart(key: Readonly<Record<string, unknown>>): JSONWebKeySet["keys"][number] {
  return Object.fromEntries(MEMBERS.filter((name) => typeof key[name] === "string").map((name) => [name, key[name]]));
}
