// Owns one request until its result is there, in either era: notifications are handed over, what the server asks back
// is answered, and a request that is given up is cancelled at the server. Refuses to try again where anything went
// wrong.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

import type { ParamHeader } from "../protocol/headers.ts";
import { isObject, notification, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { tellUntilTaken, type Channel2025 } from "./channel-2025.ts";
import type { Clock } from "./clock.ts";
import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { McpFault } from "./fault.ts";
import { membersNamed } from "./json-text.ts";
import { resultOf, type NotificationMessage, type ResponseMessage } from "./message.ts";
import { request2026, type ClientAbout, type Outgoing } from "./outgoing.ts";
import { MAX_QUESTIONS_AT_ONCE, Questions, type AnswerQuestion } from "./questions.ts";
import type { TellServer } from "./server-mail.ts";
import { responseOf, violation, type McpReply, type TakeMessage } from "./mcp-reply.ts";
import { send2026 } from "./stateless-2026.ts";
import { Stop } from "./stop.ts";

export interface Asking extends RequestOptions {
  /** What is said about this request while it is worked on, such as progress. */
  readonly notified?: (message: NotificationMessage) => void | Promise<void>;
  /** Without it no question is answered: in era 2025 they are refused, in era 2026 they are returned as the result. */
  readonly answer?: AnswerQuestion;
}

/** A response that is no error; its `result` is the JSON that the server wrote. */
export type ResultMessage = ResponseMessage & { readonly result: string };

export interface Client2025 {
  readonly channel: Channel2025;
  readonly clock: Clock;
}

/** Throws `refused` where the server answers with an error. */
export async function ask2025(
  { channel, clock }: Client2025,
  request: Outgoing,
  { notified, answer = async () => undefined, ...options }: Asking = {},
): Promise<ResultMessage> {
  const stop = new Stop(undefined);
  const tell: TellServer = async (text, mayRepeat) =>
    tellUntilTaken(channel, text, { clock, mayRepeat, signal: stop.signal, limits: options.limits });
  const questions = new Questions(answer, tell, clock);
  const take: TakeMessage = (message) => {
    if (message.kind === "request") return questions.take(message);
    return questions.takeBack(message) ? undefined : notified?.(message);
  };
  const stopListening = channel.listen?.(take);
  try {
    const reply = await channel.send(request, options);
    return resultIn(reply, await responseOf(reply, take));
  } catch (error) {
    if (isGivenUp(error)) await cancel2025(channel, request);
    throw error;
  } finally {
    stopListening?.();
    questions.close();
    stop.end();
  }
}

const CANCELLED_WITHIN_MS = 2000;

/** A server of era 2025 goes on when the connection is closed, unless it is told. Best effort, and not for long. */
export async function cancel2025(channel: Channel2025, { id, method }: Pick<Outgoing, "id" | "method">): Promise<void> {
  if (method === "initialize") return;
  const limits = { headersMs: CANCELLED_WITHIN_MS, totalMs: CANCELLED_WITHIN_MS };
  // A courtesy: nobody waits for the answer.
  await channel.tell(notification("notifications/cancelled", { requestId: id }), { limits }).catch(() => undefined);
}

/** Whether we gave up, while the server may still be at work. */
function isGivenUp(error: unknown): boolean {
  if (!(error instanceof McpFault)) return true;
  const { kind, sent } = error.fault;
  return sent !== "no" && (kind === "cancelled" || kind === "timeout" || kind === "tooLarge");
}

export interface Client2026 {
  readonly endpoint: RemoteEndpoint;
  readonly about: ClientAbout;
  /** Makes an id that no other request of this client has. */
  readonly nextId: () => RequestId;
}

export interface Asked2026 {
  readonly method: string;
  readonly params: JsonObject;
  /** See `Asked`. */
  readonly exact?: string | undefined;
  /** What `collectParamHeaders` found in the schema of the tool that is called. */
  readonly mirrored?: readonly ParamHeader[];
  /** false: no progress is wanted, whoever hears the other notifications. */
  readonly progress?: boolean;
}

const MAX_ROUNDS = 10;

/** Throws `refused` where the server answers with an error. Questions are answered one after the other. */
export async function ask2026(
  { endpoint, about, nextId }: Client2026,
  { method, params, exact, mirrored, progress = true }: Asked2026,
  { notified, answer, ...options }: Asking = {},
): Promise<ResultMessage> {
  let round: JsonObject = {};
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
    const id = nextId();
    const isTold = progress && notified !== undefined;
    const request = request2026({ id, method, params: { ...params, ...round }, exact, isTold }, about, mirrored);
    const reply = await send2026(endpoint, request, options);
    const response = await responseOf(reply, (message) =>
      message.kind === "notification" ? notified?.(message) : undefined,
    );
    const result = resultIn(reply, response);
    if (answer === undefined || !wantsInput(result)) return result;
    round = await nextRound(result, answer, options.signal);
  }
  throw violation("tooManyRounds", `the server asked back more than ${MAX_ROUNDS} times`);
}

const MEMBERS_THAT_ASK: ReadonlySet<string> = new Set(["resultType", "inputRequests", "requestState"]);

/** Whoever reads the result after us must find the same in it, so none of what is read here may stand there twice. */
function wantsInput({ result }: ResultMessage): boolean {
  const members = membersNamed(MEMBERS_THAT_ASK, result);
  if (members === undefined) throw violation("notJsonRpc", "a member of the result stands there twice");
  const type = members.get("resultType");
  return type !== undefined && JSON.parse(type) === "input_required";
}

async function nextRound(
  message: ResultMessage,
  answer: AnswerQuestion,
  caller: AbortSignal | undefined,
): Promise<JsonObject> {
  const { inputRequests, requestState } = resultOf(message) ?? {};
  const stop = new Stop(caller);
  try {
    // A name is the server's choice: as a member of a plain object, `__proto__` would be lost.
    const given = new Map<string, JsonObject>();
    const questions = Object.entries(isObject(inputRequests) ? inputRequests : {});
    if (questions.length > MAX_QUESTIONS_AT_ONCE) {
      throw violation("tooManyQuestions", `the server asks ${questions.length} things at once`);
    }
    for (const [name, asked] of questions) {
      if (!isObject(asked) || typeof asked.method !== "string") continue;
      const params = isObject(asked.params) ? asked.params : {};
      const result = await answer({ method: asked.method, params, signal: stop.signal });
      if (stop.signal.aborted) throw stop.fault();
      if (isObject(result)) given.set(name, result);
    }
    return { inputResponses: Object.fromEntries(given), ...(requestState === undefined ? {} : { requestState }) };
  } finally {
    stop.end();
  }
}

function resultIn({ http }: McpReply, response: ResponseMessage): ResultMessage {
  const { result } = response;
  if (result === undefined) throw new McpFault({ kind: "refused", http, error: response, sent: "yes" });
  return { ...response, result };
}
