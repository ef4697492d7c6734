// What an upstream may ask of a client, and its questions on their way there and back in the words of the client's revision.
// A client is asked nothing that it did not declare, or that its revision has no word for: the upstream hears so at once.

import { digest } from "../auth/seal.ts";
import { capabilityOf, type Question } from "../calls/answers.ts";
import { fitted, restored } from "../calls/fit-question.ts";
import { MissingCapability } from "../calls/interview.ts";
import type { AnswerQuestion } from "../mcp-client/questions.ts";
import type { Call, QuestionPort } from "../protocol/call.ts";
import type { Dialect } from "../protocol/era.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { given } from "../protocol/members.ts";
import { APPS_EXTENSION, hasCapability, type ClientCapability } from "../protocol/meta.ts";
import type { Deadline } from "./call-deadline.ts";
import type { AnswerRoom } from "./guard/answer-room.ts";
import type { Redaction } from "./guard/redaction.ts";

type Client = Pick<Call, "dialect" | "capabilities">;

/** The first revision that has a word for it; absent: all have. */
const SINCE: Readonly<Partial<Record<ClientCapability, string>>> = {
  "elicitation.form": "2025-06-18",
  "elicitation.url": "2025-11-25",
  "sampling.tools": "2025-11-25",
};

export function canBeAsked({ capabilities, dialect }: Client, capability: ClientCapability): boolean {
  return hasCapability(capabilities, capability) && dialect.revision >= (SINCE[capability] ?? "");
}

/** Of the client's capabilities those that are declared to an upstream: what it may ask, and the extensions served here. */
export function declaredUpstream(client: Client): JsonObject {
  const can = (capability: ClientCapability) => canBeAsked(client, capability);
  const modes = { ...(can("elicitation.form") && { form: {} }), ...(can("elicitation.url") && { url: {} }) };
  return {
    ...(Object.keys(modes).length > 0 && { elicitation: modes }),
    ...(can("sampling") && { sampling: can("sampling.tools") ? { tools: {} } : {} }),
    ...(can("roots") && { roots: {} }),
    ...servedExtensions(client),
  };
}

/** Those that are declared to an upstream that can ask nothing, too. */
export function servedExtensions({ capabilities: { extensions } }: Pick<Client, "capabilities">): JsonObject {
  const apps = isObject(extensions) ? extensions[APPS_EXTENSION] : undefined;
  return apps === undefined ? {} : { extensions: { [APPS_EXTENSION]: apps } };
}

interface StandardQuestion {
  readonly question: Question;
  /** The result of the client as the upstream expects it. */
  readonly back: (result: JsonObject) => JsonObject;
}

/** The question by its standard name; undefined: there is none. `docs/founding-documents.md` has the two other names. */
export function standardQuestion(method: unknown, params: JsonObject): StandardQuestion | undefined {
  const same = (result: JsonObject) => result;
  switch (method) {
    case "elicitation/create":
    case "elicitation/request":
      return { question: { method: "elicitation/create", params }, back: same };
    case "sampling/createMessage":
      return { question: { method, params }, back: same };
    case "completion/create":
      return { question: { method: "sampling/createMessage", params: samplingOf(params) }, back: completionOf };
    case "roots/list":
      return { question: { method, params }, back: same };
    default:
      return undefined;
  }
}

function samplingOf({ model, messages, ...params }: JsonObject): JsonObject {
  const block = (content: unknown) => (typeof content === "string" ? { type: "text", text: content } : content);
  return {
    ...params,
    ...(typeof model === "string" && { modelPreferences: { hints: [{ name: model }] } }),
    messages: Array.isArray(messages)
      ? messages.map((one: unknown) => (isObject(one) ? { ...one, content: block(one.content) } : one))
      : messages,
  };
}

const STOP_REASONS: Readonly<Record<string, string>> = { endTurn: "end_turn", maxTokens: "max_tokens" };

function completionOf({ content, model, usage, stopReason }: JsonObject): JsonObject {
  const reason = typeof stopReason === "string" ? (STOP_REASONS[stopReason] ?? stopReason) : stopReason;
  return given({ content: [content].flat(), model, stopReason: reason, usage });
}

export interface QuestionWork {
  readonly call: Client;
  readonly deadline: Deadline;
  readonly redaction: Redaction;
  readonly room: AnswerRoom;
}

/** It is held as a value and as a text. */
const TIMES_HELD = 2;

/**
 * Each question has a name of its own: an upstream may ask the same twice, and wants two answers. `waits`: is told that a
 * person is asked.
 */
export function answerThrough(
  port: QuestionPort,
  { call, deadline, redaction, room }: QuestionWork,
  waits?: () => void,
): AnswerQuestion {
  let asked = 0;
  return async ({ method, params: own }) => {
    const standard = standardQuestion(method, redaction.value(own));
    if (!standard || !canBeAsked(call, capabilityOf(standard.question))) return undefined;
    const { question, back } = standard;
    const params = inWordsOf(call.dialect, question);
    if (typeof params === "string") return params;
    // Others are asked while this one waits for a person, who may take an hour.
    const release = room.keep(TIMES_HELD * JSON.stringify(params).length);
    asked += 1;
    if (asked === 1) waits?.();
    const name = `q${asked}`;
    const put = { name, digest: await digest(name), method: question.method, ...(params && { params }) };
    const goOn = deadline.pause();
    const answers = await port.ask([put], {}).finally(() => {
      goOn();
      release();
    });
    const answer = answers?.get(put.digest);
    // Without an answer there is nothing to say to the upstream; it hears that this client does not answer.
    return answer !== undefined && "result" in answer ? back(restored(question, answer.result)) : undefined;
  };
}

/** A text says what the revision has no words for: the upstream is told. */
function inWordsOf(dialect: Dialect, question: Question): JsonObject | string | undefined {
  try {
    return fitted(question, dialect);
  } catch (error) {
    if (error instanceof MissingCapability) return error.message;
    throw error;
  }
}
