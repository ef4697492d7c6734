// Publishes a tenant's public keys, with which its API verifies the tokens of signed-token.ts.

import { createRpcClient } from "../../tenants/object/store.ts";
import type { LoginContext } from "../login-context.ts";
import { signsTokens } from "./identity-settings.ts";
import { signingKeyStore } from "./signing-key-store.ts";

/** Far shorter than the time for which a new key is published before it signs. */
const HEADERS = { "content-type": "application/jwk-set+json", "cache-control": "public, max-age=300" };

export async function jwksResponse({ tenantContext }: Pick<LoginContext, "tenantContext">): Promise<Response> {
  const { document, stub } = tenantContext;
  const keys = signsTokens(document) ? await createRpcClient(stub(), signingKeyStore).listPublicKeys() : [];
  return new Response(`{"keys":[${keys.join(",")}]}`, { headers: HEADERS });
}
