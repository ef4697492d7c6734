// Reasons why there is no token for a caller, in words that a model may read too: the problem, and who can fix it.
// Never quotes what was sent or received.

import { UserError } from "../../protocol/user-error.ts";

const RULES = {
  anonymous: "the caller is not signed in: sign-in needs the mode oauth, key+oauth or mixed",
  key: "an API key does not identify a person: sign in instead, which needs the mode oauth, key+oauth or mixed",
  app: "the app identified the caller: get the token from the app",
  worker:
    "the Worker's own code does not identify a person: a person must sign in, which needs the mode oauth, key+oauth or mixed",
  unset: "`identity` is not set: an operator must set it under the issuer or login in the tenant's document",
  audience: "this audience is not one of `identity.audiences` in the tenant's document",
  scopes: "the scopes are invalid, or the provider did not grant them",
  ended: "the caller's token has expired: call again with a new token",
  again: "the provider no longer issues tokens for this caller: the caller must sign in again",
  stored:
    "the call continues after its request, without the caller's token: request this token earlier in the handler, or call again",
  refused:
    "the authorization server refused to issue one: an operator must check that server's log, and `identity` in the tenant's document",
  away: "the authorization server cannot be reached right now: try again",
  sealed: "the Worker has no valid SECRETS_KEY: an operator must set it",
} as const;

export type IdentityErrorCode = keyof typeof RULES;

/**
 * Rejection of `ctx.identity.token`. `code` names the reason; the message says what to do and is safe to show to
 * clients.
 */
export class IdentityError extends UserError {
  override readonly name = "IdentityError";
  override readonly isLogged = true;
  readonly code: IdentityErrorCode;

  constructor(code: IdentityErrorCode) {
    super(`no token for this caller (${code}): ${RULES[code]}`);
    this.code = code;
  }
}
