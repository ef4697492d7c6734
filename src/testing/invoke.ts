// Runs one client request through the same classify, dispatch and encode steps as a Worker. Each era uses its newest
// revision, and the test answers the handler's questions.

import { answerError, type Question } from "../handlers/question.ts";
import { warnOfRepeatedEffect } from "../handlers/replay-warnings.ts";
import { dispatch, encodeOutcome } from "../protocol/dispatch.ts";
import type { McpRequest, ClientResponse, OutgoingRequest } from "../protocol/mcp-request.ts";
import { classify } from "../protocol/classify.ts";
import { REVISION_2026, LATEST_2025, VERSION_2026 } from "../protocol/revisions.ts";
import { standardHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { META, type ClientInfo } from "../protocol/meta.ts";
import type { TestAnswer, TestContext } from "./test-context.ts";
import type { TestQuestion, TestLogLine, TestRun } from "./test-run.ts";

export type { TestRun } from "./test-run.ts";

export interface TestRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** `Mcp-Param-*` headers. */
  readonly paramHeaders?: Readonly<Record<string, string>>;
}

const CAPABILITIES: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const PROGRESS_TOKEN = "progress";

function clientOf({ options }: TestContext): {
  capabilities: JsonObject;
  info: ClientInfo;
  meta: JsonObject | undefined;
} {
  const { client: { name = "test", version = "0", capabilities = CAPABILITIES } = {}, meta } = options;
  return { capabilities, info: { name, version }, meta };
}

interface ClientNotifications {
  readonly progress: TestRun["progress"][number][];
  readonly logs: TestLogLine[];
}

interface RoundResult {
  readonly message: JsonObject;
  readonly requestState?: unknown;
  readonly questions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** Rejects if the test has no answer for a handler's question, or if an answer does not fit its question. */
export async function invoke(context: TestContext, request: TestRequest): Promise<TestRun> {
  const notifications: ClientNotifications = { progress: [], logs: [] };
  const run = context.options.era === "2025" ? run2025 : run2026;
  const message = await run(context, request, notifications);
  await Promise.all(context.recorder.pending);
  const testRun = toTestRun(context, message, notifications);
  if (testRun.repeated.length > 0) {
    warnOfRepeatedEffect(String(request.params["name"] ?? request.params["uri"]), testRun.repeated.join(", "));
  }
  return testRun;
}

async function run2026(
  context: TestContext,
  request: TestRequest,
  notifications: ClientNotifications,
): Promise<JsonObject> {
  const { recorder } = context;
  let continuation: JsonObject = {};
  for (;;) {
    const {
      message,
      requestState: state,
      questions,
    } = await sendRound(context, { ...request, params: { ...request.params, ...continuation } }, notifications);
    if (state === undefined) return message;
    continuation = { requestState: state, inputResponses: answersByName(context, questions ?? {}) };
    recorder.round += 1;
  }
}

async function sendRound(
  context: TestContext,
  { method, params, paramHeaders = {} }: TestRequest,
  notifications: ClientNotifications,
): Promise<RoundResult> {
  const { capabilities, info, meta } = clientOf(context);
  const _meta = {
    ...meta,
    [META.protocolVersion]: VERSION_2026,
    [META.clientInfo]: info,
    [META.clientCapabilities]: capabilities,
    [META.logLevel]: "debug",
    progressToken: PROGRESS_TOKEN,
  };
  const headers: Readonly<Record<string, string>> = { ...standardHeaders(method, params), ...paramHeaders };
  const header = (name: string) => headers[name.toLowerCase()] ?? null;
  const inbound = { version: VERSION_2026, session: null, method: header("mcp-method"), name: header("mcp-name") };
  const body = { jsonrpc: "2.0", id: context.recorder.round, method, params: { ...params, _meta } };
  const classified = classify(body, inbound);
  if (classified.kind !== "request2026") throw new TypeError(`not a request: ${JSON.stringify(classified)}`);
  const request: McpRequest = {
    ...requestBaseOf(notifications),
    revision: REVISION_2026,
    id: body.id,
    method,
    params: classified.params,
    capabilities,
    logLevel: "debug",
    header,
  };
  const outcome = await dispatch(request, context.handlers);
  const { json } = encodeOutcome(request.id, outcome, request.revision, context.handlers.definitions.server);
  const message = JSON.parse(json) as JsonObject;
  if (outcome.kind !== "inputRequired") return { message };
  return { message, requestState: outcome.requestState, questions: outcome.inputRequests };
}

async function run2025(
  context: TestContext,
  { method, params }: TestRequest,
  notifications: ClientNotifications,
): Promise<JsonObject> {
  const { capabilities, info, meta } = clientOf(context);
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { ...params, _meta: { ...meta, progressToken: PROGRESS_TOKEN } },
  };
  const classified = classify(body, { version: LATEST_2025.version, session: "test", method: null, name: null });
  if (classified.kind !== "message2025") throw new TypeError(`not a request: ${JSON.stringify(classified)}`);
  let brokenAnswer: unknown;
  const request: McpRequest = {
    ...requestBaseOf(notifications),
    revision: classified.revision,
    id: body.id,
    method,
    params: body.params,
    capabilities,
    session: {
      isUnknownRevision: false,
      client: info,
      logLevel: async () => "debug",
      setLogLevel: async () => {},
      subscribe: async () => true,
      unsubscribe: async () => {},
    },
    clientRequester: {
      nonce: crypto.randomUUID(),
      memos: {},
      request: async (put) => {
        try {
          return answersByDigest(context, put);
        } catch (error) {
          brokenAnswer ??= error;
          throw error;
        }
      },
      cancel: () => {},
    },
  };
  const outcome = await dispatch(request, context.handlers);
  if (brokenAnswer !== undefined) throw brokenAnswer;
  const { json } = encodeOutcome(request.id, outcome, request.revision, context.handlers.definitions.server);
  return JSON.parse(json) as JsonObject;
}

function requestBaseOf({
  progress,
  logs,
}: ClientNotifications): Omit<McpRequest, "revision" | "id" | "method" | "params" | "capabilities"> {
  return {
    progressToken: PROGRESS_TOKEN,
    logLevel: undefined,
    session: undefined,
    header: () => null,
    now: Date.now,
    sink: {
      notify: (method, { progressToken: _token, ...params }) => {
        if (method === "notifications/progress")
          progress.push(params as unknown as ClientNotifications["progress"][number]);
        if (method === "notifications/message") logs.push(params as unknown as TestLogLine);
      },
      cancelled: new AbortController().signal,
    },
  };
}

function answersByName(context: TestContext, questions: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(
    Object.entries(questions).map(([name, { method, params }]) => [
      name,
      answerQuestion(context, { name, method: String(method), params: (params ?? {}) as JsonObject }),
    ]),
  );
}

function answersByDigest(
  context: TestContext,
  requests: readonly OutgoingRequest[],
): ReadonlyMap<string, ClientResponse> {
  return new Map(
    requests.map(({ name, digest, method, params = {} }) => [
      digest,
      { result: answerQuestion(context, { name, method, params }) },
    ]),
  );
}

/** Throws if there is no answer, or if it does not fit. */
function answerQuestion({ options: { answers = {} }, recorder }: TestContext, question: TestQuestion): JsonObject {
  const { name, params } = question;
  const { elicitationId: _id, ...plain } = params;
  recorder.questions.push({ ...question, params: plain });
  const answer = Object.hasOwn(answers, name) ? answers[name] : undefined;
  if (answer === undefined) {
    const unused = Object.keys(answers).filter((one) => !recorder.questions.some((asked) => asked.name === one));
    const others = unused.length === 0 ? "" : `; not used: ${unused.map((one) => `"${one}"`).join(", ")}`;
    throw new TypeError(
      `the handler asks "${name}", but the test has no answer to it: add one to the option answers${others}`,
    );
  }
  const result = toClientResult(question, answer);
  const error = answerError(question as Question, result);
  if (error !== undefined) throw new TypeError(`the answer to "${name}" does not match the question: ${error}`);
  return result;
}

function toClientResult(question: TestQuestion, answer: TestAnswer): JsonObject {
  if (typeof answer === "function") return toClientResult(question, answer(question));
  if (typeof answer === "string") {
    return { role: "assistant", model: "test", content: { type: "text", text: answer } };
  }
  if (Array.isArray(answer)) return { roots: answer };
  const result = answer as JsonObject;
  const isForm = question.method === "elicitation/create" && result["action"] === undefined;
  return isForm ? { action: "accept", content: result } : result;
}

function toTestRun({ recorder, store }: TestContext, message: JsonObject, notifications: ClientNotifications): TestRun {
  const result = isObject(message["result"]) ? message["result"] : {};
  const { effects, round } = recorder;
  const firstRound = new Map(effects.toReversed().map(({ what, round: at }) => [what, at]));
  const repeats = effects.filter(({ what, round: at }) => at > (firstRound.get(what) ?? at));
  return {
    result,
    error: message["error"] as TestRun["error"],
    text: collectTexts(result).join("\n"),
    structured: result["structuredContent"],
    isError: result["isError"] === true,
    ...notifications,
    links: recorder.links,
    questions: recorder.questions,
    announcements: recorder.announcements,
    errors: recorder.errors,
    rounds: round,
    effects,
    repeated: [...new Set(repeats.map(({ what }) => what))],
    resources: store,
  };
}

function collectTexts({ content, contents, messages }: JsonObject): readonly string[] {
  const promptContents = Array.isArray(messages)
    ? messages.map((one: unknown) => (isObject(one) ? one["content"] : one))
    : [];
  const blocks = [content, contents, promptContents].flatMap((list) =>
    Array.isArray(list) ? (list as readonly unknown[]) : [],
  );
  return blocks.flatMap((block) => (isObject(block) && typeof block["text"] === "string" ? [block["text"]] : []));
}
