// What each error means and what to do about it, in words for whoever meets it.

import type { ErrorKey } from "../../src/protocol/errors.ts";

type Words = readonly [means: string, todo: string];

export const ERROR_WORDS: Readonly<Record<ErrorKey, Words>> = {
  parseError: ["the body is no JSON", "send JSON in UTF-8; look for what a proxy or a shell's quotes did to it"],
  invalidRequest: [
    "JSON, but no JSON-RPC message, or one that the revision does not know, such as a batch outside of 2025-03-26",
    "the message behind the colon names the rule",
  ],
  methodNotFound: ["this revision has no such method", "ask for what `initialize` or `server/discover` declared"],
  invalidParams: [
    "a member of `params` lacks or is of the wrong kind; or there is no such tool or prompt for this caller",
    "the message names the member; `tenantry explain TENANT tool NAME` says why a name is not there",
  ],
  invalidMetadata: [
    "the headers or `_meta` of a request of 2026-07-28 are not whole",
    "update the client; by hand: the message names the member",
  ],
  internal: [
    "something failed in the Worker, or in an author's code",
    "`tenantry errors ID`, with the id in the message, or the Worker's log",
  ],
  headerMismatch: [
    "a header says something else than the body",
    "a proxy changed one of them, or the client has a bug",
  ],
  missingCapability: [
    "the call has to ask its client something that it did not say it can be asked",
    "use a client that takes questions; authors ask `ctx.can` first: [api-questions.md](api-questions.md)",
  ],
  unsupportedVersion: ["a revision that nobody knows", "`data.supported` names those that are served"],
  resourceNotFound: [
    "there is no resource under this URI, or this caller does not see it",
    "`tenantry explain TENANT resource URI`",
  ],
  timeout: [
    "a tool, or the server behind it, took longer than it may",
    "try again; `timeoutMs` of an upstream, `timeoutMs` of a tool",
  ],
  refused: ["what was asked cannot be done here", "the message says why"],
  told: ["the author of the tool, prompt or resource says it", "the message is the author's own"],
  cancelled: ["the client took the request back", "nothing"],
  busy: ["something was away or changed at this moment", "try again; clients may by themselves"],
  sessionRequired: [
    "this method needs a session of era 2025",
    "send `initialize` first, and its `Mcp-Session-Id` with what follows",
  ],
  sessionNotFound: [
    "the session has ended, or belongs to somebody else",
    "the client begins anew with `initialize`; every official one does",
  ],
  suspended: [
    "an operator stopped the tenant, profile, key or tool; `data.code` is `suspended`",
    "`tenantry tenant show TENANT` has the note; `tenantry resume` ends it",
  ],
  unauthorized: [
    "no credential came, or one that is not good; or no tenant has this name",
    "`Authorization: Bearer KEY`, or sign in: [keys-and-profiles.md](keys-and-profiles.md), [login.md](login.md)",
  ],
  forbidden: [
    "who calls is known and may not: another profile's key, or plain http",
    "[troubleshooting.md](troubleshooting.md) has the words",
  ],
  unknownTenant: ["the URL is no endpoint's", "look at the URL: `/mcp/TENANT`, or the tenant's hostname"],
  forbiddenOrigin: [
    "a web page of an origin that nobody lists called",
    "`ALLOWED_ORIGINS`, or `allowedOrigins` of the tenant's document",
  ],
  forbiddenHost: [
    "the Worker was called by a name that `HOSTS` does not list",
    "add it, at `npm start` by `-- --var HOSTS:NAME,localhost`, or leave `HOSTS` away: [domains.md](domains.md)",
  ],
  methodNotAllowed: [
    "a GET, DELETE or other method that this URL does not have just so",
    "`Allow` in the answer names those that it has",
  ],
  notAcceptable: [
    "`Accept` rules out both JSON and event streams",
    "send `Accept: application/json, text/event-stream`",
  ],
  tooLarge: [
    "the body is larger than this tenant takes",
    "`bodyBytes`: [limits.md](limits.md); large things are stored as resources",
  ],
  tooSlow: ["the body came so slowly that it was let go", "the client's network, or a proxy that holds bodies back"],
  unsupportedMediaType: ["a POST without `Content-Type: application/json`", "send it"],
  limited: ["a limit is used up", "wait for `Retry-After`; `tenantry limits TENANT` says which, and who may raise it"],
  unavailable: [
    "what decides about this tenant does not answer, or something that the tenant needs is not there",
    "try again after `Retry-After`; then the Worker's log",
  ],
  unreachableServer: [
    "an upstream cannot be reached",
    "`tenantry upstream test TENANT UPSTREAM`: [gateway.md](gateway.md#when-something-is-missing)",
  ],
  faultyServer: [
    "an upstream answered something that is no MCP, or lacks a token or secret",
    "`tenantry upstream test TENANT UPSTREAM`",
  ],
  foreign: [
    "an upstream refused, in its own words; its code where the client's era allows it",
    "`data.server` names it; its operator knows",
  ],
};

export const PROBLEM_WORDS: Readonly<Record<string, Words>> = {
  "bad-request": ["the body is no JSON, or a parameter cannot be read", "`detail` says which"],
  unauthorized: ["no token, or one that is not an operator's", "`tenantry login`, or `TENANTRY_TOKEN`"],
  forbidden: ["the role does not reach so far", "an owner does it, or `tenantry operator create` makes one who may"],
  "forbidden-origin": ["a web page called the admin API", "call it from a server"],
  "plain-http": [
    "a token came by `http://` over the internet",
    "write `https://`; revoke the token, for others may have read it",
  ],
  "not-found": [
    "no such tenant, key, resource or the like",
    "`detail` names what was meant, where something is called nearly so",
  ],
  "method-not-allowed": ["the route has other methods", "`/admin/openapi.json`"],
  "too-slow": ["the body came so slowly that it was let go", "a better line, or smaller files"],
  conflict: [
    "it contradicts what is there: a name that is taken, a feature that this Worker lacks",
    "`detail` says what",
  ],
  "precondition-failed": ["somebody changed it since it was read", "read it again, and write with the new `ETag`"],
  limited: [
    "this address rotated keys, or tried operators' tokens, too often in a minute",
    "wait as long as `Retry-After` says",
  ],
  "too-large": ["the body is larger than the route takes", "`detail` says how much; `resourceBytes` for resources"],
  "unsupported-media-type": [
    "the `Content-Type` is not one of the route's",
    "`application/json`, or the type of the file",
  ],
  "invalid-input": ["members break rules", "`errors` has each with its path, its rule and the nearest name"],
  internal: ["something failed in the Worker", "`tenantry errors ID`, with `requestId`"],
  busy: ["an object is away or has too much to do", "try again after `Retry-After`; the command line does"],
};

/** Of the authorization server of a tenant, for clients; people get a page that says the same in a sentence. */
export const LOGIN_WORDS: Readonly<Record<string, Words>> = {
  access_denied: [
    "the person said no, the provider did, or only listed clients may register",
    "ask whoever runs the provider; `auth.login.clients`",
  ],
  insufficient_scope: [
    "the call needs more than the token was given for",
    "the client asks the person again; the header names the scopes",
  ],
  invalid_client: [
    "the client is not known, or its secret is wrong",
    "the client registers anew; `tenantry login-client list`",
  ],
  invalid_client_metadata: ["what the client says of itself breaks a rule", "`error_description` names it"],
  invalid_grant: ["a code or refresh token is used up, ended or another client's", "the person signs in again"],
  invalid_redirect_uri: ["where the client wants to be answered is not allowed", "https, or a loopback address"],
  invalid_request: ["a parameter lacks, is there twice, or PKCE is missing", "`error_description` names it"],
  invalid_target: ["`resource` names no endpoint of this tenant", "the URL of the endpoint, to the character"],
  invalid_token: [
    "the token is not good here, or not any more",
    "sign in again; the words after it say which claim is wrong: [login.md](login.md)",
  ],
  server_error: [
    "the provider's client is set up otherwise than the document says",
    "[troubleshooting.md](troubleshooting.md), by the words on the page",
  ],
  temporarily_unavailable: [
    "the tenant's authority or the provider is away for a moment",
    "try again after `Retry-After`; nobody has to sign in anew",
  ],
  unsupported_grant_type: ["the client asks for tokens in another way", "`authorization_code` or `refresh_token`"],
  unsupported_response_type: ["the client asks for something else than a code", "`response_type=code`"],
};

/** Why `ctx.identity.token` gave none. */
export const IDENTITY_TODO: Readonly<Record<string, string>> = {
  anonymous: "`mode`: [login.md](login.md)",
  key: "`mode`: [login.md](login.md)",
  app: "[api-identity.md](api-identity.md)",
  worker: "do it in a call of a person's",
  unset: "`identity`: [login-identity.md](login-identity.md)",
  audience: "`identity.audiences`, or the tool's code",
  scopes: "`request` of the provider, or the tool's code",
  ended: "the client calls again",
  again: "the person signs in again",
  stored: "ask for the token before the first question",
  refused: "the authorization server's log",
  away: "try again",
  sealed: "`SECRETS_KEY`: [variables.md](variables.md)",
};
