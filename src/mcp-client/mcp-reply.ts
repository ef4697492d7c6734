// Owns the messages that answer one request: notifications and questions, then exactly one response with the id of the
// request. Passes over responses to other requests; refuses a second one to this.

import type { RequestId } from "../protocol/jsonrpc.ts";
import { closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { McpFault, type BrokenRule, type HttpFacts } from "./fault.ts";
import { answersRequest, type Message, type ResponseMessage } from "./message.ts";

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

export function replyOf(answer: HttpAnswer, id: RequestId): McpReply {
  const { http, headers } = answer;
  const inOrderOf = () => owned(answersIn(answer, new Answers(id)), () => closeAnswer(answer));
  const [only, more] = answer.kind === "messages" ? answer.messages : [];
  if (only?.kind !== "response" || more !== undefined) return { http, headers, messages: inOrderOf() };
  return new SingleReply(http, headers, { only, id, inOrderOf });
}

interface Single {
  readonly only: ResponseMessage;
  readonly id: RequestId;
  readonly inOrderOf: () => MessageStream;
}

/** Most answers: no generator is made for one message, unless somebody wants it so. */
class SingleReply implements McpReply {
  readonly http: HttpFacts;
  readonly headers: Headers;
  readonly #of: Single;
  #messages: MessageStream | undefined;

  constructor(http: HttpFacts, headers: Headers, of: Single) {
    this.http = http;
    this.headers = headers;
    this.#of = of;
  }

  get messages(): MessageStream {
    return (this.#messages ??= this.#of.inOrderOf());
  }

  single(): ResponseMessage {
    const { only, id } = this.#of;
    if (!answersRequest(only, id)) throw wrongId();
    return only;
  }
}

/** Checks that one request gets one response, over all connections that its answer takes. */
export class Answers {
  /** The response has come. */
  isComplete = false;
  /** A response without an id: a server that refuses before it has read the id gives none. */
  nameless: ResponseMessage | undefined;
  readonly #id: RequestId;

  constructor(id: RequestId) {
    this.#id = id;
  }

  /** Whether the message belongs to the request. Throws where it is a second response. */
  take(message: Message): boolean {
    if (message.kind !== "response") return true;
    if (message.id === undefined || message.id === null) this.nameless ??= message;
    if (message === this.nameless || !answersRequest(message, this.#id)) return false;
    if (this.isComplete) throw violation("answeredTwice", "the request is answered twice");
    this.isComplete = true;
    return true;
  }
}

/** The messages of one connection; throws where it ends before the response. */
export async function* answersIn(answer: HttpAnswer, answers: Answers): AsyncGenerator<Message, void, void> {
  if (answer.kind === "messages") yield* belongingTo(answers, answer.messages);
  if (answer.kind === "stream") yield* streamed(answer, answers);
  if (answers.isComplete) return;
  // On its own connection it can only mean this request, where no other response has come.
  if (answers.nameless) return yield answers.nameless;
  if (answer.kind === "messages" && answer.messages.some(({ kind }) => kind === "response")) throw wrongId();
  throw new McpFault({ kind: "unanswered", http: answer.http, sent: "yes" });
}

/** All are looked at before the first is handed over: if there are two responses, neither can be trusted. */
function belongingTo(answers: Answers, messages: readonly Message[]): readonly Message[] {
  return messages.filter((message) => answers.take(message));
}

async function* streamed({ events, lingerMs }: OpenStream, answers: Answers): AsyncGenerator<Message, void, void> {
  try {
    for (let messages = await events.nextMessages(); messages; messages = await events.nextMessages()) {
      yield* belongingTo(answers, messages);
      if (answers.isComplete) events.closeAfter(lingerMs);
    }
  } catch (error) {
    // The response has come: a connection that breaks now has lost nothing.
    if (!answers.isComplete || (error instanceof McpFault && error.fault.kind === "violation")) throw error;
  } finally {
    events.close();
  }
}

/** Of what a server says or asks while it works. Nothing more is read before it has settled. */
export type TakeMessage = (message: Exclude<Message, ResponseMessage>) => void | Promise<void>;

/** Hands everything else to `take`. Returns the response when the reading has ended: up to `lingerMs` after it came. */
export function responseOf(reply: McpReply, take: TakeMessage = () => {}): ResponseMessage | Promise<ResponseMessage> {
  return reply.single ? reply.single() : lastOf(reply.messages, take);
}

async function lastOf(messages: MessageStream, take: TakeMessage): Promise<ResponseMessage> {
  let response: ResponseMessage | undefined;
  for await (const message of messages) {
    if (message.kind === "response") response = message;
    else await take(message);
  }
  if (response) return response;
  // Messages end without a response only where somebody else has closed them.
  throw new McpFault({ kind: "cancelled", sent: "yes" });
}

function wrongId(): McpFault {
  return violation("wrongId", "the response has another id than the request");
}

export function violation(rule: BrokenRule, detail: string): McpFault {
  return new McpFault({ kind: "violation", rule, detail, sent: "yes" });
}

/** Calls `close` on `return`, even before the start: a generator that was not started does not run its `finally`. */
export function owned<T>(
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
