// Sign-in at the tenant's own product: the browser goes there and returns with a short-lived token, signed with a
// shared secret: docs/login-product.md. Rejects a token for another login and one for another browser.

import { verifySharedJwt } from "../../auth/jwt.ts";
import { digest } from "../../auth/seal.ts";
import { startSignInAt, checkCallback } from "./code-flow.ts";
import { isSignInFailure, unusableAnswer, unexpectedAnswer, notConfigured } from "./sign-in-failure.ts";
import { resolveSecret, type SignInContext } from "./provider-requests.ts";
import type { SignInFailure, IdentityProviderClient } from "./identity-provider-client.ts";
import { toProviderIdentity } from "./provider-identity.ts";

/** As long as the HMAC's output: https://datatracker.ietf.org/doc/html/rfc7518#section-3.2 */
const MIN_SECRET_BYTES = 32;

export const product: IdentityProviderClient = {
  begin: async (context, state, isSwitch = false) => {
    const { productUrl = "" } = context.login;
    const secret = await getSharedSecret(context);
    const parameters = { issuer: context.urls.issuer, request: state, prompt: isSwitch ? "login" : undefined };
    return isSignInFailure(secret) ? secret : startSignInAt(productUrl, parameters, state);
  },
  finish: async (context, answer, providerState) => {
    const { productUrl = "" } = context.login;
    const secret = await getSharedSecret(context);
    if (isSignInFailure(secret)) return secret;
    const failure = await checkCallback(productUrl, answer, providerState);
    if (failure) return failure;
    const options = { secret, audience: context.urls.issuer };
    const verified = await verifySharedJwt(answer.get("token") ?? "", options, Date.now());
    if (verified.kind !== "verified") {
      return unusableAnswer(
        productUrl,
        `the token is invalid: ${verified.kind === "refused" ? verified.why : "its key is unknown"}`,
      );
    }
    const { nonce, ...claims } = verified.claims;
    // The token was created for another browser.
    if (typeof nonce !== "string" || (await digest(nonce)) !== providerState["state"]) return unexpectedAnswer();
    return { kind: "signedIn", person: toProviderIdentity(new URL(productUrl).origin, claims.sub, claims) };
  },
};

async function getSharedSecret(context: SignInContext): Promise<Uint8Array | SignInFailure> {
  const { productUrl = "", productSecret } = context.login;
  const secret = new TextEncoder().encode(await resolveSecret(context, productSecret));
  if (secret.length >= MIN_SECRET_BYTES) return secret;
  return notConfigured(
    productUrl,
    `the secret ${productSecret} is not set, or has fewer than ${MIN_SECRET_BYTES} characters`,
  );
}
