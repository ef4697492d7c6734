// Owns the tokens of a provider as they are stored with a grant: sealed by the Worker's own key, as secrets are, and for
// this grant alone.

import { seal, unseal } from "../../auth/seal.ts";
import { secretsRing } from "../../auth/secrets-key.ts";
import type { TendGround } from "../../deployment/deployment.ts";
import type { ProviderTokens } from "../sign-in/sign-in.ts";

type Ground = Pick<TendGround, "tenant" | "created" | "env">;

const purposeOf = ({ tenant, created }: Ground, grant: string) => `provider ${tenant} ${created} ${grant}`;

async function ringOf({ env }: Ground) {
  const ring = await secretsRing(env);
  if (typeof ring === "string") throw new Error(`the Worker's SECRETS_KEY is ${ring}`);
  return ring;
}

export async function sealProvider(ground: Ground, grant: string, tokens: ProviderTokens): Promise<string> {
  return seal(await ringOf(ground), purposeOf(ground, grant), JSON.stringify(tokens));
}

/** undefined: they were sealed under a key that the Worker has no more. */
export async function openProvider(ground: Ground, grant: string, sealed: string): Promise<ProviderTokens | undefined> {
  const opened = await unseal(await ringOf(ground), purposeOf(ground, grant), sealed);
  return opened === undefined ? undefined : (JSON.parse(opened) as ProviderTokens);
}
