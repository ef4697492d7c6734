// Why an upstream, or one of its lists, could not be read.

import { describeFault, type Fault } from "../mcp-client/fault.ts";
import { rpcErrorOf } from "../mcp-client/message.ts";

/**
 * For lists and operators. The words of a refusal are the server's, and may say something of the credential that all callers
 * share: they are for the operator alone who has asked the server just now (`withWords`).
 */
export function unreadReason(fault: Fault, withinMs: number, withWords = false): string {
  if (fault.kind === "refused") {
    const { status } = fault.http;
    const { code = 0, message = "" } = rpcErrorOf(fault.error) ?? {};
    // A status says more than the code: 401 with an error in it is no other 401.
    const what = status < 400 ? `the server refused to list (${code})` : `the server answered ${status} (${code})`;
    return withWords && message !== "" ? `${what}: ${message.slice(0, 200)}` : what;
  }
  if (fault.kind === "cancelled") return `it was not read within ${withinMs} ms`;
  return describeFault(fault.kind === "status" && !withWords ? { ...fault, reason: undefined } : fault);
}
