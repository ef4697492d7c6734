// The `Mcp-Session-Id` of 2025 sessions. The whole session is sealed into its id, so that no server stores it.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import { seal, unseal, type KeyRing } from "../auth/seal.ts";
import { REVISION_FEATURES, VERSIONS_2025, type RevisionFeatures, type Negotiation } from "../protocol/revisions.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import {
  APPS_CAPABILITIES,
  hasCapability,
  requiredCapabilities,
  supportsApps,
  type ClientCapability,
  type ClientInfo,
} from "../protocol/meta.ts";

/** Clients keep session ids for days. A sealing key unseals its texts for this long. */
export const SESSION_LIFETIME_MS = 7 * 86_400_000;
const MAX_ID_CHARACTERS = 512;
const MAX_UNSEALED = 10_000;
/** A capability's index is its bit in every sealed id, so only append. */
const CAPABILITY_BITS: readonly ClientCapability[] = [
  "elicitation.form",
  "elicitation.url",
  "sampling",
  "sampling.tools",
  "roots",
];
/** MCP Apps is the only extension that is kept: an id has no room for others. */
const APPS_BIT = 1 << 30;

export interface Session {
  readonly revision: RevisionFeatures;
  /** The client requested an unofficial revision in `initialize`. */
  readonly unofficial: boolean;
  readonly capabilities: JsonObject;
  readonly profile: string | null;
  readonly principal: string;
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** The client's name and version; undefined if it sent none, or if they left no room in the id. */
  readonly client?: ClientInfo | undefined;
}

export interface SessionOwner {
  readonly tenant: string;
  readonly profile: string | null;
  readonly principal: string;
  readonly ring: KeyRing;
}

/**
 * An id in another format starts with a number that is not a revision. Code that does not know the format treats the id
 * as invalid, and the client starts a new session.
 */
type SealedSession = [
  revision: number,
  unofficial: 0 | 1,
  bits: number,
  profile: string | null,
  principal: string,
  nonce: string,
  expires: number,
  /** Absent if the id would be too long with it. */
  client?: readonly [name: string, version: string],
];

const purposeOf = (tenant: string) => `session ${tenant}`;

/**
 * Creates a session and returns its id. `nonce`: for a session that its client names, so that it is the same each time.
 */
export async function createSessionId(
  owner: SessionOwner,
  negotiation: Negotiation,
  capabilities: JsonObject,
  {
    nonce = crypto.randomUUID(),
    client,
  }: { readonly nonce?: string | undefined; readonly client?: Session["client"] } = {},
): Promise<string> {
  const sealed: SealedSession = [
    (VERSIONS_2025 as readonly string[]).indexOf(negotiation.revision.version),
    negotiation.isUnknownRevision ? 1 : 0,
    bitsOf(capabilities),
    owner.profile,
    owner.principal,
    nonce,
    Date.now() + SESSION_LIFETIME_MS,
  ];
  const purpose = purposeOf(owner.tenant);
  const idWithClient =
    client && (await seal(owner.ring, purpose, JSON.stringify([...sealed, [client.name, client.version]])));
  if (idWithClient !== undefined && idWithClient.length <= MAX_ID_CHARACTERS) return idWithClient;
  return seal(owner.ring, purpose, JSON.stringify(sealed));
}

/**
 * Ids that this isolate unsealed, oldest first. An id is unsealed again if the tenant's key ring changed.
 * Bound: MAX_UNSEALED ids of MAX_ID_CHARACTERS at most; the oldest is dropped.
 */
const unsealedSessions = new Map<string, { readonly session: Session; readonly ring: KeyRing }>();

/** undefined: not a session of this tenant, profile and principal, or an expired one. */
export async function parseSessionId(owner: SessionOwner, id: string): Promise<Session | undefined> {
  if (id.length > MAX_ID_CHARACTERS) return undefined;
  const cached = unsealedSessions.get(`${owner.tenant} ${id}`);
  if (cached && cached.ring === owner.ring) return checkOwner(cached.session, owner);
  const payload = await unseal(owner.ring, purposeOf(owner.tenant), id);
  if (payload === undefined) return undefined;
  const [revision, unofficial, bits, profile, principal, nonce, expires, client] = JSON.parse(payload) as SealedSession;
  const name = VERSIONS_2025[revision];
  if (name === undefined) return undefined;
  const session: Session = {
    revision: REVISION_FEATURES[name],
    unofficial: unofficial === 1,
    capabilities: capabilitiesOf(bits),
    profile,
    principal,
    nonce,
    expires,
    client: client && { name: client[0], version: client[1] },
  };
  if (unsealedSessions.size >= MAX_UNSEALED) {
    const [oldest] = unsealedSessions.keys();
    if (oldest !== undefined) unsealedSessions.delete(oldest);
  }
  unsealedSessions.set(`${owner.tenant} ${id}`, { session, ring: owner.ring });
  return checkOwner(session, owner);
}

function checkOwner(session: Session, owner: SessionOwner): Session | undefined {
  const same = session.profile === owner.profile && session.principal === owner.principal;
  return same && Date.now() < session.expires ? session : undefined;
}

function bitsOf(capabilities: JsonObject): number {
  const apps = supportsApps(capabilities) ? APPS_BIT : 0;
  return CAPABILITY_BITS.reduce(
    (bits, capability, at) => bits | (hasCapability(capabilities, capability) ? 1 << at : 0),
    apps,
  );
}

function capabilitiesOf(bits: number): JsonObject {
  const declared = requiredCapabilities(...CAPABILITY_BITS.filter((_, at) => (bits & (1 << at)) !== 0));
  return (bits & APPS_BIT) === 0 ? declared : { ...declared, ...APPS_CAPABILITIES };
}
