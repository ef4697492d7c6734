// Rules that outbound requests can break. Messages never contain a resolved address: that would let a caller map an
// internal network.

import { UserError } from "../protocol/user-error.ts";

const RULES = {
  url: "the URL must be absolute, such as https://example.com/",
  scheme: "the URL must begin with https:, unless OUTBOUND_ALLOW lists http:// and the host",
  credentials: "the URL must not contain a user name or password",
  port: "the port must be 443 or at least 1024, unless OUTBOUND_ALLOW lists the host",
  name: "the host name is not public, and OUTBOUND_ALLOW does not list it",
  address: "the address is not public, and OUTBOUND_ALLOW does not list the host",
  resolution: "the host name has no address, or the DNS resolver did not answer",
  upgrade: "WebSockets are not supported",
  redirects: "too many redirects",
  body: "the redirect needs the request body again, but a stream can be sent only once",
  connections: "too many requests are open: read or cancel their responses first",
  over: "the call has ended: await the request before the handler returns",
  size: "the response is too large",
  time: "the server did not answer in time",
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
