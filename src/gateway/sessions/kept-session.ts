// Owns a session at an upstream as it is kept outside of isolates: sealed, with everything that it takes to use it and to end
// it, when the upstream is configured otherwise by then, or the tenant is gone. Refuses to be opened under another name.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { secretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import { parseSession, type Session2025 } from "../../mcp-client/session-2025.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { keptUnder } from "../../tenants/authority/incarnation.ts";
import type { Meant } from "../../tenants/directory/placement.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import type { FilledHeaders } from "../upstream-config.ts";
import type { SessionPlace } from "./upstream-object.ts";

export interface KeptSession {
  readonly session: Session2025;
  readonly upstream: UpstreamDocument;
  /** With which it began. An access token among them is asked for anew. */
  readonly filled: Pick<FilledHeaders, "headers" | "grant">;
}

/** What is larger is not kept: a server may say of itself what it likes. */
const MOST_CHARACTERS = 65_536;

/** The name of the object that keeps the sessions of this tenant at this upstream. */
export function sessionsName({ id, incarnation }: Meant, upstream: string): string {
  return `${keptUnder(id, incarnation)}/${upstream}`;
}

/** The Worker's own keys where it has any, before those that are at hand without them. */
export async function sessionRing(env: unknown, without: KeyRing): Promise<KeyRing> {
  const own = await secretsRing(env as SecretsKeyEnv);
  return typeof own === "string" ? without : [...own, ...without];
}

function purposeOf(name: string, { key, tag }: SessionPlace): string {
  return `upstream session ${name} ${key} ${tag}`;
}

/** undefined: it is too large. */
export async function sealKept(
  ring: KeyRing,
  name: string,
  place: SessionPlace,
  { session, upstream: { url, service, path }, filled: { headers, grant } }: KeptSession,
): Promise<string | undefined> {
  const kept = { session: { ...session, hello: {} }, upstream: { url, service, path }, filled: { headers, grant } };
  const text = JSON.stringify(kept);
  return text.length > MOST_CHARACTERS ? undefined : seal(ring, purposeOf(name, place), text);
}

/** undefined: the keys that sealed it are gone. */
export async function openKept(
  ring: KeyRing,
  name: string,
  place: SessionPlace & { readonly sealed: string },
): Promise<KeptSession | undefined> {
  const text = await unseal(ring, purposeOf(name, place), place.sealed);
  if (text === undefined) return undefined;
  const kept = JSON.parse(text) as JsonObject & KeptSession;
  const session = parseSession(kept.session);
  return session && { ...kept, session };
}
