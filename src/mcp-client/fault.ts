// Everything that can go wrong between the client and a server, as one tagged union and the error that carries it.
// Every fault says whether the request may have reached the server, because a call that may have run must not run
// again.

import { rpcErrorOf, type ResponseMessage, type UnreadableMessage } from "./message.ts";
import { truncateWords } from "./error-reason.ts";

/** `no`: never sent. `perhaps`: sent, but nothing was received. `yes`: the server began to answer. */
export type Sent = "no" | "perhaps" | "yes";

/** Facts from the response head, as plain data that can be logged and stored. */
export interface HttpFacts {
  readonly status: number;
  /** Media type in lower case without parameters. Empty if there is none. */
  readonly contentType: string;
  readonly wwwAuthenticate?: string;
  /** Id of a session that the server started although it refused the request. */
  readonly sessionId?: string;
  /** As received: seconds or a date. */
  readonly retryAfter?: string;
}

export type BrokenRule =
  | UnreadableMessage["rule"]
  | "wrongId"
  | "answeredTwice"
  | "badSessionId"
  | "unknownRevision"
  | "noEndpoint"
  | "foreignEndpoint"
  | "notAcknowledged"
  | "tooManyQuestions"
  | "tooManyRounds";

interface Faults {
  /** The caller's signal aborted. */
  readonly cancelled: object;
  /** No connection was made. `code` is the platform's name for the reason. */
  readonly unreachable: { readonly code: string };
  readonly lost: { readonly stage: "headers" | "body"; readonly code: string | undefined };
  /** Which limit has passed: for the response head, between two chunks, or for the whole answer. */
  readonly timeout: { readonly stage: "headers" | "silence" | "total"; readonly afterMs: number };
  readonly tooLarge:
    | { readonly what: "response" | "message"; readonly limitBytes: number }
    /** Limit of objects and arrays, which take much more memory than their bytes. */
    | { readonly what: "message"; readonly limitContainers: number }
    /** Limit of lines, which cost much more than their bytes. */
    | { readonly what: "stream"; readonly limitLines: number };
  /** The redirect was not followed. `location` is absolute, or undefined if the server sent no valid one. */
  readonly redirect: { readonly http: HttpFacts; readonly location: string | undefined };
  /** An HTTP error without a JSON-RPC error. `reason` is what its body says, in one line. */
  readonly status: { readonly http: HttpFacts; readonly reason?: string | undefined };
  /** A success with a content type that is not MCP, such as an HTML page. */
  readonly notMcp: { readonly http: HttpFacts };
  /** The server's whole JSON-RPC error. */
  readonly refused: { readonly http: HttpFacts; readonly error: ResponseMessage };
  readonly sessionGone: {
    readonly http: HttpFacts;
    readonly error: ResponseMessage | undefined;
    readonly reason?: string | undefined;
  };
  /** The answer ended normally without a response in it. */
  readonly unanswered: { readonly http: HttpFacts };
  /** The stream broke, and the last attempt to resume it failed with `lastFault`. */
  readonly unresumable: { readonly lastFault: Fault };
  /** `location`: the URL that the rule is about. It is not part of `detail`, which callers see. */
  readonly violation: { readonly rule: BrokenRule; readonly detail: string; readonly location?: string };
}

export type FaultKind = keyof Faults;
type FaultOf<Kind extends FaultKind> = { readonly kind: Kind; readonly sent: Sent } & Faults[Kind];
export type Fault = { [Kind in FaultKind]: FaultOf<Kind> }[FaultKind];

export class McpFault extends Error {
  override readonly name = "McpFault";
  readonly fault: Fault;

  constructor(fault: Fault, cause?: unknown) {
    super(describeFault(fault), cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}

/** One sentence for logs and people. Contains no URL and no header, so it can be shown. */
export function describeFault(fault: Fault): string {
  const describe = DESCRIPTIONS[fault.kind] as (fault: Fault) => string;
  return truncateWords(describe(fault), MAX_DESCRIPTION);
}

/** Some of the words are the server's. */
const MAX_DESCRIPTION = 500;

const DESCRIPTIONS: { readonly [Kind in FaultKind]: (fault: FaultOf<Kind>) => string } = {
  cancelled: () => "the request was cancelled",
  unreachable: ({ code }) => `the server cannot be reached (${code})`,
  lost: ({ stage, code }) =>
    `the connection was lost ${stage === "headers" ? "before an" : "during the"} answer${code ? ` (${code})` : ""}`,
  timeout: ({ stage, afterMs }) => `${TIMEOUTS[stage]} ${afterMs} ms`,
  tooLarge: (fault) => {
    if ("limitLines" in fault) return `a stream has more than ${fault.limitLines} lines`;
    if ("limitContainers" in fault) return `a message has more than ${fault.limitContainers} objects and lists`;
    return `a ${fault.what} is longer than ${fault.limitBytes} bytes`;
  },
  redirect: ({ http }) => `the server redirects to another URL (${http.status})`,
  status: ({ http, reason }) => `the server answered ${answerOf(http)}${reason === undefined ? "" : `: ${reason}`}`,
  notMcp: ({ http }) => `the server answered ${answerOf(http)}, not MCP`,
  refused: ({ error }) => describeError(error),
  sessionGone: ({ reason }) =>
    `the server does not know the session any more${reason === undefined ? "" : `: ${reason}`}`,
  unanswered: () => "the answer ended without a response",
  unresumable: ({ lastFault }) => `the stream broke and cannot be resumed: ${describeFault(lastFault)}`,
  violation: ({ rule, detail }) => `the server broke the protocol (${rule}): ${detail}`,
};

const TIMEOUTS = {
  headers: "no answer began within",
  silence: "the answer paused for more than",
  total: "the answer was not complete within",
} as const;

function answerOf({ status, contentType }: HttpFacts): string {
  return `${status} (${contentType || "no content type"})`;
}

function describeError(response: ResponseMessage): string {
  const error = rpcErrorOf(response);
  return `${error?.message || "error without a message"} (${error?.code ?? 0})`;
}

export function httpStatusOf(fault: Fault): number | undefined {
  return "http" in fault ? fault.http.status : undefined;
}

/** Whether a later attempt may succeed: the server is overloaded or temporarily unavailable. */
export function isTransientFault(fault: Fault): boolean {
  const status = httpStatusOf(fault);
  if (status !== undefined) return status >= 500 || status === 429;
  return fault.kind === "lost" || fault.kind === "unreachable" || fault.kind === "timeout";
}

/** Milliseconds of the server's Retry-After, or undefined. */
export function retryAfterMs(fault: Fault, now: number): number | undefined {
  const text = "http" in fault ? fault.http.retryAfter?.trim() : undefined;
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
