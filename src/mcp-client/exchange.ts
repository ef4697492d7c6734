// One HTTP exchange with an MCP server of either era: sends one request, and returns the answer or throws a fault.
// Resends only on a redirect that keeps the method and stays within the origin.

import type { StreamBudget } from "./stream-budget.ts";
import { limitsOf, type RemoteEndpoint, type RequestOptions, isSameOrigin } from "./remote-endpoint.ts";
import { McpFault } from "./fault.ts";
import { discardBody, readAnswer, rpcErrorFault, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { ExchangeLifecycle } from "./exchange-lifecycle.ts";
import { isNeverConnected, platformCode } from "./platform-code.ts";

const ACCEPT = { POST: "application/json, text/event-stream", GET: "text/event-stream", DELETE: "*/*" } as const;

export interface HttpRequest {
  readonly method: keyof typeof ACCEPT;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Resumes a broken stream after the event with this id. */
  readonly lastEventId?: string | undefined;
  /** A notification or an answer, which the server only has to accept. */
  readonly isOneWay?: boolean;
}

export interface ExchangeOptions extends RequestOptions {
  /** The rest of the budget after earlier connections of the same stream. */
  readonly streamBudget?: Partial<StreamBudget>;
}

export async function exchange(
  endpoint: RemoteEndpoint,
  request: HttpRequest,
  options: ExchangeOptions = {},
): Promise<HttpAnswer> {
  const { clock, url, reserveBytes, onSkipped } = endpoint;
  const limits = limitsOf(endpoint, options);
  const lifecycle = new ExchangeLifecycle(clock, limits, options.signal);
  const { lastEventId, isOneWay = false } = request;
  const isInSession = "mcp-session-id" in request.headers;
  try {
    const response = await send(endpoint, request, lifecycle);
    lifecycle.sent = "yes";
    const { streamBudget } = options;
    const context = {
      url,
      isInSession,
      isOneWay,
      lastEventId,
      clock,
      lifecycle,
      limits,
      reserveBytes,
      onSkipped,
      streamBudget,
    };
    return await readAnswer(response, context);
  } catch (error) {
    lifecycle.cancel();
    throw lifecycle.sent === "yes" ? error : toFault(error);
  }
}

/** A GET whose answer must be a stream; any other answer is a fault. */
export async function openStream(
  endpoint: RemoteEndpoint,
  request: Pick<HttpRequest, "headers" | "lastEventId">,
  options: ExchangeOptions = {},
): Promise<OpenStream> {
  const answer = await exchange(endpoint, { ...request, method: "GET" }, options);
  if (answer.kind === "stream") return answer;
  throw rpcErrorFault(answer) ?? new McpFault({ kind: "notMcp", http: answer.http, sent: "yes" });
}

/** The official clients follow redirects too, and servers that redirect `/mcp` to `/mcp/` depend on it. */
const MAX_REDIRECTS = 5;

async function send(
  { url, headers, fetch }: RemoteEndpoint,
  request: HttpRequest,
  lifecycle: ExchangeLifecycle,
): Promise<Response> {
  const { method, body } = request;
  let endHop = () => {};
  const init = {
    method,
    headers: { ...headers, ...request.headers, accept: ACCEPT[method], ...bodyHeaders(request) },
    redirect: "manual",
    signal: lifecycle.signal,
    onEnd: (run: () => void) => {
      endHop = run;
      lifecycle.onEnd(run);
    },
    ...(body !== undefined && { body }),
  } as const;
  for (let target = url, redirects = 0; ; redirects += 1) {
    lifecycle.throwIfEnded();
    lifecycle.sent = "perhaps";
    const to = target;
    // Called as a function, because workerd's `fetch` fails when called as a method. A response is late if the platform
    // ignored the abort.
    const response: Response = await lifecycle.race("headers", () => fetch(to, init), discardBody);
    const next = redirects < MAX_REDIRECTS ? sameOriginTarget(response, to, method) : undefined;
    if (next === undefined) return response;
    discardBody(response);
    endHop();
    target = next;
  }
}

/** The target of a redirect that keeps the method and the origin. Credentials may go only to that origin. */
function sameOriginTarget(
  { status, headers }: Response,
  from: string,
  method: HttpRequest["method"],
): string | undefined {
  const keepsMethod = status === 307 || status === 308 || (method === "GET" && [301, 302, 303].includes(status));
  const location = keepsMethod ? headers.get("location") : null;
  if (location === null || !URL.canParse(location, from)) return undefined;
  const target = new URL(location, from);
  return isSameOrigin(new URL(from).origin, target) ? target.href : undefined;
}

function toFault(error: unknown): McpFault {
  if (error instanceof McpFault) return error;
  const code = platformCode(error);
  if (isNeverConnected(code)) return new McpFault({ kind: "unreachable", code, sent: "no" }, error);
  return new McpFault({ kind: "lost", stage: "headers", code, sent: "perhaps" }, error);
}

function bodyHeaders({ body, lastEventId }: HttpRequest): Record<string, string> {
  return {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
}
