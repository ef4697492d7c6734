// Sends one request and returns its result, in either era. Delivers notifications, answers the server's questions, and
// cancels an abandoned request at the server. Never retries.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

import type { ParamHeader } from "../protocol/headers.ts";
import { isObject, notification, type JsonObject, type MessageId } from "../protocol/jsonrpc.ts";
import { sendOneWayWithRetry, type Channel2025 } from "./channel-2025.ts";
import type { Clock } from "./clock.ts";
import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { McpFault } from "./fault.ts";
import { getMembers } from "./json-text.ts";
import { resultOf, type NotificationMessage, type ResponseMessage } from "./message.ts";
import { buildRequest2026, type ClientIdentity, type PreparedRequest } from "./prepared-request.ts";
import { MAX_QUESTIONS_AT_ONCE, QuestionDispatcher, type HandleQuestion } from "./question-dispatcher.ts";
import type { SendToServer } from "./server-outbox.ts";
import { readResponse, violation, type McpReply, type HandleMessage } from "./mcp-reply.ts";
import { send2026 } from "./stateless-2026.ts";
import { CancelSignal } from "./cancel-signal.ts";

export interface SendOptions extends RequestOptions {
  /** Receives notifications about this request, such as progress. */
  readonly onNotification?: (message: NotificationMessage) => void | Promise<void>;
  /** Without a handler no question is answered: era 2025 refuses them, era 2026 returns them as the result. */
  readonly onQuestion?: HandleQuestion;
}

/** A response without an error. `result` is the JSON that the server wrote. */
export type ResultMessage = ResponseMessage & { readonly result: string };

export interface Client2025 {
  readonly channel: Channel2025;
  readonly clock: Clock;
}

/** Throws `refused` if the server answers with an error. */
export async function requestResult2025(
  { channel, clock }: Client2025,
  request: PreparedRequest,
  { onNotification, onQuestion = async () => undefined, ...options }: SendOptions = {},
): Promise<ResultMessage> {
  const cancelSignal = new CancelSignal(undefined);
  const sendToServer: SendToServer = async (text, mayRetry) =>
    sendOneWayWithRetry(channel, text, { clock, mayRetry, signal: cancelSignal.signal, limits: options.limits });
  const questions = new QuestionDispatcher(onQuestion, sendToServer, clock);
  const handle: HandleMessage = (message) => {
    if (message.kind === "request") return questions.dispatch(message);
    return questions.withdraw(message) ? undefined : onNotification?.(message);
  };
  const stopListening = channel.listen?.(handle);
  try {
    const reply = await channel.send(request, options);
    return toResultMessage(reply, await readResponse(reply, handle));
  } catch (error) {
    if (shouldCancel(error)) await cancel2025(channel, request);
    throw error;
  } finally {
    stopListening?.();
    questions.close();
    cancelSignal.end();
  }
}

const CANCEL_TIMEOUT_MS = 2000;

/**
 * A server of era 2025 continues when the connection closes, unless it is told to stop. Best effort, with a short
 * timeout.
 */
export async function cancel2025(
  channel: Channel2025,
  { id, method }: Pick<PreparedRequest, "id" | "method">,
): Promise<void> {
  if (method === "initialize") return;
  const limits = { headersMs: CANCEL_TIMEOUT_MS, totalMs: CANCEL_TIMEOUT_MS };
  // Best effort: the caller does not need the answer.
  await channel
    .sendOneWay(notification("notifications/cancelled", { requestId: id }), { limits })
    .catch(() => undefined);
}

/** Whether the client gave up while the server may still be working. */
function shouldCancel(error: unknown): boolean {
  if (!(error instanceof McpFault)) return true;
  const { kind, sent } = error.fault;
  return sent !== "no" && (kind === "cancelled" || kind === "timeout" || kind === "tooLarge");
}

export interface Client2026 {
  readonly endpoint: RemoteEndpoint;
  readonly client: ClientIdentity;
  /** Returns an id that no other request of this client has. */
  readonly nextId: () => MessageId;
}

/** A request that has no id yet. */
export interface UnsentRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** See `RequestSpec`. */
  readonly rawArguments?: string | undefined;
  /** Result of `collectParamHeaders` for the schema of the called tool. */
  readonly paramHeaders?: readonly ParamHeader[];
  /** false disables progress, even if `onNotification` is set. */
  readonly wantsProgress?: boolean;
}

const MAX_ROUNDS = 10;

/** Throws `refused` if the server answers with an error. Answers questions one after another. */
export async function requestResult2026(
  { endpoint, client, nextId }: Client2026,
  { method, params, rawArguments, paramHeaders, wantsProgress = true }: UnsentRequest,
  { onNotification, onQuestion, ...options }: SendOptions = {},
): Promise<ResultMessage> {
  let round: JsonObject = {};
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
    const id = nextId();
    const hasProgressToken = wantsProgress && onNotification !== undefined;
    const request = buildRequest2026(
      { id, method, params: { ...params, ...round }, rawArguments, hasProgressToken },
      client,
      paramHeaders,
    );
    const reply = await send2026(endpoint, request, options);
    const response = await readResponse(reply, (message) =>
      message.kind === "notification" ? onNotification?.(message) : undefined,
    );
    const result = toResultMessage(reply, response);
    if (onQuestion === undefined || !isInputRequired(result)) return result;
    round = await answerQuestions(result, onQuestion, options.signal);
  }
  throw violation("tooManyRounds", `the server asked for input more than ${MAX_ROUNDS} times`);
}

const INPUT_REQUIRED_MEMBERS: ReadonlySet<string> = new Set(["resultType", "inputRequests", "requestState"]);

/** A later reader must find the same values, so none of these members may occur twice. */
function isInputRequired({ result }: ResultMessage): boolean {
  const members = getMembers(INPUT_REQUIRED_MEMBERS, result);
  if (members === undefined) throw violation("notJsonRpc", "the result has a field twice");
  const type = members.get("resultType");
  return type !== undefined && JSON.parse(type) === "input_required";
}

async function answerQuestions(
  message: ResultMessage,
  onQuestion: HandleQuestion,
  caller: AbortSignal | undefined,
): Promise<JsonObject> {
  const { inputRequests, requestState } = resultOf(message) ?? {};
  const cancelSignal = new CancelSignal(caller);
  try {
    // The server chooses the names, and `__proto__` would be lost as a member of a plain object.
    const responses = new Map<string, JsonObject>();
    const questions = Object.entries(isObject(inputRequests) ? inputRequests : {});
    if (questions.length > MAX_QUESTIONS_AT_ONCE) {
      throw violation("tooManyQuestions", `the server asked ${questions.length} questions at once`);
    }
    for (const [name, inputRequest] of questions) {
      if (!isObject(inputRequest) || typeof inputRequest.method !== "string") continue;
      const params = isObject(inputRequest.params) ? inputRequest.params : {};
      const result = await onQuestion({ method: inputRequest.method, params, signal: cancelSignal.signal });
      if (cancelSignal.signal.aborted) throw cancelSignal.fault();
      if (isObject(result)) responses.set(name, result);
    }
    return { inputResponses: Object.fromEntries(responses), ...(requestState === undefined ? {} : { requestState }) };
  } finally {
    cancelSignal.end();
  }
}

function toResultMessage({ http }: McpReply, response: ResponseMessage): ResultMessage {
  const { result } = response;
  if (result === undefined) throw new McpFault({ kind: "refused", http, error: response, sent: "yes" });
  return { ...response, result };
}
