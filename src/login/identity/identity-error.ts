// Reasons why there is no token for a caller, in words that a model may read too: the problem, and who can fix it.
// Never quotes what was sent or received.

import { UserError } from "../../protocol/user-error.ts";

const RULES = {
  anonymous: "nobody signed in: have callers sign in, in the mode oauth or key+oauth",
  key: "an API key stands for no person: have callers sign in, in the mode oauth or key+oauth",
  app: "the app named the caller: ask it for its own token",
  worker: "the Worker's own code stands for no person: have callers sign in, in the mode oauth or key+oauth",
  unset: "nothing says how: an operator writes `identity` where the tenant's document names who signs people in",
  audience: "this audience is not one of `identity.audiences` in the tenant's document",
  scopes: "these scopes cannot be had: they are no scopes, or not among those that the provider gave",
  ended: "the caller's own token has ended: call again with a new one",
  again: "the provider gives no token for this caller any more: they have to sign in again",
  stored:
    "the call goes on without the request that brought the caller's token: ask for this one earlier, or call again",
  refused: "the authorization server gives none to this caller: an operator looks at its log, and at `identity`",
  away: "the authorization server cannot be reached right now: try again",
  sealed: "an operator has to set SECRETS_KEY for this Worker",
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
