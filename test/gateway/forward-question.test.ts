import { describe, expect, it } from "vitest";
import { Deadline } from "../../src/gateway/call-deadline.ts";
import { createQuestionHandler, toUpstreamCapabilities } from "../../src/gateway/forward-question.ts";
import { ResponseBudget } from "../../src/gateway/guard/response-budget.ts";
import { Redaction } from "../../src/gateway/guard/redaction.ts";
import { NULL_SINK } from "../../src/endpoint/call-output.ts";
import type { OutgoingRequest, ClientRequester } from "../../src/protocol/mcp-request.ts";
import { REVISION_FEATURES, VERSIONS_2025, type ProtocolVersion } from "../../src/protocol/revisions.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

const EARLIER = VERSIONS_2025.filter((revision) => revision < "2025-11-25");
const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const SECRET = "what-the-tracker-wants";
const FORM = {
  message: `Which, ${SECRET}?`,
  requestedSchema: {
    type: "object",
    properties: {
      size: {
        type: "string",
        oneOf: [
          { const: "s", title: "Small" },
          { const: "l", title: "Large" },
        ],
      },
      colours: { type: "array", title: "Colours", items: { type: "string", enum: ["red", "blue"] } },
    },
  },
};
const text = (message: string) => ({ type: "text", text: message });
const AUDIO = { type: "audio", data: "AAAA", mimeType: "audio/wav" };

interface QuestionOptions {
  readonly result?: JsonObject;
  /** Of the client; absent: all that there are. */
  readonly capabilities?: JsonObject;
}

/** An upstream asks once, and the client of this revision gives this result. */
async function ask(
  revision: ProtocolVersion,
  method: string,
  params: JsonObject,
  { result = {}, capabilities = ALL }: QuestionOptions = {},
) {
  const put: OutgoingRequest[] = [];
  const clientRequester: ClientRequester = {
    nonce: undefined,
    memos: {},
    request: async (questions) => {
      put.push(...questions);
      return new Map(questions.map(({ digest }) => [digest, { result }]));
    },
    cancel: () => {},
  };
  const deadline = new Deadline(60_000, NULL_SINK.cancelled);
  const room = new ResponseBudget(crypto.randomUUID());
  const call = { revision: REVISION_FEATURES[revision], capabilities };
  const work = { call, deadline, redaction: Redaction.create([SECRET]), responseBudget: room };
  let waited = 0;
  const answer = createQuestionHandler(clientRequester, work, () => (waited += 1));
  const said = await answer({ method, params, signal: new AbortController().signal }).finally(() => deadline.end());
  return { put: put.map((one) => one.params), methods: put.map((one) => one.method), said, waited };
}

describe("a form of an upstream, to a client of 2025-06-18", () => {
  const revision = "2025-06-18";

  it("names its choices by enumNames, asks for a list as a text, and the upstream gets the list", async () => {
    const result = { action: "accept", content: { size: "l", colours: "red , blue," } };
    const { put, said } = await ask(revision, "elicitation/create", FORM, { result });
    expect(put).toEqual([
      {
        message: "Which, [redacted]?",
        requestedSchema: {
          type: "object",
          properties: {
            size: { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"] },
            colours: { type: "string", title: "Colours", description: "(with commas: red, blue)" },
          },
        },
      },
    ]);
    expect(said).toEqual({ action: "accept", content: { size: "l", colours: ["red", "blue"] } });
  });

  it("fails if it is not a form, and the client is not asked", async () => {
    const params = { message: "?", requestedSchema: { type: "object", properties: { a: null } } };
    await expect(ask(revision, "elicitation/create", params)).rejects.toThrow(TypeError);
  });
});

describe.each(EARLIER)("a message for a model, to a client of %s,", (revision) => {
  it("becomes one message for each block", async () => {
    const params = { maxTokens: 5, messages: [{ role: "user", content: [text("One."), text("Two.")] }] };
    const { put } = await ask(revision, "sampling/createMessage", params);
    expect(put).toEqual([
      {
        maxTokens: 5,
        messages: [
          { role: "user", content: text("One.") },
          { role: "user", content: text("Two.") },
        ],
      },
    ]);
  });
});

it.each(["2025-11-25", "2026-07-28"] as const)("a form goes to a client of %s as it was written", async (revision) => {
  const result = { action: "accept", content: { size: "l", colours: ["red"] } };
  const { put, said } = await ask(revision, "elicitation/create", FORM, { result });
  expect(put).toEqual([{ ...FORM, message: "Which, [redacted]?" }]);
  expect(said).toEqual(result);
});

describe("audio for a model", () => {
  const params = { maxTokens: 5, messages: [{ role: "user", content: AUDIO }] };

  it("is not asked in 2024-11-05, and the upstream gets the reason", async () => {
    const { put, said, waited } = await ask("2024-11-05", "sampling/createMessage", params);
    expect({ put, said, waited }).toEqual({
      put: [],
      said: "the client's revision 2024-11-05 does not support audio",
      waited: 0,
    });
  });

  it.each(VERSIONS_2025.slice(1))("is asked in %s", async (revision) => {
    expect((await ask(revision, "sampling/createMessage", params)).put).toEqual([params]);
  });
});

it("a question without params is put without, in every revision", async () => {
  for (const revision of VERSIONS_2025) expect((await ask(revision, "roots/list", {})).put).toEqual([{}]);
});

const URL_MODE = { mode: "url", message: "?", url: "https://a.example/", elicitationId: "e" };
const WITH_TOOLS = { maxTokens: 1, messages: [], tools: [] };

describe("a client is not asked, and the upstream gets an error at once,", () => {
  it.each<[string, ProtocolVersion, string, JsonObject, JsonObject]>([
    ["what it did not declare", "2025-11-25", "elicitation/create", FORM, { sampling: {} }],
    ["for roots that it did not declare", "2025-11-25", "roots/list", {}, { sampling: {} }],
    ["for a page, where it declared forms alone", "2025-11-25", "elicitation/create", URL_MODE, { elicitation: {} }],
    [
      "for a form, where it declared pages alone",
      "2025-11-25",
      "elicitation/create",
      FORM,
      { elicitation: { url: {} } },
    ],
    [
      "for sampling with tools that it did not declare",
      "2025-11-25",
      "sampling/createMessage",
      WITH_TOOLS,
      { sampling: {} },
    ],
    ["for a page, in a revision without", "2025-06-18", "elicitation/create", URL_MODE, ALL],
    ["for sampling with tools, in a revision without", "2025-06-18", "sampling/createMessage", WITH_TOOLS, ALL],
    ["for a form, in a revision without", "2025-03-26", "elicitation/create", FORM, ALL],
    ["by a method of nobody's", "2025-11-25", "com.example/ask", {}, ALL],
    ["for a task", "2025-11-25", "tasks/get", {}, ALL],
  ])("%s", async (_what, revision, method, params, capabilities) => {
    expect(await ask(revision, method, params, { capabilities })).toMatchObject({
      put: [],
      said: undefined,
      waited: 0,
    });
  });
});

describe("the founding documents' other names", () => {
  it("elicitation/request is elicitation/create", async () => {
    const result = { action: "accept", content: { size: "l" } };
    const { methods, said } = await ask("2025-11-25", "elicitation/request", FORM, { result });
    expect([methods, said]).toEqual([["elicitation/create"], result]);
  });

  it("completion/create is sampling/createMessage, and is answered in its own shape", async () => {
    const params = {
      model: "claude-3-5-sonnet",
      systemPrompt: "You are a data analyst",
      messages: [{ role: "user", content: "Analyze this data..." }],
      maxTokens: 1000,
    };
    const result = { role: "assistant", model: "m", content: text("Based on it..."), stopReason: "endTurn" };
    const { put, methods, said } = await ask("2025-11-25", "completion/create", params, { result });
    expect(methods).toEqual(["sampling/createMessage"]);
    expect(put).toEqual([
      {
        systemPrompt: "You are a data analyst",
        modelPreferences: { hints: [{ name: "claude-3-5-sonnet" }] },
        messages: [{ role: "user", content: text("Analyze this data...") }],
        maxTokens: 1000,
      },
    ]);
    expect(said).toEqual({ model: "m", content: [text("Based on it...")], stopReason: "end_turn" });
  });
});

describe("what is declared to an upstream", () => {
  const declared = (revision: ProtocolVersion, capabilities: JsonObject) =>
    toUpstreamCapabilities({ revision: REVISION_FEATURES[revision], capabilities });

  it("is what it may ask, cleaned, and the extensions that are served here", () => {
    const ui = { mimeTypes: ["text/html;profile=mcp-app"] };
    const raw = {
      elicitation: { form: { x: 1 }, other: {} },
      roots: { listChanged: true },
      sampling: { context: {} },
      extensions: { "io.modelcontextprotocol/ui": ui, "io.modelcontextprotocol/tasks": {}, "com.example/x": {} },
      experimental: { foo: {} },
      tasks: {},
      somethingElse: { a: 1 },
    };
    expect(declared("2026-07-28", raw)).toEqual({
      elicitation: { form: {} },
      sampling: {},
      roots: {},
      extensions: { "io.modelcontextprotocol/ui": ui },
    });
  });

  it("is nothing that the client's revision has no word for", () => {
    expect(declared("2024-11-05", ALL)).toEqual({ sampling: {}, roots: {} });
    expect(declared("2025-06-18", ALL)).toEqual({ elicitation: { form: {} }, sampling: {}, roots: {} });
    expect(declared("2025-11-25", ALL)).toEqual(ALL);
  });
});
