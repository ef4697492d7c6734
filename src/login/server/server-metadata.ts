// The metadata of a tenant's authorization server. https://datatracker.ietf.org/doc/html/rfc8414#section-2

import type { TenantDocument } from "../../tenants/document/tenant-document.ts";

const METHODS = ["none", "client_secret_basic", "client_secret_post"];

export function serverMetadata(issuer: string, { scopes = {}, auth }: Pick<TenantDocument, "scopes" | "auth">) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    // If operators list the clients, no client can register.
    ...(!auth?.login?.clients && { registration_endpoint: `${issuer}/register` }),
    revocation_endpoint: `${issuer}/revoke`,
    jwks_uri: `${issuer}/jwks`,
    scopes_supported: [...Object.keys(scopes), "offline_access"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: METHODS,
    revocation_endpoint_auth_methods_supported: METHODS,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}
