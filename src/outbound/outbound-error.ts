// Owns what the outbound door refuses, and how the author of a tool is told: by the name of a rule. Refuses to name an
// address that a name stands for: it would tell who asks what is inside a network.

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

/** Whether it is this Worker that refused. */
export function isOutboundErrorCode(code: string): code is OutboundErrorCode {
  return Object.hasOwn(RULES, code);
}

/** What `ctx.fetch` rejects with when it is this Worker that refuses. Who calls may have named the URL, so it is shown. */
export class OutboundError extends UserError {
  override readonly name = "OutboundError";
  override readonly isLogged = true;
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode) {
    super(`outbound request refused (${code}): ${RULES[code]}`);
    this.code = code;
  }
}
