// Owns one HTTP exchange with an MCP server of either era: it sends one request and returns the answer or throws the
// fault. Refuses to send anything twice: only the caller can judge whether that is safe.

import type { Allowance } from "./allowance.ts";
import { limitsOf, type RemoteEndpoint, type RequestOptions } from "./remote-endpoint.ts";
import { McpFault } from "./fault.ts";
import { discardBody, readAnswer, refusalIn, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { Lifetime } from "./lifetime.ts";
import { isNeverConnected, platformCode } from "./platform-code.ts";

const ACCEPT = { POST: "application/json, text/event-stream", GET: "text/event-stream", DELETE: "*/*" } as const;

export interface HttpRequest {
  readonly method: keyof typeof ACCEPT;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Continues a stream that broke after the event with this id. */
  readonly lastEventId?: string | undefined;
  /** A notification or an answer, which the server only has to accept. */
  readonly wantsNothing?: boolean;
}

export interface ExchangeOptions extends RequestOptions {
  /** What earlier connections of the same stream have left of its limits. */
  readonly allowance?: Partial<Allowance>;
}

export async function exchange(
  endpoint: RemoteEndpoint,
  request: HttpRequest,
  options: ExchangeOptions = {},
): Promise<HttpAnswer> {
  const { clock, url, held } = endpoint;
  const limits = limitsOf(endpoint, options);
  const life = new Lifetime(clock, limits, options.signal);
  const { lastEventId, wantsNothing = false } = request;
  const isInSession = "mcp-session-id" in request.headers;
  try {
    const response = await send(endpoint, request, life);
    life.sent = "yes";
    const context = { url, isInSession, wantsNothing, lastEventId, clock, life, limits, held, kept: options.allowance };
    const reading = readAnswer(response, context);
    return reading instanceof Promise ? await reading : reading;
  } catch (error) {
    life.abandon();
    throw life.sent === "yes" ? error : faultOf(error);
  }
}

/** A GET whose answer is a stream; any other answer is a fault. */
export async function openStream(
  endpoint: RemoteEndpoint,
  request: Pick<HttpRequest, "headers" | "lastEventId">,
  options: ExchangeOptions = {},
): Promise<OpenStream> {
  const opened = await exchange(endpoint, { ...request, method: "GET" }, options);
  if (opened.kind === "stream") return opened;
  throw refusalIn(opened) ?? new McpFault({ kind: "notMcp", http: opened.http, sent: "yes" });
}

function send({ url, headers, fetch }: RemoteEndpoint, request: HttpRequest, life: Lifetime): Promise<Response> {
  const { method, body } = request;
  const init = {
    method,
    headers: { ...headers, ...request.headers, accept: ACCEPT[method], ...headersFor(request) },
    redirect: "manual",
    signal: life.signal,
    onEnd: life.onEnd,
    ...(body !== undefined && { body }),
  } as const;
  life.check();
  life.sent = "perhaps";
  // Called as a function: as a method of the endpoint, the `fetch` of workerd refuses. An answer is late where the
  // platform did not hear the abort.
  return life.during("headers", () => fetch(url, init), discardBody);
}

/** Of what went wrong before there was an answer. */
function faultOf(error: unknown): McpFault {
  if (error instanceof McpFault) return error;
  const code = platformCode(error);
  if (isNeverConnected(code)) return new McpFault({ kind: "unreachable", code, sent: "no" }, error);
  return new McpFault({ kind: "lost", stage: "headers", code, sent: "perhaps" }, error);
}

function headersFor({ body, lastEventId }: HttpRequest): Record<string, string> {
  return {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
}
