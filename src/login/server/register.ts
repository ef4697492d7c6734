// `/register`: gives a client an id, and a secret if it wants one. Rejects invalid metadata, and limits registrations
// per address. https://datatracker.ietf.org/doc/html/rfc7591#section-3

import { hashToken } from "../../auth/api-key.ts";
import { toBase64Url } from "../../auth/seal.ts";
import type { LoginContext } from "../login-context.ts";
import { jsonResponse, OAuthError } from "./oauth-responses.ts";
import { metadataError, parseRegistration, type ClientMetadataError, type ClientMetadata } from "./client-metadata.ts";
import { metadataDigest, retryAfterOf } from "./find-client.ts";
import { getLoginStub } from "./login-stub.ts";

const MAX_BODY = 8192;
const SECRET_BYTES = 32;

export async function handleRegister(context: LoginContext): Promise<Response> {
  if (context.login.clients)
    throw new OAuthError("access_denied", "registration is not allowed here: operators list the allowed clients", 403);
  const wait = retryAfterOf(context, "register");
  if (wait !== undefined) throw retryLater("too many registrations", wait, 429);
  const metadata = metadataIn(context.body);
  if ("kind" in metadata) throw new OAuthError(metadata.error, metadata.why);
  const { name, site, redirects, method } = metadata;
  const secret = method === "none" ? undefined : toBase64Url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  const id = crypto.randomUUID();
  const secretHash = secret === undefined ? null : await hashToken(secret);
  const client = { id, kind: "registered", ...metadata, secretHash, digest: await metadataDigest(metadata) } as const;
  if (!(await getLoginStub(context).saveClient({ client, freshUntil: 0 })))
    throw retryLater("the tenant has no room for another client", 3600, 503);
  const registration = {
    client_id: id,
    client_id_issued_at: Math.floor(Date.now() / 1000),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    ...(name !== "" && { client_name: name }),
    client_uri: site,
    redirect_uris: redirects,
    token_endpoint_auth_method: method,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  return jsonResponse(registration, 201);
}

function metadataIn(body: string): ClientMetadata | ClientMetadataError {
  if (body.length > MAX_BODY) return metadataError(`the body must have at most ${MAX_BODY} characters`);
  try {
    return parseRegistration(JSON.parse(body));
  } catch {
    return metadataError("the body must be JSON");
  }
}

function retryLater(why: string, seconds: number, status: number): OAuthError {
  return new OAuthError("temporarily_unavailable", why, status, { "retry-after": String(seconds) });
}
