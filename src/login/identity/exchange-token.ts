// Exchanges the caller's token for one that the tenant's API accepts, at the authorization server that issued it. The
// details of a rejection are not passed on. https://datatracker.ietf.org/doc/html/rfc8693

import { requestTokens } from "../sign-in/provider-requests.ts";
import { IdentityError } from "./identity-error.ts";
import type { IdentityTokenRequest, IdentityToken } from "./identity-token-request.ts";

const DEFAULT_LIFETIME_MS = 60_000;
const URN = "urn:ietf:params:oauth";
const ACCESS_TOKEN = `${URN}:token-type:access_token`;

/** `subject`: the token to exchange. */
export async function exchangeToken(
  { tenantContext, settings, audience, scopes }: IdentityTokenRequest,
  subject: string,
): Promise<IdentityToken> {
  const { tokenUrl = "" } = settings;
  const answer = await requestTokens(
    { tenantContext: tenantContext, login: { ...settings, via: "oidc" } },
    { token: tokenUrl, takesBasic: true },
    {
      grant_type: `${URN}:grant-type:token-exchange`,
      subject_token: subject,
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: ACCESS_TOKEN,
      audience,
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    },
  );
  if (answer.kind !== "tokens") throw new IdentityError(answer.kind);
  const { access, expires = Date.now() + DEFAULT_LIFETIME_MS } = answer.tokens;
  return { token: access, expires: expires };
}
