// Reads a tenant's secrets: fetched from the tenant object at first use, cached sealed beside the policy, and unsealed
// for each read. An unsealed secret is never cached.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { getSecretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import { withTimeoutOrBusy } from "./with-timeout.ts";
import { isLeased, type CachedPolicy } from "./policy-cache.ts";
import { policyRpc } from "../object/policy-rpc.ts";
import { createRpcClient } from "../object/store.ts";
import type { TenantStub } from "../object/tenant-uid.ts";

/** Tool arguments may supply names, so the number of cached names is bounded. */
const MAX_CACHED = 1000;

/** Binds a sealed secret to its tenant and name: it cannot be unsealed under others. */
function purposeOf(tenant: string, name: string): string {
  return `secret ${tenant} ${name}`;
}

export function sealSecret(ring: KeyRing, tenant: string, name: string, value: string): Promise<string> {
  return seal(ring, purposeOf(tenant, name), value);
}

export interface SecretContext {
  readonly env: SecretsKeyEnv;
  readonly cachedPolicy: CachedPolicy;
  readonly stub: () => TenantStub;
}

/**
 * undefined: the tenant has no such secret, or the Worker has no SECRETS_KEY. Throws if the secret was sealed under
 * another key.
 */
export function readSecret(context: SecretContext, name: string): Promise<string | undefined> {
  const { env, cachedPolicy } = context;
  return unsealSecret({ env, tenant: cachedPolicy.tenant, name }, () => getSealedSecret(context, name));
}

/** Like `readSecret`, without a cached policy. `getSealed` is called only if the Worker has a key. */
export async function unsealSecret(
  { env, tenant, name }: { readonly env: SecretsKeyEnv; readonly tenant: string; readonly name: string },
  getSealed: () => Promise<string | null>,
): Promise<string | undefined> {
  const ring = await getSecretsRing(env);
  if (ring === "unset") return undefined;
  if (ring === "broken") throw new Error("the Worker's SECRETS_KEY is invalid");
  const sealedText = await getSealed();
  if (sealedText === null) return undefined;
  const value = await unseal(ring, purposeOf(tenant, name), sealedText);
  if (value === undefined)
    throw new Error(`the secret "${name}" was encrypted with another SECRETS_KEY: set the secret again`);
  return value;
}

/**
 * Safe to cache in `memo`: every write of a secret makes a new version of the policy, which starts with an empty memo.
 */
async function getSealedSecret({ cachedPolicy, stub }: SecretContext, name: string): Promise<string | null> {
  const { memo } = cachedPolicy;
  const key = `secret ${name}`;
  // A handler may outlive the lease under which it began.
  const cached = isLeased(cachedPolicy) ? (memo.get(key) as string | null | undefined) : undefined;
  if (cached !== undefined) return cached;
  const sealed = await withTimeoutOrBusy(createRpcClient(stub(), policyRpc).sealedSecret(name));
  if (memo.size < MAX_CACHED) memo.set(key, sealed);
  return sealed;
}
