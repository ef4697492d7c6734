// Owns a tenant's secrets as an isolate has them: asked of the authority when a tool first wants one, kept sealed
// beside the policy while its version is leased, and opened for the one who asks. Refuses to keep one open.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { secretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import { reached } from "./in-time.ts";
import { isLeased, type Snapshot } from "./snapshot.ts";
import { policyCalls } from "../authority/policy-calls.ts";
import { remote } from "../authority/tables.ts";
import type { TenantStub } from "../authority/incarnation.ts";

/** Names may come from a tool's arguments, so only so many are remembered. */
const MAX_DERIVED = 1000;

/** What a secret is bound to when it is sealed: it cannot be opened for another tenant or under another name. */
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

/** undefined: the tenant has none of this name, or the Worker has no key. Throws where the Worker has another key. */
export function readSecret(source: SecretSource, name: string): Promise<string | undefined> {
  const { env, snapshot } = source;
  return openSecret({ env, tenant: snapshot.tenant, name }, () => sealedSecret(source, name));
}

/** As `readSecret`, for who has no snapshot. `sealed`: asked where the Worker has a key. */
export async function openSecret(
  { env, tenant, name }: { readonly env: SecretsKeyEnv; readonly tenant: string; readonly name: string },
  sealed: () => Promise<string | null>,
): Promise<string | undefined> {
  const ring = await secretsRing(env);
  if (ring === "unset") return undefined;
  if (ring === "broken") throw new Error("the Worker's SECRETS_KEY is not what it must be");
  const kept = await sealed();
  if (kept === null) return undefined;
  const value = await unseal(ring, purposeOf(tenant, name), kept);
  if (value === undefined) throw new Error(`the secret "${name}" was sealed under another SECRETS_KEY: set it again`);
  return value;
}

/** May be kept in `derived`: every write of a secret makes a new version of the policy, which begins without it. */
async function sealedSecret({ snapshot, stub }: SecretSource, name: string): Promise<string | null> {
  const { derived } = snapshot;
  const key = `secret ${name}`;
  // A handler may outlive the lease under which it began.
  const known = isLeased(snapshot) ? (derived.get(key) as string | null | undefined) : undefined;
  if (known !== undefined) return known;
  const sealed = await reached(remote(stub(), policyCalls).sealedSecret(name));
  if (derived.size < MAX_DERIVED) derived.set(key, sealed);
  return sealed;
}
