// Reads an authorization server's metadata, from every standard location, and its keys. Rejects metadata of another
// issuer, secret keys, and more data than one server has. https://datatracker.ietf.org/doc/html/rfc8414#section-3

import type { JSONWebKeySet } from "jose";
import { outboundAllowOf, GuardedFetch, type OutboundVars } from "../../outbound/guarded-fetch.ts";
import { createResolver } from "../../outbound/dns-resolver.ts";
import { parseJsonObject } from "../../outbound/token-endpoint.ts";

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** Members of a public key; all others are dropped. */
const PUBLIC_MEMBERS = "kty kid alg use crv x y n e".split(" ");

/** The stored part of a server: its keys, and the endpoints for sign-in. */
export interface IssuerSection extends JSONWebKeySet {
  readonly endpoints: IssuerEndpoints;
}

/** https://datatracker.ietf.org/doc/html/rfc8414#section-2 */
export interface IssuerEndpoints {
  readonly authorize?: string | undefined;
  readonly token?: string | undefined;
  /** The endpoint that describes the person of a token. */
  readonly user?: string | undefined;
  /** Whether its answers always contain its issuer: https://datatracker.ietf.org/doc/html/rfc9207 */
  readonly namesItself: boolean;
  /** Whether clients may send their secret by HTTP Basic, which is the default. */
  readonly takesBasic: boolean;
}

/** The fetch for all requests of login to other servers. `tenant`: the name under which the connections are counted. */
export function createLoginFetch(tenant: string, env: unknown, timeoutMs = TIMEOUT_MS): GuardedFetch {
  return new GuardedFetch({
    tenant: tenant,
    hops: 0,
    signal: () => AbortSignal.timeout(timeoutMs),
    allow: outboundAllowOf(env),
    resolve: createResolver((env as OutboundVars).OUTBOUND_RESOLVER),
    timeoutMs: timeoutMs,
  });
}

type ReadJson = (url: string) => Promise<Readonly<Record<string, unknown>>>;

/** Rejects with an error for the log, not for callers. `isOpenId`: whether the OpenID metadata comes first. */
export async function readIssuer(
  issuer: string,
  isOpenId: boolean,
  { tenant, env }: { readonly tenant: string; readonly env: unknown },
): Promise<IssuerSection> {
  const guardedFetch = createLoginFetch(tenant, env);
  const readJson: ReadJson = async (url) => {
    const headers = { accept: "application/json" };
    const response = await guardedFetch.fetch(url, { headers, redirect: "error", maxBytes: MAX_BYTES });
    const body = parseJsonObject(response.ok ? await response.text() : "");
    if (!response.ok) await response.body?.cancel();
    if (!body) throw new Error(`${url} answered ${response.status} without a JSON object`);
    return body;
  };
  try {
    const metadata = await readMetadata(metadataUrlsOf(issuer, isOpenId), issuer, readJson);
    const { keys } = await readJson(metadata.jwks_uri);
    if (!Array.isArray(keys)) throw new Error(`${issuer} publishes no keys`);
    return { keys: keys.slice(0, MAX_KEYS).filter(isPublicKey).map(publicPart), endpoints: endpointsIn(metadata) };
  } finally {
    guardedFetch.close();
  }
}

function metadataUrlsOf(issuer: string, isOpenId: boolean): ReadonlySet<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const oauth = `${origin}/.well-known/oauth-authorization-server${path}`;
  const openId = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return new Set([isOpenId ? openId : oauth, openId, oauth, `${origin}/.well-known/openid-configuration${path}`]);
}

type Metadata = Readonly<Record<string, unknown>> & { readonly jwks_uri: string };

/** The first location with the right issuer and a key URL wins: its issuer must be the one that was looked up. */
async function readMetadata(urls: ReadonlySet<string>, issuer: string, readJson: ReadJson): Promise<Metadata> {
  const errors: unknown[] = [];
  for (const url of urls) {
    try {
      const metadata = await readJson(url);
      const { issuer: namedIssuer, jwks_uri: keys } = metadata;
      if (namedIssuer === issuer && typeof keys === "string") return { ...metadata, jwks_uri: keys };
      errors.push(new Error(`${url} names another issuer, or has no jwks_uri`));
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, `the authorization server ${issuer} has no valid metadata`);
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
  return Object.fromEntries(
    PUBLIC_MEMBERS.filter((name) => typeof key[name] === "string").map((name) => [name, key[name]]),
  );
}
