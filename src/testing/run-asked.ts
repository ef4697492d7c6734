// Owns one request from what a client sends to what it gets: classified, dispatched and encoded as in a Worker, in the newest
// revision of its era, with each question answered by the test.

import { warnOfAgain } from "../calls/watched-context.ts";
import { dispatch, encodeAnswer } from "../protocol/dispatch.ts";
import type { Call, ClientResponse, PutQuestion } from "../protocol/call.ts";
import { classify } from "../protocol/classify.ts";
import { DIALECT_2026, LATEST_2025, REVISION_2026 } from "../protocol/era.ts";
import { standardHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { META, type ClientInfo } from "../protocol/meta.ts";
import type { AnswerFor, Case } from "./case.ts";
import type { AskedQuestion, LogLine, TestRun } from "./test-run.ts";

export type { TestRun } from "./test-run.ts";

export interface AskedMethod {
  readonly method: string;
  readonly params: JsonObject;
  /** `Mcp-Param-*` headers. */
  readonly mirrored?: Readonly<Record<string, string>>;
}

const CAPABILITIES: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const TOKEN = "progress";

/** Who asks, in either era. */
function clientIn({ options }: Case): { capabilities: JsonObject; info: ClientInfo; meta: JsonObject | undefined } {
  const { client: { name = "test", version = "0", capabilities = CAPABILITIES } = {}, meta } = options;
  return { capabilities, info: { name, version }, meta };
}

/** What the client was told while it waited. */
interface Told {
  readonly progress: TestRun["progress"][number][];
  readonly logs: LogLine[];
}

interface Answered {
  readonly message: JsonObject;
  readonly state?: unknown;
  readonly questions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** Rejects where the test does not answer what the handler asks, and where an answer does not fit. */
export async function runAsked(opened: Case, asked: AskedMethod): Promise<TestRun> {
  const told: Told = { progress: [], logs: [] };
  const run = opened.options.era === "2025" ? run2025 : run2026;
  const message = await run(opened, asked, told);
  await Promise.all(opened.record.waiting);
  const ran = ranOf(opened, message, told);
  if (ran.repeated.length > 0) {
    warnOfAgain(String(asked.params["name"] ?? asked.params["uri"]), ran.repeated.join(", "));
  }
  return ran;
}

async function run2026(opened: Case, asked: AskedMethod, told: Told): Promise<JsonObject> {
  const { record } = opened;
  let more: JsonObject = {};
  for (;;) {
    const { message, state, questions } = await ask2026(
      opened,
      { ...asked, params: { ...asked.params, ...more } },
      told,
    );
    if (state === undefined) return message;
    more = { requestState: state, inputResponses: answersTo(opened, questions ?? {}) };
    record.round += 1;
  }
}

async function ask2026(opened: Case, { method, params, mirrored = {} }: AskedMethod, told: Told): Promise<Answered> {
  const { capabilities, info, meta } = clientIn(opened);
  const _meta = {
    ...meta,
    [META.protocolVersion]: REVISION_2026,
    [META.clientInfo]: info,
    [META.clientCapabilities]: capabilities,
    [META.logLevel]: "debug",
    progressToken: TOKEN,
  };
  const headers: Readonly<Record<string, string>> = { ...standardHeaders(method, params), ...mirrored };
  const header = (name: string) => headers[name.toLowerCase()] ?? null;
  const inbound = { version: REVISION_2026, session: null, method: header("mcp-method"), name: header("mcp-name") };
  const body = { jsonrpc: "2.0", id: opened.record.round, method, params: { ...params, _meta } };
  const classified = classify(body, inbound);
  if (classified.kind !== "request2026") throw new TypeError(`not a request: ${JSON.stringify(classified)}`);
  const call: Call = {
    ...callOf(told),
    dialect: DIALECT_2026,
    id: body.id,
    method,
    params: classified.params,
    capabilities,
    logLevel: "debug",
    header,
  };
  const outcome = await dispatch(call, opened.backend);
  const { json } = encodeAnswer(call.id, outcome, call.dialect, opened.backend.definitions.server);
  const message = JSON.parse(json) as JsonObject;
  if (outcome.kind !== "inputRequired") return { message };
  return { message, state: outcome.requestState, questions: outcome.inputRequests };
}

async function run2025(opened: Case, { method, params }: AskedMethod, told: Told): Promise<JsonObject> {
  const { capabilities, info, meta } = clientIn(opened);
  const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { ...meta, progressToken: TOKEN } } };
  const classified = classify(body, { version: LATEST_2025.revision, session: "test", method: null, name: null });
  if (classified.kind !== "message2025") throw new TypeError(`not a request: ${JSON.stringify(classified)}`);
  let failed: unknown;
  const call: Call = {
    ...callOf(told),
    dialect: classified.dialect,
    id: body.id,
    method,
    params: body.params,
    capabilities,
    session: {
      unofficial: false,
      client: info,
      logLevel: async () => "debug",
      setLogLevel: async () => {},
      subscribe: async () => true,
      unsubscribe: async () => {},
    },
    questions: {
      nonce: crypto.randomUUID(),
      memos: {},
      ask: async (put) => {
        try {
          return answersPut(opened, put);
        } catch (error) {
          failed ??= error;
          throw error;
        }
      },
      withdraw: () => {},
    },
  };
  const outcome = await dispatch(call, opened.backend);
  if (failed !== undefined) throw failed;
  const { json } = encodeAnswer(call.id, outcome, call.dialect, opened.backend.definitions.server);
  return JSON.parse(json) as JsonObject;
}

function callOf({ progress, logs }: Told): Omit<Call, "dialect" | "id" | "method" | "params" | "capabilities"> {
  return {
    progressToken: TOKEN,
    logLevel: undefined,
    session: undefined,
    header: () => null,
    now: Date.now,
    sink: {
      notify: (method, { progressToken: _token, ...params }) => {
        if (method === "notifications/progress") progress.push(params as unknown as Told["progress"][number]);
        if (method === "notifications/message") logs.push(params as unknown as LogLine);
      },
      cancelled: new AbortController().signal,
    },
  };
}

function answersTo(opened: Case, questions: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(
    Object.entries(questions).map(([name, { method, params }]) => [
      name,
      answerTo(opened, { name, method: String(method), params: (params ?? {}) as JsonObject }),
    ]),
  );
}

function answersPut(opened: Case, put: readonly PutQuestion[]): ReadonlyMap<string, ClientResponse> {
  return new Map(
    put.map(({ name, digest, method, params = {} }) => [
      digest,
      { result: answerTo(opened, { name, method, params }) },
    ]),
  );
}

/** Throws where there is no answer, and where the same question comes again: then the answer before did not fit it. */
function answerTo({ options: { answers = {} }, record }: Case, question: AskedQuestion): JsonObject {
  const { name, params } = question;
  const { elicitationId: _id, ...plain } = params;
  const same = (one: AskedQuestion) => one.name === name && JSON.stringify(one.params) === JSON.stringify(plain);
  if (record.questions.some(same)) throw new TypeError(`the answer to "${name}" does not fit the question`);
  record.questions.push({ ...question, params: plain });
  const answer = Object.hasOwn(answers, name) ? answers[name] : undefined;
  if (answer === undefined) throw new TypeError(`the handler asks "${name}", to which the test has no answer`);
  return resultOf(question, answer);
}

function resultOf(question: AskedQuestion, answer: AnswerFor): JsonObject {
  if (typeof answer === "function") return resultOf(question, answer(question));
  if (typeof answer === "string") {
    return { role: "assistant", model: "test", content: { type: "text", text: answer } };
  }
  if (Array.isArray(answer)) return { roots: answer };
  const whole = answer as JsonObject;
  const isForm = question.method === "elicitation/create" && whole["action"] === undefined;
  return isForm ? { action: "accept", content: whole } : whole;
}

function ranOf({ record, store }: Case, message: JsonObject, told: Told): TestRun {
  const result = isObject(message["result"]) ? message["result"] : {};
  const { effects, round } = record;
  const firstIn = new Map(effects.toReversed().map(({ what, round: at }) => [what, at]));
  const again = effects.filter(({ what, round: at }) => at > (firstIn.get(what) ?? at));
  return {
    result,
    error: message["error"] as TestRun["error"],
    text: textsOf(result).join("\n"),
    structured: result["structuredContent"],
    isError: result["isError"] === true,
    ...told,
    links: record.links,
    questions: record.questions,
    announcements: record.announcements,
    errors: record.faults,
    rounds: round,
    effects,
    repeated: [...new Set(again.map(({ what }) => what))],
    resources: store,
  };
}

function textsOf({ content, contents, messages }: JsonObject): readonly string[] {
  const said = Array.isArray(messages) ? messages.map((one: unknown) => (isObject(one) ? one["content"] : one)) : [];
  const blocks = [content, contents, said].flatMap((list) => (Array.isArray(list) ? (list as readonly unknown[]) : []));
  return blocks.flatMap((block) => (isObject(block) && typeof block["text"] === "string" ? [block["text"]] : []));
}
