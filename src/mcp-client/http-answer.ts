// Owns what the answer to one HTTP request is: messages, a stream of them, a mere "accepted", or a fault. A JSON-RPC
// message is an answer whatever its HTTP status says. Refuses to follow redirects and to interpret a message.

import { errorCode } from "../protocol/errors.ts";
import { allowanceFor, type Allowance } from "./allowance.ts";
import { BodyReader, checkContainers, oversized, readShort, upTo } from "./body-reader.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import type { Clock } from "./clock.ts";
import { IncomingEvents } from "./incoming-events.ts";
import { McpFault, type Fault, type HttpFacts } from "./fault.ts";
import type { Lifetime } from "./lifetime.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import { readMessages, rpcErrorOf, type Message, type ResponseMessage } from "./message.ts";
import { reasonIn } from "./refusal-reason.ts";

interface Answered {
  readonly http: HttpFacts;
  readonly headers: Headers;
}

export interface AcceptedAnswer extends Answered {
  readonly kind: "accepted";
}

/** A JSON body: all its messages are here. */
export interface WholeMessages extends Answered {
  readonly kind: "messages";
  readonly messages: readonly Message[];
}

/** Whoever gets it reads it to its end or closes it. */
export interface OpenStream extends Answered {
  readonly kind: "stream";
  readonly events: IncomingEvents;
  readonly lingerMs: number;
}

export type HttpAnswer = AcceptedAnswer | WholeMessages | OpenStream;

/** What is needed to read an answer: something about the request, and its limits. */
export interface AnswerContext {
  readonly url: string;
  /** In a session, 404 means that the server does not know it any more. */
  readonly isInSession: boolean;
  /** The request was a notification or an answer: any success will do, and its body means nothing. */
  readonly wantsNothing: boolean;
  readonly lastEventId: string | undefined;
  readonly clock: Clock;
  readonly life: Lifetime;
  readonly limits: AnswerLimits;
  /** See `RemoteEndpoint`; so is `skipped`. */
  readonly held: ((bytes: number) => void) | undefined;
  readonly skipped: ((why: string) => void) | undefined;
  /** What earlier connections of the same stream have left of its limits. */
  readonly kept: Partial<Allowance> | undefined;
}

/** Throws a fault where this is no answer. Each body is read to its end, cancelled, or returned with the answer. */
export async function readAnswer(response: Response, context: AnswerContext): Promise<HttpAnswer> {
  return new ArrivingAnswer(response, context).read();
}

export function closeAnswer(answer: HttpAnswer): void {
  if (answer.kind === "stream") answer.events.close();
}

/** The JSON-RPC error that an answer is, as a fault. */
export function refusalIn(answer: HttpAnswer): McpFault | undefined {
  const [error] = answer.kind === "messages" ? answer.messages : [];
  if (error?.kind !== "response" || error.error === undefined) return undefined;
  return new McpFault({ kind: "refused", http: answer.http, error, sent: "yes" });
}

/** Throws where a notification or an answer was not taken. With a success, the body means nothing. */
export function checkTaken(answer: HttpAnswer): void {
  if (answer.http.status >= 400) throw refusalIn(answer);
}

const METHOD_NOT_FOUND = errorCode("methodNotFound", "2025");
/** Of an HTTP error: its JSON-RPC error, or the reason in it. */
const REFUSAL_BYTES = 64 * 1024;
const REFUSAL_MS = 1500;
/** What is announced to be no longer is read in one go. */
const SHORT_BYTES = 64 * 1024;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Whatever is read of a platform's object is a step out of JavaScript, so nothing is read that is not needed. */
class ArrivingAnswer {
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
    if (REDIRECTS.has(status)) throw this.#discarded(this.#redirect());
    const events = ok && contentType === "text/event-stream" && this.#response.body;
    if (events) return this.#stream(events);
    if (status === 202 || status === 204) return this.#accept();
    if (!ok) return this.#refused();
    if (isJson(contentType)) return this.#said(await this.#text());
    return this.#context.wantsNothing ? this.#accept() : this.#nothing();
  }

  #stream(body: ReadableStream<Uint8Array>): OpenStream {
    const { life, limits, clock, lastEventId, kept, held, skipped } = this.#context;
    const { bytes, lines } = allowanceFor(limits, clock, kept);
    const reader = new BodyReader(body, life, bytes);
    const { messageBytes: maxBytes } = limits;
    const events = new IncomingEvents(reader, { maxBytes, lines, clock, lastEventId, held, skipped });
    return { ...this.#answered(), kind: "stream", events, lingerMs: limits.lingerMs };
  }

  #accept(): AcceptedAnswer {
    this.#discard();
    return { ...this.#answered(), kind: "accepted" };
  }

  async #nothing(): Promise<HttpAnswer> {
    if (await this.#isEmpty()) return this.#accept();
    throw new McpFault({ kind: "notMcp", http: this.#http, sent: "yes" });
  }

  #said(text: string): HttpAnswer {
    if (text.trim() === "") return this.#accept();
    checkContainers(text);
    const messages = readMessages(text);
    if (!("kind" in messages))
      return { http: this.#factsFor(messages), headers: this.#headers, kind: "messages", messages };
    if (this.#context.wantsNothing) return this.#accept();
    const encoding = this.#headers.get("content-encoding");
    const why = encoding === null ? messages.why : `${messages.why} (content-encoding: ${encoding.slice(0, 64)})`;
    throw new McpFault({ kind: "violation", rule: messages.rule, detail: why, sent: "yes" });
  }

  /** Some servers refuse with a status that says that all is well. */
  #factsFor([first]: readonly Message[]): HttpFacts {
    const isRefusal = first?.kind === "response" && first.error !== undefined;
    return isRefusal ? { ...this.#http, ...refusalFacts(this.#headers) } : this.#http;
  }

  /** An HTTP error is the answer to its own request, whatever id its body has: some servers write one of their own. */
  async #refused(): Promise<WholeMessages> {
    const http = this.#http;
    const text = await this.#textOfRefusal();
    const messages = readMessages(text);
    const [first] = "kind" in messages ? [] : messages;
    const error = first?.kind === "response" && first.error !== undefined ? first : undefined;
    const reason = reasonIn(text);
    if (this.#isSessionGone(error)) throw new McpFault({ kind: "sessionGone", http, error, reason, sent: "yes" });
    if (!error) throw new McpFault({ kind: "status", http, reason, sent: "yes" });
    return { ...this.#answered(), kind: "messages", messages: [{ ...error, id: undefined }] };
  }

  /**
   * Servers also answer 404 where they do not know the method.
   * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
   */
  #isSessionGone(error: ResponseMessage | undefined): boolean {
    if (this.#http.status !== 404 || !this.#context.isInSession) return false;
    return error === undefined || rpcErrorOf(error)?.code !== METHOD_NOT_FOUND;
  }

  #redirect(): Fault {
    const to = this.#headers.get("location") ?? "";
    const { url } = this.#context;
    const location = to !== "" && URL.canParse(to, url) ? new URL(to, url).href : undefined;
    return { kind: "redirect", http: this.#http, location, sent: "yes" };
  }

  /** The status says what matters, so a body that is too long, breaks off or does not end soon is treated as empty. */
  async #textOfRefusal(): Promise<string> {
    const { life, clock } = this.#context;
    const { body } = this.#response;
    if (!body) {
      life.end();
      return "";
    }
    const limit = { of: "message", bytes: REFUSAL_BYTES } as const;
    const reader = new BodyReader(body, life, upTo(limit));
    let isLate = false;
    const stopTimer = clock.after(REFUSAL_MS, () => {
      isLate = true;
      reader.close();
    });
    try {
      const text = await wholeOf(reader).finally(stopTimer);
      return isLate ? "" : text;
    } catch (error) {
      const isOfTheBody = error instanceof McpFault && (error.fault.kind === "tooLarge" || error.fault.kind === "lost");
      if (isOfTheBody) return "";
      throw error;
    }
  }

  #text(): Promise<string> {
    const { life, limits, held } = this.#context;
    const limit = { of: "message", bytes: Math.min(limits.responseBytes, limits.messageBytes) } as const;
    const announced = Number(this.#headers.get("content-length") ?? 0);
    if (announced > limit.bytes) {
      this.#discard();
      throw oversized(limit);
    }
    const isShort = announced > 0 && announced <= SHORT_BYTES && !this.#headers.has("content-encoding");
    if (isShort) return readShort(this.#response, life, limit);
    const { body } = this.#response;
    if (body) return wholeOf(new BodyReader(body, life, upTo(limit, held)));
    life.end();
    return Promise.resolve("");
  }

  async #isEmpty(): Promise<boolean> {
    const { life, limits } = this.#context;
    if (!this.#response.body) return true;
    const reader = new BodyReader(this.#response.body, life, upTo({ of: "response", bytes: limits.responseBytes }));
    for (let piece = await reader.read(); piece; piece = await reader.read()) {
      if (piece.byteLength === 0) continue;
      reader.close();
      return false;
    }
    return true;
  }

  #answered(): Answered {
    return { http: this.#http, headers: this.#headers };
  }

  #discarded(fault: Fault): McpFault {
    this.#discard();
    return new McpFault(fault);
  }

  #discard(): void {
    discardBody(this.#response);
    this.#context.life.end();
  }
}

async function wholeOf(reader: BodyReader): Promise<string> {
  const bytes = new ByteBuffer();
  for (let piece = await reader.read(); piece; piece = await reader.read()) bytes.add(piece);
  return new TextDecoder().decode(bytes.take());
}

/** Cancels a body that nobody will read. */
export function discardBody({ body }: Response): void {
  // Nobody reads it.
  if (body && !body.locked) body.cancel().catch(() => undefined);
}

/** Some servers give JSON a name of their own, such as application/mcp+json. */
function isJson(contentType: string): boolean {
  return contentType === "application/json" || /^application\/[\w.-]+\+json$/.test(contentType);
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function factsOf(status: number, headers: Headers): HttpFacts {
  const contentType = (headers.get("content-type") ?? "").replace(/;.*$/s, "").trim().toLowerCase();
  return { status, contentType, ...(!isSuccess(status) && refusalFacts(headers)) };
}

/** What refusals alone say. */
function refusalFacts(headers: Headers): Omit<HttpFacts, "status" | "contentType"> {
  const wwwAuthenticate = headers.get("www-authenticate");
  const retryAfter = headers.get("retry-after");
  const sessionId = headers.get("mcp-session-id");
  return {
    ...(wwwAuthenticate !== null && { wwwAuthenticate }),
    ...(retryAfter !== null && { retryAfter }),
    ...(sessionId !== null && { sessionId }),
  };
}
