// Which questions an upstream may ask, and their translation to the client's revision and back. A question that the
// client did not declare, or that its revision cannot express, is refused to the upstream at once.

import { digest } from "../auth/seal.ts";
import { capabilityOf, type Question } from "../handlers/question.ts";
import { downgradeQuestion, upgradeAnswer } from "../handlers/downgrade-question.ts";
import { MissingCapabilityError } from "../handlers/elicitor.ts";
import type { HandleQuestion } from "../mcp-client/question-dispatcher.ts";
import type { McpRequest, ClientRequester } from "../protocol/mcp-request.ts";
import type { RevisionFeatures } from "../protocol/revisions.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import { APPS_EXTENSION, hasCapability, type ClientCapability } from "../protocol/meta.ts";
import type { Deadline } from "./call-deadline.ts";
import type { ResponseBudget } from "./guard/response-budget.ts";
import type { Redaction } from "./guard/redaction.ts";

type Client = Pick<McpRequest, "revision" | "capabilities">;

/** The first revision that has the capability. Absent if all revisions have it. */
const FIRST_REVISION: Readonly<Partial<Record<ClientCapability, string>>> = {
  "elicitation.form": "2025-06-18",
  "elicitation.url": "2025-11-25",
  "sampling.tools": "2025-11-25",
};

export function supportsQuestion({ capabilities, revision }: Client, capability: ClientCapability): boolean {
  return hasCapability(capabilities, capability) && revision.version >= (FIRST_REVISION[capability] ?? "");
}

/** The client's capabilities to declare to an upstream: the questions it may ask, and the extensions served here. */
export function toUpstreamCapabilities(client: Client): JsonObject {
  const supports = (capability: ClientCapability) => supportsQuestion(client, capability);
  const modes = { ...(supports("elicitation.form") && { form: {} }), ...(supports("elicitation.url") && { url: {} }) };
  return {
    ...(Object.keys(modes).length > 0 && { elicitation: modes }),
    ...(supports("sampling") && { sampling: supports("sampling.tools") ? { tools: {} } : {} }),
    ...(supports("roots") && { roots: {} }),
    ...toUpstreamExtensions(client),
  };
}

/** Extensions to declare even to an upstream that cannot ask questions. */
export function toUpstreamExtensions({ capabilities: { extensions } }: Pick<Client, "capabilities">): JsonObject {
  const apps = isObject(extensions) ? extensions[APPS_EXTENSION] : undefined;
  return apps === undefined ? {} : { extensions: { [APPS_EXTENSION]: apps } };
}

interface NormalizedQuestion {
  readonly question: Question;
  /** Converts the client's result to the form that the upstream expects. */
  readonly toUpstreamResult: (result: JsonObject) => JsonObject;
}

/**
 * The question under its standard method, or undefined if it is unknown. The founding documents define the two
 * other names.
 */
export function normalizeQuestion(method: unknown, params: JsonObject): NormalizedQuestion | undefined {
  const unchanged = (result: JsonObject) => result;
  switch (method) {
    case "elicitation/create":
    case "elicitation/request":
      return { question: { method: "elicitation/create", params }, toUpstreamResult: unchanged };
    case "sampling/createMessage":
      return { question: { method, params }, toUpstreamResult: unchanged };
    case "completion/create":
      return {
        question: { method: "sampling/createMessage", params: toSamplingParams(params) },
        toUpstreamResult: toCompletionResult,
      };
    case "roots/list":
      return { question: { method, params }, toUpstreamResult: unchanged };
    default:
      return undefined;
  }
}

function toSamplingParams({ model, messages, ...params }: JsonObject): JsonObject {
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

function toCompletionResult({ content, model, usage, stopReason }: JsonObject): JsonObject {
  const reason = typeof stopReason === "string" ? (STOP_REASONS[stopReason] ?? stopReason) : stopReason;
  return omitUndefined({ content: [content].flat(), model, stopReason: reason, usage });
}

export interface QuestionContext {
  readonly call: Client;
  readonly deadline: Deadline;
  readonly redaction: Redaction;
  readonly responseBudget: ResponseBudget;
}

/** A question is held both as a value and as text. */
const MEMORY_FACTOR = 2;

/**
 * Each question gets its own name, because an upstream that asks the same twice wants two answers. `onFirstQuestion`
 * runs when a person is first asked.
 */
export function createQuestionHandler(
  port: ClientRequester,
  { call, deadline, redaction, responseBudget }: QuestionContext,
  onFirstQuestion?: () => void,
): HandleQuestion {
  let count = 0;
  return async ({ method, params: ownParams }) => {
    const normalized = normalizeQuestion(method, redaction.value(ownParams));
    if (!normalized || !supportsQuestion(call, capabilityOf(normalized.question))) return undefined;
    const { question, toUpstreamResult } = normalized;
    const params = clientParamsOf(call.revision, question);
    if (typeof params === "string") return params;
    // Other questions may be open meanwhile: a person may take an hour to answer.
    const release = responseBudget.retain(MEMORY_FACTOR * JSON.stringify(params).length);
    count += 1;
    if (count === 1) onFirstQuestion?.();
    const name = `q${count}`;
    const request = { name, digest: await digest(name), method: question.method, ...(params && { params }) };
    const resume = deadline.pause();
    const answers = await port.request([request], {}).finally(() => {
      resume();
      release();
    });
    const answer = answers?.get(request.digest);
    // Without an answer, the upstream is told that this client does not answer.
    return answer !== undefined && "result" in answer
      ? toUpstreamResult(upgradeAnswer(question, answer.result))
      : undefined;
  };
}

/** Returns a message for the upstream if the client's revision cannot express the question. */
function clientParamsOf(revision: RevisionFeatures, question: Question): JsonObject | string | undefined {
  try {
    return downgradeQuestion(question, revision);
  } catch (error) {
    if (error instanceof MissingCapabilityError) return error.message;
    throw error;
  }
}
