// Owns the messages that answer one request: notifications and questions, then exactly one response with the id of the
// request. Passes over responses to other requests; refuses a second one to this.

import type { RequestId } from "../protocol/jsonrpc.ts";
import { closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { McpFault, type BrokenRule, type HttpFacts } from "./fault.ts";
import { isResponseTo, type Message, type ResponseMessage } from "./message.ts";

export interface McpReply {
  readonly http: HttpFacts;
  readonly headers: Headers;
  readonly messages: MessageStream;
  /** Instead of reading `messages`, where there is nothing but the response. Throws what reading them would. */
  single?(): ResponseMessage;
}

/**
 * To be read once. The response is the last message, and the reading ends after it. Whoever stops before, or never
 * begins, calls `return`, as `for await` does when it is left.
 */
export type MessageStream = AsyncIterableIterator<Message, void, void>;

export function toMcpReply(answer: HttpAnswer, id: RequestId): McpReply {
  const { http, headers } = answer;
  const createMessages = () =>
    withCloseOnReturn(readAnswerMessages(answer, new ResponseMatcher(id)), () => closeAnswer(answer));
  const [response, more] = answer.kind === "messages" ? answer.messages : [];
  if (response?.kind !== "response" || more !== undefined) return { http, headers, messages: createMessages() };
  return new SingleReply(http, headers, { response, id, createMessages });
}

interface SingleReplyParts {
  readonly response: ResponseMessage;
  readonly id: RequestId;
  readonly createMessages: () => MessageStream;
}

/** Most answers: no generator is made for one message, unless somebody wants it so. */
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

/** Checks that one request gets one response, over all connections that its answer takes. */
export class ResponseMatcher {
  /** The response has come. */
  isComplete = false;
  /** A response without an id: a server that refuses before it has read the id gives none. */
  responseWithoutId: ResponseMessage | undefined;
  readonly #id: RequestId;

  constructor(id: RequestId) {
    this.#id = id;
  }

  /** Whether the message belongs to the request. Throws where it is a second response. */
  accepts(message: Message): boolean {
    if (message.kind !== "response") return true;
    if (message.id === undefined || message.id === null) this.responseWithoutId ??= message;
    if (message === this.responseWithoutId || !isResponseTo(message, this.#id)) return false;
    if (this.isComplete) throw violation("answeredTwice", "the request is answered twice");
    this.isComplete = true;
    return true;
  }
}

/** The messages of one connection; throws where it ends before the response. */
export async function* readAnswerMessages(
  answer: HttpAnswer,
  matcher: ResponseMatcher,
): AsyncGenerator<Message, void, void> {
  if (answer.kind === "messages") yield* filterMessages(matcher, answer.messages);
  if (answer.kind === "stream") yield* readStream(answer, matcher);
  if (matcher.isComplete) return;
  // On its own connection it can only mean this request, where no other response has come.
  if (matcher.responseWithoutId) return yield matcher.responseWithoutId;
  if (answer.kind === "messages" && answer.messages.some(({ kind }) => kind === "response")) throw wrongIdFault();
  throw new McpFault({ kind: "unanswered", http: answer.http, sent: "yes" });
}

/** All are looked at before the first is handed over: if there are two responses, neither can be trusted. */
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
    // The response has come: a connection that breaks now has lost nothing.
    if (!matcher.isComplete || (error instanceof McpFault && error.fault.kind === "violation")) throw error;
  } finally {
    events.close();
  }
}

/** Of what a server says or asks while it works. Nothing more is read before it has settled. */
export type HandleMessage = (message: Exclude<Message, ResponseMessage>) => void | Promise<void>;

/** Hands everything else to `take`. Returns the response when the reading has ended: up to `lingerMs` after it came. */
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
  // Messages end without a response only where somebody else has closed them.
  throw new McpFault({ kind: "cancelled", sent: "yes" });
}

function wrongIdFault(): McpFault {
  return violation("wrongId", "the response has another id than the request");
}

export function violation(rule: BrokenRule, detail: string): McpFault {
  return new McpFault({ kind: "violation", rule, detail, sent: "yes" });
}

/** Calls `close` on `return`, even before the start: a generator that was not started does not run its `finally`. */
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
