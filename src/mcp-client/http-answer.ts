// Classifies the answer to one HTTP request: messages, a stream, "accepted", or a fault. A JSON-RPC message is an
// answer whatever its HTTP status. Redirects are not followed here.

import { errorCode } from "../protocol/errors.ts";
import { createStreamBudget, type StreamBudget } from "./stream-budget.ts";
import { BodyReader, checkContainers, tooLargeFault, readShort, createByteCounter } from "./body-reader.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import type { Clock } from "./clock.ts";
import { IncomingEvents } from "./incoming-events.ts";
import { McpFault, type Fault, type HttpFacts } from "./fault.ts";
import type { ExchangeLifecycle } from "./exchange-lifecycle.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import { parseServerMessages, rpcErrorOf, type Message, type ResponseMessage } from "./message.ts";
import { parseErrorReason } from "./error-reason.ts";

interface AnswerHead {
  readonly http: HttpFacts;
  readonly headers: Headers;
}

export interface AcceptedAnswer extends AnswerHead {
  readonly kind: "accepted";
}

export interface MessagesAnswer extends AnswerHead {
  readonly kind: "messages";
  readonly messages: readonly Message[];
}

/** The owner must read the stream to its end or close it. */
export interface OpenStream extends AnswerHead {
  readonly kind: "stream";
  readonly events: IncomingEvents;
  readonly lingerMs: number;
}

export type HttpAnswer = AcceptedAnswer | MessagesAnswer | OpenStream;

export interface AnswerContext {
  readonly url: string;
  /** In a session, 404 means that the server no longer knows it. */
  readonly isInSession: boolean;
  /** The request was a notification or an answer: any success is fine, and its body means nothing. */
  readonly isOneWay: boolean;
  readonly lastEventId: string | undefined;
  readonly clock: Clock;
  readonly lifecycle: ExchangeLifecycle;
  readonly limits: AnswerLimits;
  /** See `RemoteEndpoint`, also for `onSkipped`. */
  readonly reserveBytes: ((bytes: number) => void) | undefined;
  readonly onSkipped: ((why: string) => void) | undefined;
  /** The rest of the budget after earlier connections of the same stream. */
  readonly streamBudget: Partial<StreamBudget> | undefined;
}

/**
 * Throws a fault if the response is not an answer. Every body is read to its end, cancelled, or returned with the
 * answer.
 */
export async function readAnswer(response: Response, context: AnswerContext): Promise<HttpAnswer> {
  return new AnswerReader(response, context).read();
}

export function closeAnswer(answer: HttpAnswer): void {
  if (answer.kind === "stream") answer.events.close();
}

/** The JSON-RPC error in an answer as a fault, if there is one. */
export function rpcErrorFault(answer: HttpAnswer): McpFault | undefined {
  const [error] = answer.kind === "messages" ? answer.messages : [];
  if (error?.kind !== "response" || error.error === undefined) return undefined;
  return new McpFault({ kind: "refused", http: answer.http, error, sent: "yes" });
}

/** Throws if a notification or an answer was not accepted. On success the body means nothing. */
export function assertAccepted(answer: HttpAnswer): void {
  if (answer.http.status >= 400) throw rpcErrorFault(answer);
}

const METHOD_NOT_FOUND = errorCode("methodNotFound", "2025");
/** Maximum of an HTTP error's body, which holds a JSON-RPC error or a reason. */
const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_TIMEOUT_MS = 1500;
/** A body announced as at most this long is read at once. */
const SHORT_BYTES = 64 * 1024;

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/** Each read of a native property leaves JavaScript and is slow, so only what is needed is read. */
class AnswerReader {
  readonly #response: Response;
  readonly #headers: Headers;
  readonly #context: AnswerContext;
  readonly #http: HttpFacts;
  readonly #ok: boolean;

  constructor(response: Response, context: AnswerContext) {
    const { status, headers } = response;
    this.#response = response;
    this.#headers = headers;
    this.#context = context;
    this.#http = factsOf(status, headers);
    this.#ok = isSuccess(status);
  }

  async read(): Promise<HttpAnswer> {
    const { contentType, status } = this.#http;
    const ok = this.#ok;
    if (REDIRECT_STATUSES.has(status)) throw this.#discardWithFault(this.#redirectFault());
    const events = ok && contentType === "text/event-stream" && this.#response.body;
    if (events) return this.#openStream(events);
    if (status === 202 || status === 204) return this.#acceptAnswer();
    if (!ok) return this.#readError();
    if (isJson(contentType)) return this.#parseBody(await this.#readText());
    return this.#context.isOneWay ? this.#acceptAnswer() : this.#acceptEmpty();
  }

  #openStream(body: ReadableStream<Uint8Array>): OpenStream {
    const { lifecycle, limits, clock, lastEventId, streamBudget, reserveBytes, onSkipped } = this.#context;
    const { bytes, lines } = createStreamBudget(limits, clock, streamBudget);
    const reader = new BodyReader(body, lifecycle, bytes);
    const { messageBytes: maxBytes } = limits;
    const events = new IncomingEvents(reader, { maxBytes, lines, clock, lastEventId, reserveBytes, onSkipped });
    return { ...this.#head(), kind: "stream", events, lingerMs: limits.lingerMs };
  }

  #acceptAnswer(): AcceptedAnswer {
    this.#discard();
    return { ...this.#head(), kind: "accepted" };
  }

  async #acceptEmpty(): Promise<HttpAnswer> {
    if (await this.#isEmpty()) return this.#acceptAnswer();
    throw new McpFault({ kind: "notMcp", http: this.#http, sent: "yes" });
  }

  #parseBody(text: string): HttpAnswer {
    if (text.trim() === "") return this.#acceptAnswer();
    checkContainers(text);
    const messages = parseServerMessages(text);
    if (!("kind" in messages))
      return { http: this.#factsFor(messages), headers: this.#headers, kind: "messages", messages };
    if (this.#context.isOneWay) return this.#acceptAnswer();
    const encoding = this.#headers.get("content-encoding");
    const why = encoding === null ? messages.why : `${messages.why} (content-encoding: ${encoding.slice(0, 64)})`;
    throw new McpFault({ kind: "violation", rule: messages.rule, detail: why, sent: "yes" });
  }

  /** Some servers send errors with a success status. */
  #factsFor([first]: readonly Message[]): HttpFacts {
    const isRefusal = first?.kind === "response" && first.error !== undefined;
    return isRefusal ? { ...this.#http, ...errorFacts(this.#headers) } : this.#http;
  }

  /** An HTTP error answers its own request, whatever id its body has: some servers make up an id. */
  async #readError(): Promise<MessagesAnswer> {
    const http = this.#http;
    const text = await this.#readErrorText();
    const messages = parseServerMessages(text);
    const [first] = "kind" in messages ? [] : messages;
    const error = first?.kind === "response" && first.error !== undefined ? first : undefined;
    const reason = parseErrorReason(text);
    if (this.#isSessionGone(error)) throw new McpFault({ kind: "sessionGone", http, error, reason, sent: "yes" });
    if (!error) throw new McpFault({ kind: "status", http, reason, sent: "yes" });
    return { ...this.#head(), kind: "messages", messages: [{ ...error, id: undefined }] };
  }

  /**
   * Servers also answer 404 if they do not know the method.
   * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
   */
  #isSessionGone(error: ResponseMessage | undefined): boolean {
    if (this.#http.status !== 404 || !this.#context.isInSession) return false;
    return error === undefined || rpcErrorOf(error)?.code !== METHOD_NOT_FOUND;
  }

  #redirectFault(): Fault {
    const to = this.#headers.get("location") ?? "";
    const { url } = this.#context;
    const location = to !== "" && URL.canParse(to, url) ? new URL(to, url).href : undefined;
    return { kind: "redirect", http: this.#http, location, sent: "yes" };
  }

  /** The status is what matters. A body that is too long, breaks off or does not end soon counts as empty. */
  async #readErrorText(): Promise<string> {
    const { lifecycle, clock } = this.#context;
    const { body } = this.#response;
    if (!body) {
      lifecycle.end();
      return "";
    }
    const limit = { of: "message", bytes: MAX_ERROR_BYTES } as const;
    const reader = new BodyReader(body, lifecycle, createByteCounter(limit));
    let isTimedOut = false;
    const stopTimer = clock.schedule(ERROR_TIMEOUT_MS, () => {
      isTimedOut = true;
      reader.close();
    });
    try {
      const text = await readAllText(reader).finally(stopTimer);
      return isTimedOut ? "" : text;
    } catch (error) {
      const isOfTheBody = error instanceof McpFault && (error.fault.kind === "tooLarge" || error.fault.kind === "lost");
      if (isOfTheBody) return "";
      throw error;
    }
  }

  #readText(): Promise<string> {
    const { lifecycle, limits, reserveBytes } = this.#context;
    const limit = { of: "message", bytes: Math.min(limits.responseBytes, limits.messageBytes) } as const;
    const announced = Number(this.#headers.get("content-length") ?? 0);
    if (announced > limit.bytes) {
      this.#discard();
      throw tooLargeFault(limit);
    }
    const isShort = announced > 0 && announced <= SHORT_BYTES && !this.#headers.has("content-encoding");
    if (isShort) return readShort(this.#response, lifecycle, limit);
    const { body } = this.#response;
    if (body) return readAllText(new BodyReader(body, lifecycle, createByteCounter(limit, reserveBytes)));
    lifecycle.end();
    return Promise.resolve("");
  }

  async #isEmpty(): Promise<boolean> {
    const { lifecycle, limits } = this.#context;
    if (!this.#response.body) return true;
    const reader = new BodyReader(
      this.#response.body,
      lifecycle,
      createByteCounter({ of: "response", bytes: limits.responseBytes }),
    );
    for (let piece = await reader.read(); piece; piece = await reader.read()) {
      if (piece.byteLength === 0) continue;
      reader.close();
      return false;
    }
    return true;
  }

  #head(): AnswerHead {
    return { http: this.#http, headers: this.#headers };
  }

  #discardWithFault(fault: Fault): McpFault {
    this.#discard();
    return new McpFault(fault);
  }

  #discard(): void {
    discardBody(this.#response);
    this.#context.lifecycle.end();
  }
}

async function readAllText(reader: BodyReader): Promise<string> {
  const bytes = new ByteBuffer();
  for (let piece = await reader.read(); piece; piece = await reader.read()) bytes.add(piece);
  return new TextDecoder().decode(bytes.take());
}

export function discardBody({ body }: Response): void {
  // The body is unread, so a failed cancel does not matter.
  if (body && !body.locked) body.cancel().catch(() => undefined);
}

/** Some servers use their own JSON type, such as application/mcp+json. */
function isJson(contentType: string): boolean {
  return contentType === "application/json" || /^application\/[\w.-]+\+json$/.test(contentType);
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function factsOf(status: number, headers: Headers): HttpFacts {
  const contentType = (headers.get("content-type") ?? "").replace(/;.*$/s, "").trim().toLowerCase();
  return { status, contentType, ...(!isSuccess(status) && errorFacts(headers)) };
}

/** Headers that only matter on errors. */
function errorFacts(headers: Headers): Omit<HttpFacts, "status" | "contentType"> {
  const wwwAuthenticate = headers.get("www-authenticate");
  const retryAfter = headers.get("retry-after");
  const sessionId = headers.get("mcp-session-id");
  return {
    ...(wwwAuthenticate !== null && { wwwAuthenticate }),
    ...(retryAfter !== null && { retryAfter }),
    ...(sessionId !== null && { sessionId }),
  };
}
