// Seals a provider's tokens for storage with a grant: with the Worker's own key, like secrets, and for this grant only.

import { seal, unseal } from "../../auth/seal.ts";
import { getSecretsRing } from "../../auth/secrets-key.ts";
import type { RefreshContext } from "../../deployment/deployment.ts";
import type { ProviderTokens } from "../sign-in/identity-provider-client.ts";

type SealContext = Pick<RefreshContext, "tenant" | "created" | "env">;

const purposeOf = ({ tenant, created }: SealContext, grant: string) => `provider ${tenant} ${created} ${grant}`;

async function ringOf({ env }: SealContext) {
  const ring = await getSecretsRing(env);
  if (typeof ring === "string") throw new Error(`the Worker's SECRETS_KEY is ${ring}`);
  return ring;
}

export async function sealProvider(tenantContext: SealContext, grant: string, tokens: ProviderTokens): Promise<string> {
  return seal(await ringOf(tenantContext), purposeOf(tenantContext, grant), JSON.stringify(tokens));
}

/** Returns undefined if they were sealed with a key that the Worker no longer has. */
export async function unsealProvider(
  tenantContext: SealContext,
  grant: string,
  sealed: string,
): Promise<ProviderTokens | undefined> {
  const opened = await unseal(await ringOf(tenantContext), purposeOf(tenantContext, grant), sealed);
  return opened === undefined ? undefined : (JSON.parse(opened) as ProviderTokens);
}
