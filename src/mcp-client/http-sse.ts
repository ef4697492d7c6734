// A connection over HTTP+SSE, the transport of 2024-11-05. Everything arrives on a GET stream, which names the URL for
// POST requests. When the stream ends, open requests fail. The POST URL must have the origin of the stream.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import type { MessageId } from "../protocol/jsonrpc.ts";
import type { Channel2025 } from "./channel-2025.ts";
import { limitsOf, type RemoteEndpoint, type RequestOptions, isSameOrigin } from "./remote-endpoint.ts";
import { exchange, openStream } from "./exchange.ts";
import { McpFault, httpStatusOf } from "./fault.ts";
import { assertAccepted, closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { ExchangeLifecycle } from "./exchange-lifecycle.ts";
import { CALL_LIMITS, STREAM_LIMITS } from "./answer-limits.ts";
import { isResponseTo, type Message, type ResponseMessage } from "./message.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import type { ServerSentEvent } from "./server-sent-events.ts";
import {
  ResponseMatcher,
  readAnswerMessages,
  withCloseOnReturn,
  violation,
  type McpReply,
  type HandleMessage,
} from "./mcp-reply.ts";
import { QuestionDispatcher } from "./question-dispatcher.ts";

export interface HttpSseOptions extends RequestOptions {
  /** For servers that can resume an earlier connection. */
  readonly lastEventId?: string | undefined;
}

export interface HttpSseConnection extends Channel2025 {
  /** Resolves when the stream has ended, with the reason, or with undefined after `close`. Never rejects. */
  readonly closed: Promise<McpFault | undefined>;
  /** Where another connection could resume, if the server supports that. */
  readonly lastEventId: string | undefined;
  close(): void;
}

/** A server names the POST URL as soon as the stream is open. */
const ENDPOINT_TIMEOUT_MS = 10_000;

/** Resolves when the server has named the POST URL. */
export async function openHttpSse(endpoint: RemoteEndpoint, options: HttpSseOptions = {}): Promise<HttpSseConnection> {
  const { lastEventId, signal } = options;
  const limits = { ...STREAM_LIMITS, ...options.limits };
  const stream = await openStream(endpoint, { headers: {}, lastEventId }, { signal, limits });
  try {
    const url = await readPostUrl(endpoint, stream, Math.min(limits.headersMs, ENDPOINT_TIMEOUT_MS));
    return new Connection({ ...endpoint, url }, stream);
  } catch (error) {
    stream.events.close();
    throw error;
  }
}

async function readPostUrl({ url, clock }: RemoteEndpoint, { events }: OpenStream, timeoutMs: number): Promise<string> {
  let isTimedOut = false;
  const stopTimer = clock.schedule(timeoutMs, () => {
    isTimedOut = true;
    events.close();
  });
  const endpointMessage = await readEndpointEvent(events).finally(stopTimer);
  if (isTimedOut) throw new McpFault({ kind: "timeout", stage: "headers", afterMs: timeoutMs, sent: "yes" });
  if (!endpointMessage || !URL.canParse(endpointMessage.data, url)) {
    throw violation("noEndpoint", "the stream has no endpoint event with a URL");
  }
  const to = new URL(endpointMessage.data, url);
  if (!isSameOrigin(new URL(url).origin, to)) {
    const rule = "the endpoint event must have a URL of the stream's origin without a user name";
    throw violation("foreignEndpoint", rule, to.href);
  }
  return to.href;
}

/** Earlier events cannot be for any request yet. */
async function readEndpointEvent(events: OpenStream["events"]): Promise<ServerSentEvent | undefined> {
  let event = await events.next();
  while (event && event.name !== "endpoint") event = await events.next();
  return event;
}

interface PendingRequest {
  readonly resolve: (response: ResponseMessage) => void;
  readonly reject: (why: McpFault) => void;
}

class Connection implements HttpSseConnection {
  readonly closed: Promise<McpFault | undefined>;
  /** The endpoint with the POST URL in place of the stream's URL. */
  readonly #endpoint: RemoteEndpoint;
  readonly #stream: OpenStream;
  /** The last listener gets unprompted messages and questions. */
  readonly #listeners: HandleMessage[] = [];
  /** Handles requests while there is no listener: answers pings and refuses questions. */
  readonly #fallbackQuestions: QuestionDispatcher;
  readonly #pending = new Map<MessageId, PendingRequest>();
  /** Unanswered posts. Their answers could not be read once the stream has ended. */
  readonly #openPosts = new Set<ExchangeLifecycle>();
  /** Why the connection ended, or undefined while it is open. */
  #closeFault: McpFault | undefined;
  #isClosed = false;

  constructor(endpoint: RemoteEndpoint, stream: OpenStream) {
    this.#endpoint = endpoint;
    this.#stream = stream;
    this.#fallbackQuestions = new QuestionDispatcher(
      async () => undefined,
      async (text) => this.sendOneWay(text),
      endpoint.clock,
    );
    this.closed = this.#readMessages();
  }

  listen(handle: HandleMessage): () => void {
    this.#listeners.push(handle);
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(handle), 1);
    };
  }

  get lastEventId(): string | undefined {
    return this.#stream.events.position.lastEventId;
  }

  close(): void {
    if (this.#closeFault) return;
    this.#isClosed = true;
    this.#finish(new McpFault({ kind: "cancelled", sent: "yes" }));
  }

  async send({ id, text }: Pick<PreparedRequest, "id" | "text">, options: RequestOptions = {}): Promise<McpReply> {
    if (this.#closeFault) throw new McpFault({ ...this.#closeFault.fault, sent: "no" }, this.#closeFault);
    if (this.#pending.has(id)) throw new Error(`two pending requests have the id ${id}`);
    // Registered before the post, because the answer may arrive before the post itself is answered.
    const lifecycle = new ExchangeLifecycle(
      this.#endpoint.clock,
      limitsUntilAnswered(this.#endpoint, options),
      options.signal,
    );
    const response = this.#awaitResponse(id);
    const pendingRequest = this.#pending.get(id);
    const cleanUp = () => {
      // After this request is answered, a later one may have the same id.
      if (this.#pending.get(id) === pendingRequest) this.#pending.delete(id);
      lifecycle.cancel();
    };
    let posted: HttpAnswer;
    try {
      posted = await this.#post(text, lifecycle, options);
    } catch (error) {
      cleanUp();
      throw error;
    }
    lifecycle.sent = "yes";
    const { http, headers } = posted;
    // Some servers answer in the post itself, as later transports do.
    const answer =
      posted.kind === "accepted"
        ? yieldResponse(lifecycle, response)
        : readAnswerMessages(posted, new ResponseMatcher(id));
    const close = () => {
      closeAnswer(posted);
      cleanUp();
    };
    return { http, headers, messages: withCloseOnReturn(withClose(answer, close), close) };
  }

  async sendOneWay(text: string, options: RequestOptions = {}): Promise<void> {
    if (this.#closeFault) throw new McpFault({ ...this.#closeFault.fault, sent: "no" }, this.#closeFault);
    const lifecycle = new ExchangeLifecycle(
      this.#endpoint.clock,
      limitsUntilAnswered(this.#endpoint, options),
      options.signal,
    );
    try {
      const answer = await this.#post(text, lifecycle, options);
      closeAnswer(answer);
      assertAccepted(answer);
    } finally {
      lifecycle.end();
    }
  }

  async #post(text: string, lifecycle: ExchangeLifecycle, options: RequestOptions): Promise<HttpAnswer> {
    this.#openPosts.add(lifecycle);
    try {
      const request = { method: "POST", headers: {}, body: text, isOneWay: true } as const;
      return await exchange(this.#endpoint, request, { ...options, signal: lifecycle.signal });
    } catch (error) {
      if (!(error instanceof McpFault) || httpStatusOf(error.fault) !== 404 || !("http" in error.fault)) throw error;
      throw new McpFault({ kind: "sessionGone", http: error.fault.http, error: undefined, sent: "yes" }, error);
    } finally {
      this.#openPosts.delete(lifecycle);
    }
  }

  #awaitResponse(id: MessageId): Promise<ResponseMessage> {
    const response = new Promise<ResponseMessage>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    // Without this, a failure before anything awaits the response would be an unhandled rejection.
    response.catch(() => undefined);
    return response;
  }

  async #readMessages(): Promise<McpFault | undefined> {
    const { events } = this.#stream;
    try {
      for (let messages = await events.nextMessages(); messages; messages = await events.nextMessages()) {
        for (const message of messages) await this.#dispatch(message);
      }
      this.#finish(new McpFault({ kind: "lost", stage: "body", code: undefined, sent: "yes" }));
    } catch (error) {
      this.#finish(error instanceof McpFault ? error : new McpFault({ kind: "cancelled", sent: "yes" }, error));
    }
    return this.#isClosed ? undefined : this.#closeFault;
  }

  async #dispatch(message: Message): Promise<void> {
    if (message.kind === "response") return this.#resolveResponse(message);
    const listener = this.#listeners.at(-1);
    if (listener) await listener(message);
    else if (message.kind === "request") this.#fallbackQuestions.dispatch(message);
  }

  #resolveResponse(message: ResponseMessage): void {
    if (message.id === undefined || message.id === null) return;
    const id = [...this.#pending.keys()].find((one) => isResponseTo(message, one));
    if (id === undefined) return;
    this.#pending.get(id)?.resolve(message);
    this.#pending.delete(id);
  }

  #finish(why: McpFault): void {
    this.#closeFault ??= why;
    for (const { reject } of this.#pending.values()) reject(this.#closeFault);
    this.#pending.clear();
    for (const lifecycle of this.#openPosts) lifecycle.cancel(this.#closeFault);
    this.#stream.events.close();
    this.#fallbackQuestions.close();
  }
}

/** All answers share one stream, so only the total time of one request can be limited. */
function limitsUntilAnswered(endpoint: RemoteEndpoint, options: RequestOptions) {
  return { ...CALL_LIMITS, headersMs: Infinity, silenceMs: Infinity, totalMs: limitsOf(endpoint, options).totalMs };
}

async function* yieldResponse(
  lifecycle: ExchangeLifecycle,
  response: Promise<ResponseMessage>,
): AsyncGenerator<Message, void, void> {
  yield await lifecycle.race("silence", async () => response);
}

async function* withClose(messages: AsyncIterable<Message>, close: () => void): AsyncGenerator<Message, void, void> {
  try {
    yield* messages;
  } finally {
    close();
  }
}
