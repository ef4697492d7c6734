// Owns a tenant's secrets as an isolate has them: asked of the authority when a tool first wants one, kept sealed with the
// policy for as long as its lease lasts, and opened for the one who asks. Refuses to keep one open.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { secretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import { isStale } from "./outage.ts";
import { leaseTables } from "../authority/lease-tables.ts";
import type { Snapshot } from "./snapshot.ts";
import { remote, type TenantStub } from "../authority/tables.ts";

/** Names may come from a tool's arguments: what is remembered of them has an end. */
const MAX_DERIVED = 1000;

/** Bound to what is sealed: one tenant's row is nothing in another's, and none under another name. */
function purposeOf(tenant: string, name: string): string {
  return `secret ${tenant} ${name}`;
}

export function sealSecret(ring: KeyRing, tenant: string, name: string, value: string): Promise<string> {
  return seal(ring, purposeOf(tenant, name), value);
}

export interface SecretSource {
  readonly env: SecretsKeyEnv;
  readonly snapshot: Snapshot;
  readonly stub: () => TenantStub;
}

/** undefined: the tenant has none of this name, or the Worker no key to have opened it with. */
export async function readSecret(source: SecretSource, name: string): Promise<string | undefined> {
  const ring = await secretsRing(source.env);
  if (ring === "unset") return undefined;
  if (ring === "broken") throw new Error("the Worker's SECRETS_KEY is not what it must be");
  const sealed = await sealedSecret(source, name);
  if (sealed === null) return undefined;
  const value = await unseal(ring, purposeOf(source.snapshot.tenant, name), sealed);
  if (value === undefined) throw new Error(`the secret "${name}" was sealed under another SECRETS_KEY: set it again`);
  return value;
}

/** Every write of a secret makes a new version of the policy, and what is derived from a version ends with it. */
async function sealedSecret({ snapshot, stub }: SecretSource, name: string): Promise<string | null> {
  const { derived } = snapshot;
  const key = `secret ${name}`;
  const known = isLeased(snapshot) ? (derived.get(key) as string | null | undefined) : undefined;
  if (known !== undefined) return known;
  const sealed = await remote(stub(), leaseTables).sealedSecret(name);
  if (derived.size < MAX_DERIVED) derived.set(key, sealed);
  return sealed;
}

/** A handler may outlive the lease it began under, and a copy that serves an outage grants nothing. */
function isLeased(snapshot: Snapshot): boolean {
  return Date.now() < snapshot.validUntil && !isStale(snapshot);
}
