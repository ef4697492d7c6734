// A sealed upstream session outside of isolates. It contains everything needed to use and end the session, even if the
// upstream was reconfigured or the tenant deleted since. It cannot be unsealed under another name.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { getSecretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import { parseSession, type Session2025 } from "../../mcp-client/session-2025.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { storageKey } from "../../tenants/object/tenant-uid.ts";
import type { TenantRef } from "../../tenants/directory/placement.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import type { ResolvedHeaders } from "../upstream-config.ts";
import type { SessionRef } from "./upstream-object.ts";

export interface StoredSession {
  readonly session: Session2025;
  readonly upstream: UpstreamDocument;
  /** Headers with which the session began. An access token is requested anew. */
  readonly filled: Pick<ResolvedHeaders, "headers" | "grant">;
}

/** Larger sessions are not stored: a server may send a handshake of any size. */
const MAX_CHARACTERS = 65_536;

/** Name of the Durable Object for this tenant's sessions at this upstream. */
export function sessionObjectName({ id, uid }: TenantRef, upstream: string): string {
  return `${storageKey(id, uid)}/${upstream}`;
}

/** The Worker's own keys if it has any, then the fallback keys. */
export async function getSessionKeyRing(env: unknown, fallback: KeyRing): Promise<KeyRing> {
  const own = await getSecretsRing(env as SecretsKeyEnv);
  return typeof own === "string" ? fallback : [...own, ...fallback];
}

function purposeOf(objectName: string, { key, tag }: SessionRef): string {
  return `upstream session ${objectName} ${key} ${tag}`;
}

/** Returns undefined if the session is too large. */
export async function sealStoredSession(
  ring: KeyRing,
  name: string,
  ref: SessionRef,
  { session, upstream: { url, service, path }, filled: { headers, grant } }: StoredSession,
): Promise<string | undefined> {
  const stored = { session: { ...session, hello: {} }, upstream: { url, service, path }, filled: { headers, grant } };
  const text = JSON.stringify(stored);
  return text.length > MAX_CHARACTERS ? undefined : seal(ring, purposeOf(name, ref), text);
}

/** Returns undefined if the keys that sealed it are gone. */
export async function unsealStoredSession(
  ring: KeyRing,
  name: string,
  ref: SessionRef & { readonly sealed: string },
): Promise<StoredSession | undefined> {
  const text = await unseal(ring, purposeOf(name, ref), ref.sealed);
  if (text === undefined) return undefined;
  const stored = JSON.parse(text) as JsonObject & StoredSession;
  const session = parseSession(stored.session);
  return session && { ...stored, session };
}
