// Finds a client by its id: a registered one, or a client document, read live, or else as last read, or else as pinned
// by the operators. Limits how often strangers can make this Worker read documents.
// https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/

import { digest } from "../../auth/seal.ts";
import { RateLimiter } from "../../limits/rate-limiter.ts";
import { outboundAllowOf } from "../../outbound/guarded-fetch.ts";
import type { LoginContext } from "../login-context.ts";
import { findBrokenRuleInUrl } from "../../outbound/url-policy.ts";
import { createLoginFetch } from "../issuers/read-issuer.ts";
import type { LoginDocument, FieldRule } from "../../tenants/document/tenant-document.ts";
import {
  parseClientDocument,
  type ClientMetadataError,
  type ClientMetadata,
  metadataError,
} from "./client-metadata.ts";
import type { StoredClient } from "./client-methods.ts";
import { getLoginStub } from "./login-stub.ts";
import type { LoginClient } from "./login-records.ts";

const MAX_ID = 2048;
/** Documents read, or clients registered, per minute, address and tenant. */
const MAX_PER_MINUTE = 30;
/** A document that cannot be read any more is used for this long. */
const MAX_STALE_MS = 30 * 86_400_000;
/** Short, because a person waits. */
const TIMEOUT_MS = 5_000;
const MAX_DOCUMENT_BYTES = 5 * 1024;
const MIN_AGE_S = 300;
const MAX_AGE_S = 86_400;
/** A bare host, which is never a client id. */
const BARE_HOST = /^(?:https?:\/\/[^/]+\/?|[^/:]+\.[^/:]+)$/i;

/** Why a client cannot be used, shown to the person. */
export interface ClientRejection {
  readonly kind: "clientRefusal";
  readonly why: string;
}

/** Bound: twice MAX_METERS of rate-limiter.ts. */
const rateLimiter = new RateLimiter();

/** Seconds until the address may repeat the action; undefined: now. */
export function retryAfterOf(
  { clientAddress: address, tenantContext }: Pick<LoginContext, "clientAddress" | "tenantContext">,
  action: string,
  limit = MAX_PER_MINUTE,
): number | undefined {
  const rejection = rateLimiter.countRefusal(
    `${action} ${tenantContext.tenant} ${address}`,
    { addressRefusals: limit },
    Date.now(),
  );
  return rejection && Math.ceil(rejection.waitMs / 1000);
}

type ClientLookupContext = Pick<LoginContext, "clientAddress" | "tenantContext" | "login">;

export async function findClient(context: ClientLookupContext, id: string): Promise<LoginClient | ClientRejection> {
  const { login } = context;
  const isAllowed = login.clients?.includes(id) ?? id.length <= MAX_ID;
  if (!isAllowed) return rejectClient("This client is not allowed here. Ask the operator of this server to allow it");
  const stored = await getLoginStub(context).getClient(id);
  if (!/^https?:/i.test(id)) return stored?.client ?? rejectClient("This client is unknown here, or was removed");
  const env = outboundEnvOf(context, id);
  if (!isDocumentId(id, outboundAllowOf(env)))
    return rejectClient("The client_id must be the URL of a metadata document on the public internet");
  if (stored && Date.now() < stored.freshUntil) return stored.client;
  return (await refetchClient(context, id, env)) ?? (await lastKnownClient(context, id, stored));
}

/**
 * OUTBOUND_ALLOW opens internal hosts for tools. Strangers must not reach those by a client id, unless operators list
 * the client.
 */
function outboundEnvOf(
  { tenantContext: { env }, login: { clients, pinned = {} } }: ClientLookupContext,
  id: string,
): unknown {
  return clients || Object.hasOwn(pinned, id) ? env : { ...env, OUTBOUND_ALLOW: "" };
}

/** Returns undefined if the document cannot be read now. */
async function refetchClient(
  context: ClientLookupContext,
  id: string,
  env: unknown,
): Promise<LoginClient | ClientRejection | undefined> {
  const { tenantContext } = context;
  if (retryAfterOf(context, "read") !== undefined) return undefined;
  try {
    const now = Date.now();
    const { metadata, maxAgeMs } = await readClientDocument(id, tenantContext.tenant, env);
    if ("kind" in metadata) return rejectMetadata(metadata);
    const client = await toDocumentClient(id, metadata);
    // If there is no room, the document is read each time.
    await getLoginStub(context).saveClient({ client, freshUntil: now + maxAgeMs });
    return client;
  } catch (error) {
    tenantContext.onError(error);
    return undefined;
  }
}

async function lastKnownClient(
  { login }: ClientLookupContext,
  id: string,
  stored: StoredClient | null,
): Promise<LoginClient | ClientRejection> {
  if (stored && Date.now() < stored.freshUntil + MAX_STALE_MS) return stored.client;
  const { pinned = {} } = login;
  const metadata = Object.hasOwn(pinned, id) ? parseClientDocument(id, pinned[id]) : undefined;
  if (!metadata) return rejectClient("The metadata document of this client cannot be read right now");
  return "kind" in metadata ? rejectMetadata(metadata) : toDocumentClient(id, metadata);
}

async function toDocumentClient(id: string, metadata: ClientMetadata): Promise<LoginClient> {
  return { id, kind: "document", ...metadata, secretHash: null, digest: await metadataDigest(metadata) };
}

/** Identifies the metadata that a person consented to. Excludes redirect URIs, because `/authorize` checks each. */
export function metadataDigest({ name, site, method }: ClientMetadata): Promise<string> {
  return digest(JSON.stringify([name, site, method]));
}

function rejectMetadata({ why }: ClientMetadataError): ClientRejection {
  return rejectClient(`This client cannot be used: ${why}`);
}

function rejectClient(why: string): ClientRejection {
  return { kind: "clientRefusal", why };
}

interface ClientDocument {
  /** An error: the document is invalid, or the client is gone. */
  readonly metadata: ClientMetadata | ClientMetadataError;
  /** Milliseconds for which the document is fresh. */
  readonly maxAgeMs: number;
}

/**
 * Whether an id is the URL of a client document: in normal form, so that no two texts name one client, and on the
 * public internet.
 */
function isDocumentId(id: string, allow: string | undefined): boolean {
  if (!URL.canParse(id) || id.includes("#")) return false;
  const url = new URL(id);
  return url.href === id && url.pathname !== "/" && findBrokenRuleInUrl(url, allow) === undefined;
}

/** Errors in the clients that a document lists or pins. `allow` is undefined if not known yet. */
export function findBrokenClients(
  { pinned = {}, clients = [] }: LoginDocument,
  allow: string | undefined,
): FieldRule[] {
  const clientRule = "must be the URL of a client's metadata document, or the id of a registered client, not a host";
  const hosts = clients.flatMap((id, at) =>
    BARE_HOST.test(id) ? [{ field: `auth.login.clients.${at}`, rule: clientRule }] : [],
  );
  const broken = Object.entries(pinned).flatMap(([id, document]) => {
    const metadata = parseClientDocument(id, document);
    const isUrl = allow === undefined || isDocumentId(id, allow);
    const rule = isUrl
      ? "kind" in metadata && metadata.why
      : "must be named by the URL of a client's metadata document";
    return rule ? [{ field: `auth.login.pinned.${id}`, rule }] : [];
  });
  return [...hosts, ...broken];
}

/** Rejects if the result cannot be determined now. */
async function readClientDocument(id: string, tenant: string, env: unknown): Promise<ClientDocument> {
  // Counted separately, so that strangers use up none of the connections of the tenant's tools.
  const guardedFetch = createLoginFetch(`login ${tenant}`, env, TIMEOUT_MS);
  try {
    const headers = { accept: "application/json" };
    const response = await guardedFetch.fetch(id, { headers, redirect: "error", maxBytes: MAX_DOCUMENT_BYTES });
    const { status } = response;
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get("content-type") ?? "");
    const document: unknown = status === 200 && isJson ? await response.json() : await response.body?.cancel();
    const isGone = status === 404 || status === 410;
    if (document === undefined && !isGone) throw new Error(`${id} answered ${status} without a JSON document`);
    const metadata = isGone ? metadataError(`its URL answered ${status}`) : parseClientDocument(id, document);
    return { metadata, maxAgeMs: maxAgeOf(response.headers.get("cache-control") ?? "") };
  } finally {
    guardedFetch.close();
  }
}

function maxAgeOf(cacheControl: string): number {
  const seconds = Number(/(?:^|[\s,])max-age=(\d+)/i.exec(cacheControl)?.[1] ?? 0);
  return Math.min(Math.max(seconds, MIN_AGE_S), MAX_AGE_S) * 1000;
}
