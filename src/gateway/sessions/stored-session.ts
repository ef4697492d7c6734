// Owns a session at an upstream as it is kept outside of isolates: sealed, with everything that it takes to use it and to end
// it, when the upstream is configured otherwise by then, or the tenant is gone. Refuses to be opened under another name.

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
  /** With which it began. An access token among them is asked for anew. */
  readonly filled: Pick<ResolvedHeaders, "headers" | "grant">;
}

/** What is larger is not kept: a server may say of itself what it likes. */
const MAX_CHARACTERS = 65_536;

/** The name of the object that keeps the sessions of this tenant at this upstream. */
export function sessionObjectName({ id, uid: incarnation }: TenantRef, upstream: string): string {
  return `${storageKey(id, incarnation)}/${upstream}`;
}

/** The Worker's own keys where it has any, before those that are at hand without them. */
export async function getSessionKeyRing(env: unknown, fallback: KeyRing): Promise<KeyRing> {
  const own = await getSecretsRing(env as SecretsKeyEnv);
  return typeof own === "string" ? fallback : [...own, ...fallback];
}

function purposeOf(objectName: string, { key, tag }: SessionRef): string {
  return `upstream session ${objectName} ${key} ${tag}`;
}

/** undefined: it is too large. */
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

/** undefined: the keys that sealed it are gone. */
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
