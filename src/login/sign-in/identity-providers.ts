import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { oauth2 } from "./oauth2.ts";
import { oidc } from "./oidc.ts";
import { pasteKey } from "./pasted-key.ts";
import { product } from "./product.ts";
import type { IdentityProviderClient } from "./identity-provider-client.ts";

/** By `auth.login.via` of the document. */
export const IDENTITY_PROVIDERS: Readonly<Record<LoginDocument["via"], IdentityProviderClient>> = {
  oidc,
  oauth2,
  product,
  key: pasteKey,
};
