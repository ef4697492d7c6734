// Owns reading an authorization server: its metadata, in each place where it may be, and its keys. Refuses metadata that
// another one could have written, keys that are secret, and more of either than one server has.
// https://datatracker.ietf.org/doc/html/rfc8414#section-3

import type { JSONWebKeySet } from "jose";
import { OutboundDoor, type OutboundVars } from "../../outbound/outbound-door.ts";
import { resolverAt } from "../../outbound/resolve.ts";

const WITHIN_MS = 5_000;
const MOST_BYTES = 256 * 1024;
const MOST_KEYS = 100;
/** Of a public key; whatever else a server publishes is not kept. */
const MEMBERS = "kty kid alg use crv x y n e".split(" ");

/** Where a Worker's requests may go beside the public internet. */
export function loginAllow(env: unknown): string {
  const { OUTBOUND_ALLOW = "", OUTBOUND_LOCAL = "" } = (env ?? {}) as OutboundVars;
  return `${OUTBOUND_ALLOW},${OUTBOUND_LOCAL}`;
}

type ReadJson = (url: string) => Promise<Readonly<Record<string, unknown>>>;

/** Rejects with what can be logged, and shown to no caller. */
export async function readIssuer(issuer: string, tenant: string, env: unknown): Promise<JSONWebKeySet> {
  const door = new OutboundDoor({
    tenant,
    hops: 0,
    signal: () => AbortSignal.timeout(WITHIN_MS),
    allow: loginAllow(env),
    resolve: resolverAt((env as OutboundVars).OUTBOUND_RESOLVER),
    answerWithinMs: WITHIN_MS,
  });
  const readJson: ReadJson = async (url) => {
    const headers = { accept: "application/json" };
    const response = await door.fetch(url, { headers, redirect: "error", maxBytes: MOST_BYTES });
    const body: unknown = response.ok ? await response.json() : await response.body?.cancel();
    if (typeof body !== "object" || body === null) throw new Error(`${url} answered ${response.status}`);
    return body as Readonly<Record<string, unknown>>;
  };
  try {
    const { keys } = await readJson(await keysUrlOf(issuer, readJson));
    if (!Array.isArray(keys)) throw new Error(`${issuer} publishes no keys`);
    return { keys: keys.slice(0, MOST_KEYS).filter(isPublicKey).map(publicPart) };
  } finally {
    door.close();
  }
}

/** The first of its metadata that is there decides: the name in it has to be the one under which it was looked for. */
async function keysUrlOf(issuer: string, readJson: ReadJson): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]);
  const failed: unknown[] = [];
  for (const place of places) {
    try {
      const { issuer: named, jwks_uri: keys } = await readJson(place);
      if (named === issuer && typeof keys === "string") return keys;
      failed.push(new Error(`${place} is of another issuer, or names no keys`));
    } catch (error) {
      failed.push(error);
    }
  }
  throw new AggregateError(failed, `the authorization server ${issuer} has no metadata that can be used`);
}

function isPublicKey(key: unknown): key is Readonly<Record<string, unknown>> {
  if (typeof key !== "object" || key === null) return false;
  const { kty, use } = key as Readonly<Record<string, unknown>>;
  return ["RSA", "EC", "OKP"].includes(kty as string) && use !== "enc";
}

function publicPart(key: Readonly<Record<string, unknown>>): JSONWebKeySet["keys"][number] {
  return Object.fromEntries(MEMBERS.filter((name) => typeof key[name] === "string").map((name) => [name, key[name]]));
}
