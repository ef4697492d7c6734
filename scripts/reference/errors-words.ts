// The meaning and the remedy of each error, for the page of errors.

import type { ErrorKey } from "../../src/protocol/errors.ts";

type Words = readonly [means: string, todo: string];

export const ERROR_WORDS: Readonly<Record<ErrorKey, Words>> = {
  parseError: ["the body is not JSON", "send JSON in UTF-8; check proxies and shell quotes"],
  invalidRequest: [
    "the body is JSON, but not a JSON-RPC message of this protocol version",
    "read the text after the colon, which names the rule",
  ],
  methodNotFound: [
    "this protocol version has no such method",
    "call only methods that `initialize` or `server/discover` declared",
  ],
  invalidParams: [
    "a param is missing or wrong, or the tool or prompt is not visible",
    "read the message, or run `tenantry explain TENANT tool NAME`",
  ],
  invalidMetadata: [
    "headers or `_meta` of a 2026-07-28 request are incomplete",
    "update the client; the message names the field",
  ],
  internal: ["the Worker or an author's code failed", "run `tenantry errors ID`, or read the Worker's log"],
  headerMismatch: [
    "a header and the body differ",
    "check proxies; if no proxy changes the request, the client has a bug",
  ],
  missingCapability: [
    "the call has a question that this client cannot answer",
    'use another client; in a handler, check `ctx.can` (see "[Ask the person or the model](api-questions.md)")',
  ],
  unsupportedVersion: ["the protocol version is unknown", "use one of `data.supported`"],
  resourceNotFound: [
    "no resource has this URI, or the caller cannot see it",
    "run `tenantry explain TENANT resource URI`",
  ],
  timeout: ["a tool or an upstream took too long", "try again, or raise `timeoutMs` of the tool or upstream"],
  refused: ["the request is not possible here", "read the reason in the message"],
  told: [
    "the author's code refused the call with a `UserError`",
    "read the message, which the author of the code wrote",
  ],
  cancelled: ["the client cancelled the request", "nothing to do"],
  busy: ["a part of the Worker was unavailable, or just changed", "try again; some clients do so themselves"],
  sessionRequired: [
    "this method needs a session (versions of 2025)",
    "send `initialize`, then send the `Mcp-Session-Id` of the answer",
  ],
  sessionNotFound: ["the session ended, or belongs to another caller", "send `initialize` again; official clients do"],
  suspended: [
    "an operator stopped the tenant, profile, caller or tool",
    "`tenantry tenant show TENANT` shows the note; `tenantry resume` ends the suspension",
  ],
  unauthorized: [
    "the credential is missing or wrong, or the tenant is unknown",
    "send `Authorization: Bearer KEY`, or sign in (see [Login](login.md))",
  ],
  forbidden: [
    "the key belongs to another profile, or the request uses plain http",
    "see [Troubleshooting](troubleshooting.md#access)",
  ],
  unknownTenant: ["the URL is not an endpoint", "use `/mcp/TENANT`, or the tenant's hostname"],
  forbiddenOrigin: [
    "the call came from a web page whose origin is not allowed",
    "add the origin to `ALLOWED_ORIGINS`, or to `allowedOrigins` of the tenant",
  ],
  forbiddenHost: [
    "`HOSTS` does not list this name",
    "add the name, or remove `HOSTS` (see [Your own domains](domains.md))",
  ],
  methodNotAllowed: ["this URL does not accept this HTTP method", "use a method from the answer's header `Allow`"],
  notAcceptable: ["`Accept` excludes JSON and event streams", "send `Accept: application/json, text/event-stream`"],
  tooLarge: ["the body is over the tenant's limit", "raise `bodyBytes` (see [Limits](limits.md)), or store a resource"],
  tooSlow: ["the body arrived too slowly", "check the network; look for a proxy that buffers bodies"],
  unsupportedMediaType: ["the POST has no `Content-Type: application/json`", "send the header"],
  limited: ["a limit is used up", "wait for `Retry-After`; `tenantry limits TENANT` shows the limit"],
  unavailable: [
    "an object or service that the tenant needs does not answer",
    "try again after `Retry-After`, then read the Worker's log",
  ],
  unreachableServer: [
    "an upstream (another MCP server) cannot be reached",
    "run `tenantry upstream test TENANT UPSTREAM` (see [Other MCP servers](gateway.md#when-something-is-missing))",
  ],
  faultyServer: [
    "an upstream sent invalid MCP, or its token or secret is missing",
    "run `tenantry upstream test TENANT UPSTREAM`",
  ],
  foreign: [
    "an upstream refused the call; the message comes from the upstream",
    "`data.server` is the upstream's id: ask the operator of that upstream",
  ],
};

export const PROBLEM_WORDS: Readonly<Record<string, Words>> = {
  "bad-request": ["the body is not JSON, or a parameter is malformed", "`detail` has the reason"],
  unauthorized: ["the token is missing, or is not an operator's", "run `tenantry login`, or set `TENANTRY_TOKEN`"],
  forbidden: ["your role does not permit this", "ask an owner (see [Operators](operators.md#roles))"],
  "forbidden-origin": ["the request came from a web page", "call the admin API from a server"],
  "plain-http": [
    "a token came over `http://` on the internet",
    "use `https://`, and revoke the token, because others can have read it",
  ],
  "not-found": ["the tenant, key, resource or similar does not exist", "`detail` suggests the nearest name"],
  "method-not-allowed": ["the route does not accept this HTTP method", "see `/admin/openapi.json`"],
  "too-slow": ["the body arrived too slowly", "use a faster network, or smaller files"],
  conflict: ["a name is taken, or a feature is missing in this Worker", "`detail` says which"],
  "precondition-failed": [
    "the stored data changed after you read it",
    "read the data again, and write with the new `ETag`",
  ],
  limited: ["this address tried too many tokens, or rotated keys too often", "wait for `Retry-After`"],
  "too-large": [
    "the body is over the route's limit",
    "see the limit in `detail`; for resources, raise `resourceBytes`",
  ],
  "unsupported-media-type": [
    "the route does not take this `Content-Type`",
    "send `application/json`, or the type of the file",
  ],
  "invalid-input": ["fields break rules", "read `errors`: each entry has the path of a field, and the rule"],
  internal: ["the Worker failed", "run `tenantry errors ID`, where `ID` is the `requestId` of the answer"],
  busy: ["an object is unavailable or overloaded", "try again after `Retry-After`, as the command line does"],
};

/** Errors of a tenant's authorization server, for clients. People get a page with a sentence instead. */
export const LOGIN_WORDS: Readonly<Record<string, Words>> = {
  access_denied: [
    "the person or the provider refused, or the client is not allowed",
    "ask the provider's operator; see `auth.login.clients`",
  ],
  insufficient_scope: ["the call needs a scope that the token lacks", "the client asks the person again for the scope"],
  invalid_client: [
    "the client is unknown, or its secret is wrong",
    "register the client again; `tenantry login-client list` shows the clients",
  ],
  invalid_client_metadata: ["the client's metadata breaks a rule", "`error_description` names the rule"],
  invalid_grant: [
    "the code or refresh token is used or expired, or belongs to another client",
    "the person must sign in again",
  ],
  invalid_redirect_uri: ["the redirect URI is not allowed", "use an https URL, or a loopback address"],
  invalid_request: [
    "a parameter is missing or repeated, or PKCE is missing",
    "`error_description` names the parameter",
  ],
  invalid_target: ["`resource` is not an endpoint of this tenant", "use the exact URL of the endpoint"],
  invalid_token: [
    "the token is not valid here",
    "sign in again; the error text names the wrong claim (see [Login](login.md))",
  ],
  server_error: [
    "the client's settings at the provider differ from the document",
    "copy the text of the page, and search for it in [Troubleshooting](troubleshooting.md#sign-in)",
  ],
  temporarily_unavailable: [
    "the tenant's object or the provider is unavailable",
    "try again after `Retry-After`; the sign-in is not lost",
  ],
  unsupported_grant_type: [
    "the client uses a grant type that is not supported",
    "use `authorization_code` or `refresh_token`",
  ],
  unsupported_response_type: ["the client requests a response type that is not supported", "use `response_type=code`"],
};

/** The remedy if `ctx.identity.token` fails. */
export const IDENTITY_TODO: Readonly<Record<string, string>> = {
  anonymous: "set `mode` (see [Login](login.md))",
  key: "set `mode` (see [Login](login.md))",
  app: 'see "[Use the users of your own app](api-identity.md)"',
  worker: "use `ctx.identity` only in calls from people",
  unset: 'set `identity` (see "[Call your own API as the person](login-identity.md)")',
  audience: "add the audience to `identity.audiences`, or change the tool",
  scopes: "add the scope to `request` of the provider, or change the tool",
  ended: "the client must call again with a new token",
  again: "the person must sign in again",
  stored: "request the token before the first question",
  refused: "see the authorization server's log",
  away: "try again",
  sealed: "set `SECRETS_KEY` (see [Environment variables](variables.md))",
};
