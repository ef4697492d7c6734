// Why an upstream, or one of its lists, could not be read: for everybody who is served by it, and what operators are told beside.

import { describeFault, type Fault } from "../mcp-client/fault.ts";
import { rpcErrorOf } from "../mcp-client/message.ts";
import { truncateWords } from "../mcp-client/error-reason.ts";
import type { Cause, CauseCode } from "../protocol/cause.ts";

/** For lists. The words of a refusal are the server's, and may say something of the credential that all callers share. */
export function describeReadFault(fault: Fault, timeoutMs: number): string {
  if (fault.kind === "refused") {
    const { status } = fault.http;
    const code = rpcErrorOf(fault.error)?.code ?? 0;
    // A status says more than the code: 401 with an error in it is no other 401.
    return status < 400 ? `the server refused to list (${code})` : `the server answered ${status} (${code})`;
  }
  if (fault.kind === "unresumable")
    return `the stream broke and cannot be resumed: ${describeReadFault(fault.lastFault, timeoutMs)}`;
  if (fault.kind === "cancelled") return `it was not read within ${timeoutMs} ms`;
  return describeFault("reason" in fault ? { ...fault, reason: undefined } : fault);
}

/** Why something is missing: in words for people, and as codes for programs. */
export interface Reason {
  readonly why: string;
  readonly causes: readonly Cause[];
}

export function createReason(code: CauseCode, why: string): Reason {
  return { why, causes: [{ code }] };
}

export function missingSecretReason(name: string): Reason {
  return { why: `this tenant has no secret ${name}`, causes: [{ code: "secret-missing", name }] };
}

const BY_KIND: Readonly<Record<Exclude<Fault["kind"], "refused" | "status">, CauseCode>> = {
  cancelled: "reading-too-slow",
  unreachable: "unreachable",
  lost: "connection-lost",
  timeout: "answer-too-slow",
  tooLarge: "no-mcp",
  redirect: "redirect",
  notMcp: "web-page",
  sessionGone: "no-mcp",
  unanswered: "no-mcp",
  unresumable: "no-mcp",
  violation: "no-mcp",
};

const BY_STATUS: Readonly<Record<number, CauseCode>> = {
  401: "credential-refused",
  403: "credential-refused",
  404: "no-endpoint",
  405: "no-endpoint",
  429: "overloaded",
  503: "overloaded",
};

/** `unreadReason` as a code. */
export function causeOf(fault: Fault): CauseCode {
  if (fault.kind !== "refused" && fault.kind !== "status") return BY_KIND[fault.kind];
  const { status } = fault.http;
  if (status < 400) return "list-refused";
  return BY_STATUS[status] ?? (status >= 500 ? "server-failed" : "request-refused");
}

/** For operators alone, to be shown behind the reason: the server's words, or where a redirect leads. */
export function operatorDetail(fault: Fault, secrets: readonly string[]): string | undefined {
  const host = redirectHost(fault, secrets);
  if (host !== undefined) return `it leads to ${host}`;
  const message = serverMessageOf(fault)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return message === "" ? undefined : `it says: ${truncateWords(message, MAX_MESSAGE)}`;
}

/** `why`, for who may see it all. */
export function withDetail(why: string, detail: string | undefined): string {
  return detail === undefined ? why : `${why}; ${detail}`;
}

const MAX_MESSAGE = 200;

function serverMessageOf(fault: Fault): string {
  if (fault.kind === "refused") return rpcErrorOf(fault.error)?.message ?? "";
  return "reason" in fault ? (fault.reason ?? "") : "";
}

/** As in a `Location`: of letters, digits, dots, hyphens and a port, or an address in brackets. */
const HOST = /^[a-z0-9.\-_:[\]]{1,261}$/;
const MIN_SECRET_LENGTH = 8;

/** Refuses what is no web address, and a host with a credential in it, which a server that was sent one could put there. */
function redirectHost(fault: Fault, secrets: readonly string[]): string | undefined {
  if (fault.kind !== "redirect" || fault.location === undefined) return undefined;
  const { protocol, host } = new URL(fault.location);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || !HOST.test(host)) return undefined;
  const containsSecret = secrets.some(
    (one) => one.length >= MIN_SECRET_LENGTH && host.includes(one.trim().toLowerCase()),
  );
  return containsSecret ? undefined : host;
}
