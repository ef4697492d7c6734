// Owns a tenant's secrets as an isolate has them: asked of the authority when a tool first wants one, kept sealed
// beside the policy while its version is leased, and opened for the one who asks. Refuses to keep one open.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { getSecretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import { withTimeoutOrBusy } from "./with-timeout.ts";
import { isLeased, type CachedPolicy } from "./policy-cache.ts";
import { policyRpc } from "../object/policy-rpc.ts";
import { createRpcClient } from "../object/store.ts";
import type { TenantStub } from "../object/tenant-uid.ts";

/** Names may come from a tool's arguments, so only so many are remembered. */
const MAX_CACHED = 1000;

/** What a secret is bound to when it is sealed: it cannot be opened for another tenant or under another name. */
function purposeOf(tenant: string, name: string): string {
  return `secret ${tenant} ${name}`;
}

export function sealSecret(ring: KeyRing, tenant: string, name: string, value: string): Promise<string> {
  return seal(ring, purposeOf(tenant, name), value);
}

export interface SecretContext {
  readonly env: SecretsKeyEnv;
  readonly snapshot: CachedPolicy;
  readonly stub: () => TenantStub;
}

/** undefined: the tenant has none of this name, or the Worker has no key. Throws where the Worker has another key. */
export function readSecret(context: SecretContext, name: string): Promise<string | undefined> {
  const { env, snapshot } = context;
  return unsealSecret({ env, tenant: snapshot.tenant, name }, () => getSealedSecret(context, name));
}

/** As `readSecret`, for who has no snapshot. `sealed`: asked where the Worker has a key. */
export async function unsealSecret(
  { env, tenant, name }: { readonly env: SecretsKeyEnv; readonly tenant: string; readonly name: string },
  getSealed: () => Promise<string | null>,
): Promise<string | undefined> {
  const ring = await getSecretsRing(env);
  if (ring === "unset") return undefined;
  if (ring === "broken") throw new Error("the Worker's SECRETS_KEY is not what it must be");
  const sealedText = await getSealed();
  if (sealedText === null) return undefined;
  const value = await unseal(ring, purposeOf(tenant, name), sealedText);
  if (value === undefined) throw new Error(`the secret "${name}" was sealed under another SECRETS_KEY: set it again`);
  return value;
}

/** May be kept in `derived`: every write of a secret makes a new version of the policy, which begins without it. */
async function getSealedSecret({ snapshot, stub }: SecretContext, name: string): Promise<string | null> {
  const { memo } = snapshot;
  const key = `secret ${name}`;
  // A handler may outlive the lease under which it began.
  const cached = isLeased(snapshot) ? (memo.get(key) as string | null | undefined) : undefined;
  if (cached !== undefined) return cached;
  const sealed = await withTimeoutOrBusy(createRpcClient(stub(), policyRpc).sealedSecret(name));
  if (memo.size < MAX_CACHED) memo.set(key, sealed);
  return sealed;
}
