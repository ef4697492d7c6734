// The messages that answer one request: notifications and questions, then exactly one response with the request's id.
// Responses to other requests are skipped, and a second response to this one is a fault.

import type { MessageId } from "../protocol/jsonrpc.ts";
import { closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { McpFault, type BrokenRule, type HttpFacts } from "./fault.ts";
import { isResponseTo, type Message, type ResponseMessage } from "./message.ts";

export interface McpReply {
  readonly http: HttpFacts;
  readonly headers: Headers;
  readonly messages: MessageStream;
  /** Use instead of `messages` if the answer is a single response. Throws what reading `messages` would throw. */
  single?(): ResponseMessage;
}

/**
 * Can be read once. The response is the last message. A reader that stops early or never starts must call `return`, as
 * `for await` does on exit.
 */
export type MessageStream = AsyncIterableIterator<Message, void, void>;

export function toMcpReply(answer: HttpAnswer, id: MessageId): McpReply {
  const { http, headers } = answer;
  const createMessages = () =>
    withCloseOnReturn(readAnswerMessages(answer, new ResponseMatcher(id)), () => closeAnswer(answer));
  const [response, more] = answer.kind === "messages" ? answer.messages : [];
  if (response?.kind !== "response" || more !== undefined) return { http, headers, messages: createMessages() };
  return new SingleReply(http, headers, { response, id, createMessages });
}

interface SingleReplyParts {
  readonly response: ResponseMessage;
  readonly id: MessageId;
  readonly createMessages: () => MessageStream;
}

/** The usual case: one response needs no generator, unless `messages` is read. */
class SingleReply implements McpReply {
  readonly http: HttpFacts;
  readonly headers: Headers;
  readonly #parts: SingleReplyParts;
  #messages: MessageStream | undefined;

  constructor(http: HttpFacts, headers: Headers, parts: SingleReplyParts) {
    this.http = http;
    this.headers = headers;
    this.#parts = parts;
  }

  get messages(): MessageStream {
    return (this.#messages ??= this.#parts.createMessages());
  }

  single(): ResponseMessage {
    const { response, id } = this.#parts;
    if (!isResponseTo(response, id)) throw wrongIdFault();
    return response;
  }
}

/** Checks that a request gets one response, over all connections of its answer. */
export class ResponseMatcher {
  isComplete = false;
  /** A response without an id, as from a server that refuses before it has read the id. */
  responseWithoutId: ResponseMessage | undefined;
  readonly #id: MessageId;

  constructor(id: MessageId) {
    this.#id = id;
  }

  /** Whether the message belongs to the request. Throws on a second response. */
  accepts(message: Message): boolean {
    if (message.kind !== "response") return true;
    if (message.id === undefined || message.id === null) this.responseWithoutId ??= message;
    if (message === this.responseWithoutId || !isResponseTo(message, this.#id)) return false;
    if (this.isComplete) throw violation("answeredTwice", "the request has two responses");
    this.isComplete = true;
    return true;
  }
}

/** The messages of one connection. Throws if it ends before the response. */
export async function* readAnswerMessages(
  answer: HttpAnswer,
  matcher: ResponseMatcher,
): AsyncGenerator<Message, void, void> {
  if (answer.kind === "messages") yield* filterMessages(matcher, answer.messages);
  if (answer.kind === "stream") yield* readStream(answer, matcher);
  if (matcher.isComplete) return;
  // On its own connection, a response without an id can only mean this request.
  if (matcher.responseWithoutId) return yield matcher.responseWithoutId;
  if (answer.kind === "messages" && answer.messages.some(({ kind }) => kind === "response")) throw wrongIdFault();
  throw new McpFault({ kind: "unanswered", http: answer.http, sent: "yes" });
}

/** Checks all messages before any is delivered: if there are two responses, neither can be trusted. */
function filterMessages(matcher: ResponseMatcher, messages: readonly Message[]): readonly Message[] {
  return messages.filter((message) => matcher.accepts(message));
}

async function* readStream(
  { events, lingerMs }: OpenStream,
  matcher: ResponseMatcher,
): AsyncGenerator<Message, void, void> {
  try {
    for (let messages = await events.nextMessages(); messages; messages = await events.nextMessages()) {
      yield* filterMessages(matcher, messages);
      if (matcher.isComplete) events.closeAfter(lingerMs);
    }
  } catch (error) {
    // The response has come, so a broken connection has lost nothing.
    if (!matcher.isComplete || (error instanceof McpFault && error.fault.kind === "violation")) throw error;
  } finally {
    events.close();
  }
}

/**
 * Handles a notification or question that arrives before the response. The next message is read when it has settled.
 */
export type HandleMessage = (message: Exclude<Message, ResponseMessage>) => void | Promise<void>;

/**
 * Passes all other messages to `handle`. Returns the response when reading has ended, up to `lingerMs` after the
 * response came.
 */
export function readResponse(
  reply: McpReply,
  handle: HandleMessage = () => {},
): ResponseMessage | Promise<ResponseMessage> {
  return reply.single ? reply.single() : readToResponse(reply.messages, handle);
}

async function readToResponse(messages: MessageStream, handle: HandleMessage): Promise<ResponseMessage> {
  let response: ResponseMessage | undefined;
  for await (const message of messages) {
    if (message.kind === "response") response = message;
    else await handle(message);
  }
  if (response) return response;
  // Messages end without a response only if another reader closed them.
  throw new McpFault({ kind: "cancelled", sent: "yes" });
}

function wrongIdFault(): McpFault {
  return violation("wrongId", "the response has another id than the request");
}

export function violation(rule: BrokenRule, detail: string, location?: string): McpFault {
  return new McpFault({ kind: "violation", rule, detail, ...(location !== undefined && { location }), sent: "yes" });
}

/**
 * Calls `close` on `return`, even before the first `next`: a generator that has not started does not run its `finally`.
 */
export function withCloseOnReturn<T>(
  items: AsyncGenerator<T, void, void>,
  close: () => void,
): AsyncIterableIterator<T, void, void> {
  const iterator: AsyncIterableIterator<T, void, void> = {
    next: async () => items.next(),
    return: async () => {
      close();
      return items.return();
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
