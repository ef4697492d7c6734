// Owns fetching the document that a client's id names, by the outbound door, and how long it may be kept. Refuses
// redirects, and more bytes than a document has.
// https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/

import type { BrokenMember } from "../../deployment/deployment.ts";
import { refusedAsWritten } from "../../outbound/destination.ts";
import { loginDoor } from "../issuers/read-issuer.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { documentMetadata, metadataFault, type ClientFault, type ClientMetadata } from "./client-metadata.ts";

/** A person waits. */
const WITHIN_MS = 5_000;
const MOST_BYTES = 5 * 1024;
const LEAST_KEPT_S = 300;
const MOST_KEPT_S = 86_400;

export interface ClientDocument {
  /** A fault: what the client says wrongly of itself, or that it is gone. */
  readonly metadata: ClientMetadata | ClientFault;
  /** Milliseconds for which it need not be read again. */
  readonly goodFor: number;
}

/** Whether an id is the URL of a document: written as URLs are, so that no other text is the same, and leading outside. */
export function isDocumentId(id: string, allow: string | undefined): boolean {
  if (!URL.canParse(id) || id.includes("#")) return false;
  const url = new URL(id);
  return url.href === id && url.pathname !== "/" && refusedAsWritten(url, allow) === undefined;
}

/** A host alone: no client is called so. */
const HOST = /^(?:https?:\/\/[^/]+\/?|[^/:]+\.[^/:]+)$/i;

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
export async function readClientDocument(id: string, tenant: string, env: unknown): Promise<ClientDocument> {
  // Whom strangers have us ask takes nothing of what the tenant's tools may ask at a time.
  const door = loginDoor(`login ${tenant}`, env, WITHIN_MS);
  try {
    const headers = { accept: "application/json" };
    const response = await door.fetch(id, { headers, redirect: "error", maxBytes: MOST_BYTES });
    const { status } = response;
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get("content-type") ?? "");
    const said: unknown = status === 200 && isJson ? await response.json() : await response.body?.cancel();
    const isGone = status === 404 || status === 410;
    if (said === undefined && !isGone) throw new Error(`${id} answered ${status}, and no document`);
    const metadata = isGone ? metadataFault(`its URL answers ${status}`) : documentMetadata(id, said);
    return { metadata, goodFor: goodFor(response.headers.get("cache-control") ?? "") };
  } finally {
    door.close();
  }
}

function goodFor(cacheControl: string): number {
  const seconds = Number(/(?:^|[\s,])max-age=(\d+)/i.exec(cacheControl)?.[1] ?? 0);
  return Math.min(Math.max(seconds, LEAST_KEPT_S), MOST_KEPT_S) * 1000;
}
