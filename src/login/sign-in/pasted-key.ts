// Sign-in with a key of the tenant, which the person pastes into our page, so that a tenant with keys only works in
// every client. The grant ends with the key.

import { hashToken, keyIdOf } from "../../auth/api-key.ts";
import { getLoginStub } from "../server/login-stub.ts";
import type { SignInFailure, IdentityProviderClient } from "./identity-provider-client.ts";

export const INVALID_KEY: SignInFailure = {
  kind: "notSignedIn",
  why: "This is not a key of this tenant, or it has expired",
  next: "Paste the whole key, or ask the person who gave it to you for a new one",
};

export const pasteKey: IdentityProviderClient = {
  finish: async ({ tenantContext }, answer) => {
    // People paste the header or quotes along with the key.
    const [token = ""] = /tnt_\w+/.exec(answer.get("key") ?? "") ?? [];
    if (keyIdOf(token) === undefined) return INVALID_KEY;
    const keyHash = await hashToken(token);
    const key = await getLoginStub({ tenantContext }).findKey(keyHash);
    if (!key) return INVALID_KEY;
    const person = { issuer: "key", subject: key.id, name: key.name, claims: {} };
    return { kind: "signedIn", person, keyHash };
  },
};
