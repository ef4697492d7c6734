// Why an upstream, or one of its lists, could not be read: the reason for all callers, and details for operators only.

import { describeFault, type Fault } from "../mcp-client/fault.ts";
import { rpcErrorOf } from "../mcp-client/message.ts";
import { truncateWords } from "../mcp-client/error-reason.ts";
import type { Cause, CauseCode } from "../protocol/cause.ts";

/**
 * The server's own words are left out, because they may reveal something about the credential that all callers share.
 */
export function describeReadFault(fault: Fault, timeoutMs: number): string {
  if (fault.kind === "refused") {
    const { status } = fault.http;
    const code = rpcErrorOf(fault.error)?.code ?? 0;
    // The HTTP status says more than the code: a 401 is a 401, whatever error is in its body.
    return status < 400 ? `the server refused to list (${code})` : `the server answered ${status} (${code})`;
  }
  if (fault.kind === "unresumable")
    return `the stream broke and cannot be resumed: ${describeReadFault(fault.lastFault, timeoutMs)}`;
  if (fault.kind === "cancelled") return `reading the lists took longer than ${timeoutMs} ms`;
  return describeFault("reason" in fault ? { ...fault, reason: undefined } : fault);
}

/** Why something is missing: text for people, codes for programs. */
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

/** The code that corresponds to `describeReadFault`. */
export function causeOf(fault: Fault): CauseCode {
  if (fault.kind !== "refused" && fault.kind !== "status") return BY_KIND[fault.kind];
  const { status } = fault.http;
  if (status < 400) return "list-refused";
  return BY_STATUS[status] ?? (status >= 500 ? "server-failed" : "request-refused");
}

/** Only for operators, appended to the reason: the server's words, or the host to which it leads. */
export function operatorDetail(fault: Fault, secrets: readonly string[]): string | undefined {
  const host = redirectHost(fault, secrets);
  if (host !== undefined) return `the target is ${host}`;
  const message = serverMessageOf(fault)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return message === "" ? undefined : `the server's message: ${truncateWords(message, MAX_MESSAGE)}`;
}

export function withDetail(why: string, detail: string | undefined): string {
  return detail === undefined ? why : `${why}; ${detail}`;
}

const MAX_MESSAGE = 200;

function serverMessageOf(fault: Fault): string {
  if (fault.kind === "refused") return rpcErrorOf(fault.error)?.message ?? "";
  return "reason" in fault ? (fault.reason ?? "") : "";
}

/** A host as in a `Location`: letters, digits, dots, hyphens and a port, or an address in brackets. */
const HOST = /^[a-z0-9.\-_:[\]]{1,261}$/;
const MIN_SECRET_LENGTH = 8;

/**
 * Returns undefined for a non-web URL. Also for a host that contains a credential: a server that received one could put
 * it there.
 */
function redirectHost(fault: Fault, secrets: readonly string[]): string | undefined {
  const location = "location" in fault ? fault.location : undefined;
  if (location === undefined) return undefined;
  const { protocol, host } = new URL(location);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || !HOST.test(host)) return undefined;
  const containsSecret = secrets.some(
    (one) => one.length >= MIN_SECRET_LENGTH && host.includes(one.trim().toLowerCase()),
  );
  return containsSecret ? undefined : host;
}
