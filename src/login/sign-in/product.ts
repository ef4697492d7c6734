// Owns signing in at the tenant's own product: it is sent the browser, and sends it back with a short token that it
// signed with a secret we share: docs/login-product.md. Refuses a token for another login, and one for another browser.

import { verifySharedJwt } from "../../auth/jwt.ts";
import { digest } from "../../auth/seal.ts";
import { begunAt, refusedIn } from "./code-flow.ts";
import { isRefused, misfitAt, strayAnswer, unsetFor } from "./not-signed-in.ts";
import { secretOf, type SignInGround } from "./provider-requests.ts";
import type { NotSignedIn, SignIn } from "./sign-in.ts";
import { signedIn } from "./signed-in.ts";

/** As long as what it makes: https://datatracker.ietf.org/doc/html/rfc7518#section-3.2 */
const LEAST_BYTES = 32;

export const product: SignIn = {
  begin: async (visit, state, isSwitch = false) => {
    const { productUrl = "" } = visit.login;
    const secret = await sharedSecret(visit);
    const asked = { issuer: visit.urls.issuer, request: state, prompt: isSwitch ? "login" : undefined };
    return isRefused(secret) ? secret : begunAt(productUrl, asked, state);
  },
  finish: async (visit, answer, kept) => {
    const { productUrl = "" } = visit.login;
    const secret = await sharedSecret(visit);
    if (isRefused(secret)) return secret;
    const refused = await refusedIn(productUrl, answer, kept);
    if (refused) return refused;
    const trusted = { secret, audience: visit.urls.issuer };
    const verified = await verifySharedJwt(answer.get("token") ?? "", trusted, Date.now());
    if (verified.kind !== "verified") {
      return misfitAt(
        productUrl,
        `of the token, ${verified.kind === "refused" ? verified.why : "nobody knows the key"}`,
      );
    }
    const { nonce, ...claims } = verified.claims;
    // One that was made for somebody else's browser.
    if (typeof nonce !== "string" || (await digest(nonce)) !== kept["state"]) return strayAnswer();
    return { kind: "signedIn", person: signedIn(new URL(productUrl).origin, claims.sub, claims) };
  },
};

async function sharedSecret(asking: SignInGround): Promise<Uint8Array | NotSignedIn> {
  const { productUrl = "", productSecret } = asking.login;
  const secret = new TextEncoder().encode(await secretOf(asking, productSecret));
  if (secret.length >= LEAST_BYTES) return secret;
  return unsetFor(
    productUrl,
    `its secret ${productSecret} is not set here, or has fewer than ${LEAST_BYTES} characters`,
  );
}
