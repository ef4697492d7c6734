// Owns the `Mcp-Session-Id` of era 2025: everything a session is, sealed into its id, so that no server remembers it.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import { seal, unseal, type KeyRing } from "../auth/seal.ts";
import { DIALECTS, REVISIONS_2025, type Dialect, type Negotiated } from "../protocol/era.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import {
  APPS,
  hasCapability,
  requiredCapabilities,
  showsApps,
  type ClientCapability,
  type ClientInfo,
} from "../protocol/meta.ts";

/** Clients keep session ids for days; a sealing key opens what it sealed for as long as this. */
export const SESSION_LIFETIME_MS = 7 * 86_400_000;
const MAX_ID_CHARACTERS = 512;
const MAX_OPENED = 10_000;
/** The place of a capability is its bit in every id that was sealed: only append. */
const BITS: readonly ClientCapability[] = [
  "elicitation.form",
  "elicitation.url",
  "sampling",
  "sampling.tools",
  "roots",
];
/** Of extensions, MCP Apps alone are kept: what else there may be has no room in an id. */
const APPS_BIT = 1 << 30;

export interface Session {
  readonly dialect: Dialect;
  /** The client asked for no official revision in `initialize`. */
  readonly unofficial: boolean;
  readonly capabilities: JsonObject;
  readonly profile: string | null;
  readonly principal: string;
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** As it named itself; undefined where it did not, and where its name left no room in the id. */
  readonly client?: ClientInfo | undefined;
}

export interface SessionOwner {
  readonly tenant: string;
  readonly profile: string | null;
  readonly principal: string;
  readonly ring: KeyRing;
}

/**
 * An id in another form than this one begins with a number of no revision: whoever does not know it takes it for none of its
 * ids, and the client begins again.
 */
type Sealed = [
  revision: number,
  unofficial: 0 | 1,
  bits: number,
  profile: string | null,
  principal: string,
  nonce: string,
  expires: number,
  /** Absent where the id would be too long with it. */
  client?: readonly [name: string, version: string],
];

const purposeOf = (tenant: string) => `session ${tenant}`;

/** Begins a session and returns its id. `nonce`: for a session that its client names, to be the same each time. */
export async function mintSession(
  owner: SessionOwner,
  negotiated: Negotiated,
  capabilities: JsonObject,
  {
    nonce = crypto.randomUUID(),
    client,
  }: { readonly nonce?: string | undefined; readonly client?: Session["client"] } = {},
): Promise<string> {
  const sealed: Sealed = [
    (REVISIONS_2025 as readonly string[]).indexOf(negotiated.dialect.revision),
    negotiated.unofficial ? 1 : 0,
    bitsOf(capabilities),
    owner.profile,
    owner.principal,
    nonce,
    Date.now() + SESSION_LIFETIME_MS,
  ];
  const purpose = purposeOf(owner.tenant);
  const named = client && (await seal(owner.ring, purpose, JSON.stringify([...sealed, [client.name, client.version]])));
  if (named !== undefined && named.length <= MAX_ID_CHARACTERS) return named;
  return seal(owner.ring, purpose, JSON.stringify(sealed));
}

interface Opened {
  readonly session: Session;
  readonly ring: KeyRing;
}

/**
 * Ids that this isolate unsealed, oldest first. An id is unsealed again when the tenant's key ring changed.
 * Bound: MAX_OPENED, of ids of MAX_ID_CHARACTERS at most; the oldest goes.
 */
const opened = new Map<string, Opened>();

/** undefined: no session of this tenant, profile and principal, or an expired one. */
export async function openSession(owner: SessionOwner, id: string): Promise<Session | undefined> {
  if (id.length > MAX_ID_CHARACTERS) return undefined;
  const known = opened.get(`${owner.tenant} ${id}`);
  if (known && known.ring === owner.ring) return accept(known.session, owner);
  const payload = await unseal(owner.ring, purposeOf(owner.tenant), id);
  if (payload === undefined) return undefined;
  const [revision, unofficial, bits, profile, principal, nonce, expires, client] = JSON.parse(payload) as Sealed;
  const name = REVISIONS_2025[revision];
  if (name === undefined) return undefined;
  const session: Session = {
    dialect: DIALECTS[name],
    unofficial: unofficial === 1,
    capabilities: capabilitiesOf(bits),
    profile,
    principal,
    nonce,
    expires,
    client: client && { name: client[0], version: client[1] },
  };
  if (opened.size >= MAX_OPENED) {
    const [oldest] = opened.keys();
    if (oldest !== undefined) opened.delete(oldest);
  }
  opened.set(`${owner.tenant} ${id}`, { session, ring: owner.ring });
  return accept(session, owner);
}

function accept(session: Session, owner: SessionOwner): Session | undefined {
  const same = session.profile === owner.profile && session.principal === owner.principal;
  return same && Date.now() < session.expires ? session : undefined;
}

function bitsOf(capabilities: JsonObject): number {
  const apps = showsApps(capabilities) ? APPS_BIT : 0;
  return BITS.reduce((bits, capability, at) => bits | (hasCapability(capabilities, capability) ? 1 << at : 0), apps);
}

function capabilitiesOf(bits: number): JsonObject {
  const declared = requiredCapabilities(...BITS.filter((_, at) => (bits & (1 << at)) !== 0));
  return (bits & APPS_BIT) === 0 ? declared : { ...declared, ...APPS };
}
