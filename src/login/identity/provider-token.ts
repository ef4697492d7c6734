// The provider's token from the person's sign-in, stored with their grant. One Worker renews it and saves the result
// before any use, because a provider may accept a refresh token only once. The others wait for that.

import type { RefreshContext } from "../../deployment/deployment.ts";
import { omitUndefined } from "../../protocol/members.ts";
import { withRetries } from "../../streams/with-retries.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { getLoginStub } from "../server/login-stub.ts";
import type { ProviderUpdate, ProviderClaim } from "../server/login-store.ts";
import { unsealProvider, sealProvider } from "../server/provider-seal.ts";
import type { ProviderTokens } from "../sign-in/identity-provider-client.ts";
import { IDENTITY_PROVIDERS } from "../sign-in/identity-providers.ts";
import { IdentityError } from "./identity-error.ts";
import type { IdentityTokenRequest, IdentityToken } from "./identity-token-request.ts";

/** A token with less time left is renewed. */
const MIN_REMAINING_MS = 60_000;
/** For a token without an expiry. */
const DEFAULT_LIFETIME_MS = 60_000;
const MAX_WAIT_MS = 12_000;
const POLL_MS = 200;

interface GrantRef {
  readonly tenantContext: RefreshContext;
  readonly grant: string;
}

export async function getProviderToken({
  context,
  tenantContext,
  person,
  scopes,
}: IdentityTokenRequest): Promise<IdentityToken> {
  const { grant = "" } = person;
  const grantRef = { tenantContext, grant };
  const { login } = tenantContext.document.auth ?? {};
  if (!login) throw new IdentityError("unset");
  const loginStub = getLoginStub(grantRef);
  for (const deadline = Date.now() + MAX_WAIT_MS; Date.now() < deadline; await scheduler.wait(POLL_MS)) {
    const tokens = await unsealTokens(grantRef, await loginStub.getProvider(grant));
    if (remainingMs(tokens) > MIN_REMAINING_MS) return toIdentityToken(tokens, scopes);
    const claim = await loginStub.claimProvider(grant);
    if (claim.state !== "claimed") continue;
    const renewal = renewTokens(grantRef, login, claim);
    // The request may end before, and the provider gives its new tokens only once.
    context.waitUntil(renewal.catch(() => {}));
    const renewedTokens = await Promise.race([renewal, scheduler.wait(deadline - Date.now())]);
    if (renewedTokens) return toIdentityToken(renewedTokens, scopes);
  }
  throw new IdentityError("away");
}

async function unsealTokens({ tenantContext, grant }: GrantRef, sealed: string | null): Promise<ProviderTokens> {
  const tokens = sealed === null ? undefined : await unsealProvider(tenantContext, grant, sealed);
  if (!tokens) throw new IdentityError("again");
  return tokens;
}

function remainingMs({ expires = Infinity }: ProviderTokens): number {
  return expires - Date.now();
}

function toIdentityToken({ access, scope, expires }: ProviderTokens, scopes: readonly string[]): IdentityToken {
  const granted = scope?.split(" ");
  if (granted && !scopes.every((one) => granted.includes(one))) throw new IdentityError("scopes");
  return { token: access, expires: expires ?? Date.now() + DEFAULT_LIFETIME_MS };
}

/** Requires the claim. */
async function renewTokens(
  grantRef: GrantRef,
  login: LoginDocument,
  { provider: sealed, person }: Pick<Extract<ProviderClaim, { state: "claimed" }>, "provider" | "person">,
): Promise<ProviderTokens> {
  const { tenantContext, grant } = grantRef;
  let update: ProviderUpdate = {};
  try {
    const current = await unsealTokens(grantRef, sealed);
    // Another Worker finished before this claim.
    if (remainingMs(current) > MIN_REMAINING_MS) return current;
    const revalidation =
      current.refresh === undefined
        ? undefined
        : await IDENTITY_PROVIDERS[login.via]?.revalidate?.({ tenantContext, login }, current, person);
    if (revalidation?.state === "away") {
      if (revalidation.provider) update = { provider: await sealProvider(tenantContext, grant, revalidation.provider) };
      throw new IdentityError("away");
    }
    if (revalidation?.state !== "confirmed" || !revalidation.provider) throw new IdentityError("again");
    const provider = await sealProvider(tenantContext, grant, revalidation.provider);
    update = { ...omitUndefined({ provider, person: revalidation.person }), revalidation: true };
    return revalidation.provider;
  } finally {
    await withRetries(async () => getLoginStub(grantRef).saveProvider(grant, update));
  }
}
