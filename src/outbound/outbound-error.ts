// Rules that outbound requests can break. Messages never contain a resolved address: that would let a caller map an
// internal network.

import { UserError } from "../protocol/user-error.ts";

const RULES = {
  url: "it is no absolute URL",
  scheme: "only https: leaves this Worker",
  credentials: "a URL must not hold a user name or a password",
  port: "of the ports below 1024 only 443 is open",
  name: "this name is not one of the public internet",
  address: "this address is not on the public internet",
  resolution: "this name could not be looked up",
  upgrade: "WebSockets do not pass",
  redirects: "too many redirects",
  body: "a redirect asks for the body again, which was a stream",
  connections: "too many requests are under way",
  over: "the call has ended",
  size: "the answer is too large",
  time: "no answer came in time",
} as const;

export type OutboundErrorCode = keyof typeof RULES;

export function isOutboundErrorCode(code: string): code is OutboundErrorCode {
  return Object.hasOwn(RULES, code);
}

/**
 * `ctx.fetch` rejects with this error when this Worker refuses the request. `code` names the rule. The caller sees the
 * message, because the caller may have chosen the URL.
 */
export class OutboundError extends UserError {
  override readonly name = "OutboundError";
  override readonly isLogged = true;
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode) {
    super(`outbound request refused (${code}): ${RULES[code]}`);
    this.code = code;
  }
}
