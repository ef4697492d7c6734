// Owns one connection over HTTP+SSE, the transport of 2024-11-05: a GET stream on which everything arrives, and the URL
// that it names, to which everything is posted. When the stream ends, open requests fail. Refuses to post to another
// origin than that of the stream.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import type { RequestId } from "../protocol/jsonrpc.ts";
import type { Channel2025 } from "./channel-2025.ts";
import { limitsOf, type RemoteEndpoint, type RequestOptions } from "./remote-endpoint.ts";
import { exchange, openStream } from "./exchange.ts";
import { McpFault, httpStatusOf } from "./fault.ts";
import { checkTaken, closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { Lifetime } from "./lifetime.ts";
import { CALL_LIMITS, STANDING_LIMITS } from "./answer-limits.ts";
import { answersRequest, type Message, type ResponseMessage } from "./message.ts";
import type { Outgoing } from "./outgoing.ts";
import type { ServerSentEvent } from "./server-sent-events.ts";
import { Answers, answersIn, owned, violation, type McpReply, type TakeMessage } from "./mcp-reply.ts";
import { Questions } from "./questions.ts";
import { isPlainlyOf } from "./same-origin.ts";

export interface HttpSseOptions extends RequestOptions {
  /** For servers that know where an earlier connection stopped. */
  readonly lastEventId?: string | undefined;
}

export interface HttpSseConnection extends Channel2025 {
  /** Settles when the stream has ended, with the reason; with undefined where `close` was called. Never rejects. */
  readonly ended: Promise<McpFault | undefined>;
  /** Where another connection could continue, if the server supports that. */
  readonly lastEventId: string | undefined;
  close(): void;
}

/** A server says where messages go as soon as the stream is open. */
const ENDPOINT_MS = 10_000;

/** Settles when the server has said where messages go. */
export async function openHttpSse(endpoint: RemoteEndpoint, options: HttpSseOptions = {}): Promise<HttpSseConnection> {
  const { lastEventId, signal } = options;
  const limits = { ...STANDING_LIMITS, ...options.limits };
  const stream = await openStream(endpoint, { headers: {}, lastEventId }, { signal, limits });
  try {
    const url = await postUrl(endpoint, stream, Math.min(limits.headersMs, ENDPOINT_MS));
    return new Connection({ ...endpoint, url }, stream);
  } catch (error) {
    stream.events.close();
    throw error;
  }
}

async function postUrl({ url, clock }: RemoteEndpoint, { events }: OpenStream, withinMs: number): Promise<string> {
  let isLate = false;
  const stopTimer = clock.after(withinMs, () => {
    isLate = true;
    events.close();
  });
  const named = await endpointEvent(events).finally(stopTimer);
  if (isLate) throw new McpFault({ kind: "timeout", stage: "headers", afterMs: withinMs, sent: "yes" });
  if (!named || !URL.canParse(named.data, url)) {
    throw violation("noEndpoint", "the stream does not name the URL to post to");
  }
  const to = new URL(named.data, url);
  if (!isPlainlyOf(new URL(url).origin, to)) {
    throw violation("foreignEndpoint", `messages are to go to ${to.protocol}//${to.host}, or in a way of their own`);
  }
  return to.href;
}

/** What comes before it cannot be for anybody yet. */
async function endpointEvent(events: OpenStream["events"]): Promise<ServerSentEvent | undefined> {
  let event = await events.next();
  while (event && event.name !== "endpoint") event = await events.next();
  return event;
}

interface Waiting {
  readonly answered: (response: ResponseMessage) => void;
  readonly failed: (why: McpFault) => void;
}

class Connection implements HttpSseConnection {
  readonly ended: Promise<McpFault | undefined>;
  /** The endpoint with the URL to post to in place of that of the stream. */
  readonly #endpoint: RemoteEndpoint;
  readonly #stream: OpenStream;
  /** The last one gets what the server says or asks of its own accord. */
  readonly #listeners: TakeMessage[] = [];
  /** For what comes while nobody listens: a ping is answered, a question refused. */
  readonly #unheard: Questions;
  readonly #waiting = new Map<RequestId, Waiting>();
  /** Of all posts that are not answered yet: no answer to them could be read once the stream has ended. */
  readonly #posting = new Set<Lifetime>();
  /** Why the connection has ended; undefined while it is open. */
  #over: McpFault | undefined;
  #isClosed = false;

  constructor(endpoint: RemoteEndpoint, stream: OpenStream) {
    this.#endpoint = endpoint;
    this.#stream = stream;
    this.#unheard = new Questions(
      async () => undefined,
      async (text) => this.tell(text),
      endpoint.clock,
    );
    this.ended = this.#read();
  }

  listen(take: TakeMessage): () => void {
    this.#listeners.push(take);
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(take), 1);
    };
  }

  get lastEventId(): string | undefined {
    return this.#stream.events.position.lastEventId;
  }

  close(): void {
    if (this.#over) return;
    this.#isClosed = true;
    this.#finish(new McpFault({ kind: "cancelled", sent: "yes" }));
  }

  async send({ id, text }: Pick<Outgoing, "id" | "text">, options: RequestOptions = {}): Promise<McpReply> {
    if (this.#over) throw new McpFault({ ...this.#over.fault, sent: "no" }, this.#over);
    if (this.#waiting.has(id)) throw new Error(`two requests with the id ${id} wait at once`);
    // Expected before it is posted, because the answer may arrive before the post itself is answered.
    const life = new Lifetime(this.#endpoint.clock, limitsUntilAnswered(this.#endpoint, options), options.signal);
    const response = this.#expect(id);
    const waiting = this.#waiting.get(id);
    const forget = () => {
      // Once this one is answered, a later request may have the same id.
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      life.abandon();
    };
    let posted: HttpAnswer;
    try {
      posted = await this.#post(text, life, options);
    } catch (error) {
      forget();
      throw error;
    }
    life.sent = "yes";
    const { http, headers } = posted;
    // Some servers answer in the post itself, as later transports do.
    const answer = posted.kind === "accepted" ? awaited(life, response) : answersIn(posted, new Answers(id));
    const close = () => {
      closeAnswer(posted);
      forget();
    };
    return { http, headers, messages: owned(closing(answer, close), close) };
  }

  async tell(text: string, options: RequestOptions = {}): Promise<void> {
    if (this.#over) throw new McpFault({ ...this.#over.fault, sent: "no" }, this.#over);
    const life = new Lifetime(this.#endpoint.clock, limitsUntilAnswered(this.#endpoint, options), options.signal);
    try {
      const answer = await this.#post(text, life, options);
      closeAnswer(answer);
      checkTaken(answer);
    } finally {
      life.end();
    }
  }

  async #post(text: string, life: Lifetime, options: RequestOptions): Promise<HttpAnswer> {
    this.#posting.add(life);
    try {
      const request = { method: "POST", headers: {}, body: text, wantsNothing: true } as const;
      return await exchange(this.#endpoint, request, { ...options, signal: life.signal });
    } catch (error) {
      if (!(error instanceof McpFault) || httpStatusOf(error.fault) !== 404 || !("http" in error.fault)) throw error;
      throw new McpFault({ kind: "sessionGone", http: error.fault.http, error: undefined, sent: "yes" }, error);
    } finally {
      this.#posting.delete(life);
    }
  }

  #expect(id: RequestId): Promise<ResponseMessage> {
    const response = new Promise<ResponseMessage>((answered, failed) => this.#waiting.set(id, { answered, failed }));
    // Without this, a failure that nobody waits for would be an unhandled rejection.
    response.catch(() => undefined);
    return response;
  }

  async #read(): Promise<McpFault | undefined> {
    const { events } = this.#stream;
    try {
      for (let messages = await events.nextMessages(); messages; messages = await events.nextMessages()) {
        for (const message of messages) await this.#hear(message);
      }
      this.#finish(new McpFault({ kind: "lost", stage: "body", code: undefined, sent: "yes" }));
    } catch (error) {
      this.#finish(error instanceof McpFault ? error : new McpFault({ kind: "cancelled", sent: "yes" }, error));
    }
    return this.#isClosed ? undefined : this.#over;
  }

  async #hear(message: Message): Promise<void> {
    if (message.kind === "response") return this.#settle(message);
    const listener = this.#listeners.at(-1);
    if (listener) await listener(message);
    else if (message.kind === "request") this.#unheard.take(message);
  }

  /** A response that nobody waits for (any more) is dropped. */
  #settle(message: ResponseMessage): void {
    if (message.id === undefined || message.id === null) return;
    const id = [...this.#waiting.keys()].find((one) => answersRequest(message, one));
    if (id === undefined) return;
    this.#waiting.get(id)?.answered(message);
    this.#waiting.delete(id);
  }

  #finish(why: McpFault): void {
    this.#over ??= why;
    for (const { failed } of this.#waiting.values()) failed(this.#over);
    this.#waiting.clear();
    for (const life of this.#posting) life.abandon(this.#over);
    this.#stream.events.close();
    this.#unheard.close();
  }
}

/** All answers share one stream, so for one request only the time in all can be limited. */
function limitsUntilAnswered(endpoint: RemoteEndpoint, options: RequestOptions) {
  return { ...CALL_LIMITS, headersMs: Infinity, silenceMs: Infinity, totalMs: limitsOf(endpoint, options).totalMs };
}

async function* awaited(life: Lifetime, response: Promise<ResponseMessage>): AsyncGenerator<Message, void, void> {
  yield await life.during("silence", async () => response);
}

async function* closing(messages: AsyncIterable<Message>, close: () => void): AsyncGenerator<Message, void, void> {
  try {
    yield* messages;
  } finally {
    close();
  }
}
