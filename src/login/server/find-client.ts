// Finds the client that somebody names by its id: one that registered, or a document, live, else as it last was,
// else as the operators pinned it. Refuses what is not known, and to ask strangers' servers as often as strangers like.
// https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/

import { digest } from "../../auth/seal.ts";
import { Limiter } from "../../limits/limiter.ts";
import { allowedBy } from "../../outbound/outbound-door.ts";
import type { LoginVisit } from "../login-visit.ts";
import type { BrokenMember } from "../../deployment/deployment.ts";
import { refusedAsWritten } from "../../outbound/destination.ts";
import { loginDoor } from "../issuers/read-issuer.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { documentMetadata, type ClientFault, type ClientMetadata, metadataFault } from "./client-metadata.ts";
import type { StoredClient } from "./client-tables.ts";
import { loginOf } from "./login-door.ts";
import type { LoginClient } from "./login-records.ts";

const LONGEST_ID = 2048;
/** What one address may have us read, or register, in a minute and a tenant. */
const MOST_A_MINUTE = 30;
/** A document that cannot be read is taken for so long as it was when it could. */
const LAST_GOOD_MS = 30 * 86_400_000;
/** A person waits. */
const WITHIN_MS = 5_000;
const MOST_DOCUMENT_BYTES = 5 * 1024;
const LEAST_KEPT_S = 300;
const MOST_KEPT_S = 86_400;
/** A host alone: no client is called so. */
const HOST = /^(?:https?:\/\/[^/]+\/?|[^/:]+\.[^/:]+)$/i;

/** Why a client cannot be used, for the person who is in front of it. */
export interface ClientRefusal {
  readonly kind: "clientRefusal";
  readonly why: string;
}

/** Bound: twice MOST_METERS of limiter.ts. */
const limiter = new Limiter();

/** Seconds after which the address may ask for `what` again; undefined: it may now. */
export function waitOf(
  { address, ground }: Pick<LoginVisit, "address" | "ground">,
  what: string,
  most = MOST_A_MINUTE,
): number | undefined {
  const met = limiter.refuse(`${what} ${ground.tenant} ${address}`, { addressRefusals: most }, Date.now());
  return met && Math.ceil(met.waitMs / 1000);
}

type Visit = Pick<LoginVisit, "address" | "ground" | "login">;

export async function findClient(visit: Visit, id: string): Promise<LoginClient | ClientRefusal> {
  const { login } = visit;
  const mayBe = login.clients?.includes(id) ?? id.length <= LONGEST_ID;
  if (!mayBe)
    return refusal("This client is none of those that may be used here. Ask whoever runs this server to allow it");
  const stored = await loginOf(visit).client(id);
  if (!/^https?:/i.test(id)) return stored?.client ?? refusal("This client is not known here, or not any more");
  const env = envFor(visit, id);
  if (!isDocumentId(id, allowedBy(env)))
    return refusal("The id of this client is no URL of a document on the public internet");
  if (stored && Date.now() < stored.freshUntil) return stored.client;
  return (await readAnew(visit, id, env)) ?? (await asItWas(visit, id, stored));
}

/** What operators let tools reach inside of a network is nothing that strangers may have us read, unless it is a client of theirs. */
function envFor({ ground: { env }, login: { clients, pinned = {} } }: Visit, id: string): unknown {
  return clients || Object.hasOwn(pinned, id) ? env : { ...env, OUTBOUND_ALLOW: "" };
}

/** undefined: it cannot be read now. */
async function readAnew(visit: Visit, id: string, env: unknown): Promise<LoginClient | ClientRefusal | undefined> {
  const { ground } = visit;
  if (waitOf(visit, "read") !== undefined) return undefined;
  try {
    const now = Date.now();
    const { metadata, goodFor } = await readClientDocument(id, ground.tenant, env);
    if ("kind" in metadata) return wrongly(metadata);
    const client = await documentClient(id, metadata);
    // Where there is no room it is read each time.
    await loginOf(visit).keepClient({ client, freshUntil: now + goodFor });
    return client;
  } catch (error) {
    ground.onError(error);
    return undefined;
  }
}

async function asItWas(
  { login }: Visit,
  id: string,
  stored: StoredClient | null,
): Promise<LoginClient | ClientRefusal> {
  if (stored && Date.now() < stored.freshUntil + LAST_GOOD_MS) return stored.client;
  const { pinned = {} } = login;
  const metadata = Object.hasOwn(pinned, id) ? documentMetadata(id, pinned[id]) : undefined;
  if (!metadata) return refusal("The document of this client cannot be read now");
  return "kind" in metadata ? wrongly(metadata) : documentClient(id, metadata);
}

async function documentClient(id: string, metadata: ClientMetadata): Promise<LoginClient> {
  return { id, kind: "document", ...metadata, secretHash: null, digest: await metadataDigest(metadata) };
}

/** Identifies the metadata that a person consented to. Without redirect URIs: each is checked at `/authorize`. */
export function metadataDigest({ name, site, method }: ClientMetadata): Promise<string> {
  return digest(JSON.stringify([name, site, method]));
}

function wrongly({ why }: ClientFault): ClientRefusal {
  return refusal(`This client cannot be used: ${why}`);
}

function refusal(why: string): ClientRefusal {
  return { kind: "clientRefusal", why };
}

interface ClientDocument {
  /** A fault: what the client says wrongly of itself, or that it is gone. */
  readonly metadata: ClientMetadata | ClientFault;
  /** Milliseconds for which it need not be read again. */
  readonly goodFor: number;
}

/** Whether an id is the URL of a document: written as URLs are, so that no other text is the same, and leading outside. */
function isDocumentId(id: string, allow: string | undefined): boolean {
  if (!URL.canParse(id) || id.includes("#")) return false;
  const url = new URL(id);
  return url.href === id && url.pathname !== "/" && refusedAsWritten(url, allow) === undefined;
}

/** What is wrong with the clients that a document names, and with copies that it pins. `allow`: undefined where nobody knows yet. */
export function brokenPins({ pinned = {}, clients = [] }: LoginDocument, allow: string | undefined): BrokenMember[] {
  const called = "is the URL of a client's document, or the id of one that registered: a host has several clients";
  const hosts = clients.flatMap((id, at) =>
    HOST.test(id) ? [{ field: `auth.login.clients.${at}`, rule: called }] : [],
  );
  const broken = Object.entries(pinned).flatMap(([id, said]) => {
    const metadata = documentMetadata(id, said);
    const isUrl = allow === undefined || isDocumentId(id, allow);
    const rule = isUrl ? "kind" in metadata && metadata.why : "is named by the URL of a client's document";
    return rule ? [{ field: `auth.login.pinned.${id}`, rule }] : [];
  });
  return [...hosts, ...broken];
}

/** Rejects where nobody can know now. */
async function readClientDocument(id: string, tenant: string, env: unknown): Promise<ClientDocument> {
  // Whom strangers have us ask takes nothing of what the tenant's tools may ask at a time.
  const door = loginDoor(`login ${tenant}`, env, WITHIN_MS);
  try {
    const headers = { accept: "application/json" };
    const response = await door.fetch(id, { headers, redirect: "error", maxBytes: MOST_DOCUMENT_BYTES });
    const { status } = response;
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get("content-type") ?? "");
    const said: unknown = status === 200 && isJson ? await response.json() : await response.body?.cancel();
    const isGone = status === 404 || status === 410;
    if (said === undefined && !isGone) throw new Error(`${id} answered ${status}, and no document`);
    const metadata = isGone ? metadataFault(`its URL answers ${status}`) : documentMetadata(id, said);
    return { metadata, goodFor: freshFor(response.headers.get("cache-control") ?? "") };
  } finally {
    door.close();
  }
}

function freshFor(cacheControl: string): number {
  const seconds = Number(/(?:^|[\s,])max-age=(\d+)/i.exec(cacheControl)?.[1] ?? 0);
  return Math.min(Math.max(seconds, LEAST_KEPT_S), MOST_KEPT_S) * 1000;
}
