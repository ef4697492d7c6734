// What an upstream of era 2026 answered that was not complete came as a finished, empty result (clients of era 2025), or as a
// type that nobody had declared. Questions went to clients that had not declared that they can be asked.

import { Client as OfficialClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ERAS, type Json, type Reply } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult, callInEnvelope } from "./one-tool-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "incomplete");
const GO = { name: "up__go", arguments: {} };
const CONTENT = [{ type: "text", text: "half of it" }];
const FORM = { message: "Sure?", requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } } };
const ANSWER = { action: "accept", content: { sure: true } };

interface SentRequest {
  readonly revision: string;
  readonly capabilities?: Json;
  readonly params?: Json;
}

/** A tenant whose upstream answers every call with this result. */
async function answering(result: Json) {
  const up = await OneToolUpstream.start("2026", (exchange) => exchange.result(result));
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const call = async ({ revision, capabilities, params = GO }: SentRequest): Promise<Reply> =>
    (await tenant.client(revision, capabilities)).request("tools/call", params);
  const sendEnvelope = (capabilities: Json = {}) => callInEnvelope(origin, tenant.id, { capabilities });
  return { call, sendEnvelope };
}

const asking = (inputRequests: Json): Json => ({ resultType: "input_required", requestState: "s", inputRequests });

describe.each(ERAS)("to a client of era $era", ({ era, revision }) => {
  test.each([["task"], ["com.example/odd"], [7], [null]])(
    "a result of type %j is an error of the upstream",
    async (resultType) => {
      const { call } = await answering({ resultType, content: CONTENT, taskId: "TASK-1" });
      const { result, error, text } = await call({ revision });
      expect(result).toEqual({});
      expect(error).toMatchObject({
        code: era === "2026" ? -32603 : -32000,
        data: { server: "up", fault: "resultType" },
      });
      expect(error?.message).toContain("up: the result has the type");
      expect(text).not.toContain("TASK-1");
    },
  );

  test("a result without a type is complete", async () => {
    const { call } = await answering({ content: CONTENT });
    expect((await call({ revision })).result).toMatchObject({ content: CONTENT });
  });

  test("a result that says its type twice is an error of the upstream", async () => {
    const up = await OneToolUpstream.start("2026", (exchange) => {
      const result = '{"resultType":"complete","content":[],"resultType":"input_required"}';
      exchange.json(`{"jsonrpc":"2.0","id":${JSON.stringify(exchange.message["id"])},"result":${result}}`);
    });
    const client = await (await gatewayTenant(origin, admin, { up: up.entry })).client(revision);
    const { result, error } = await client.request("tools/call", GO);
    expect(result).toEqual({});
    expect(error).toMatchObject({ code: era === "2026" ? -32603 : -32000, data: { server: "up" } });
  });

  test.each<[string, unknown]>([
    ["a question that nobody can be asked", { one: { method: "com.example/ask", params: {} } }],
    ["a question whose method is an object", { one: { method: { toString: 1 } } }],
    ["a list of questions", [{ method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } }]],
  ])("%s is an error of the upstream", async (_what, requests) => {
    const { call } = await answering(asking(requests as Json));
    const { result, error } = await call({ revision, capabilities: { elicitation: {}, sampling: {}, roots: {} } });
    expect(result).toEqual({});
    expect(error).toMatchObject({ code: era === "2026" ? -32603 : -32000, data: { server: "up" } });
  });
});

test.each(["{}", "{ }", " {\n} "])("a result without anything in it, written %j, is complete", async (result) => {
  const up = await OneToolUpstream.start("2026", (exchange) =>
    exchange.json(`{"jsonrpc":"2.0","id":${JSON.stringify(exchange.message["id"])},"result":${result}}`),
  );
  const client = await (await gatewayTenant(origin, admin, { up: up.entry })).client();
  expect((await client.request("tools/call", GO)).result).toEqual({ content: [] });
});

test("a result without a type is complete to the official client, and one of another type is not", async () => {
  let result: Json = { content: CONTENT };
  const up = await OneToolUpstream.start("2026", (exchange) => exchange.result(result));
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const about = { name: "test", version: "1" };
  const client = new OfficialClient(about, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(tenant.url)));
  onTestFinished(() => client.close());
  expect(await client.callTool(GO)).toMatchObject({ content: CONTENT });
  result = { resultType: "task", taskId: "TASK-1" };
  await expect(client.callTool(GO)).rejects.toThrow("up: the result has the type");
});

describe("questions of an upstream", () => {
  const form = { method: "elicitation/create", params: FORM };
  const url = { mode: "url", message: "?", url: "https://example.com/", elicitationId: "e" };
  const model = { messages: [], maxTokens: 1 };

  test.each<[string, Json, Json, Json]>([
    ["a form", form, { sampling: {}, elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ["a page", { method: "elicitation/create", params: url }, { elicitation: {} }, { elicitation: { url: {} } }],
    ["a model", { method: "sampling/createMessage", params: model }, { elicitation: {} }, { sampling: {} }],
    [
      "a model with tools",
      { method: "sampling/createMessage", params: { ...model, tools: [] } },
      { sampling: {} },
      { sampling: { tools: {} } },
    ],
    ["roots", { method: "roots/list" }, {}, { roots: {} }],
  ])(
    "for %s that the client did not declare say what is missing, and nothing else",
    async (_what, one, had, missing) => {
      const { call } = await answering(asking({ one }));
      const { status, result, error } = await call({ revision: "2026-07-28", capabilities: had });
      expect([status, result]).toEqual([400, {}]);
      expect(error).toMatchObject({ code: -32021, data: { server: "up", requiredCapabilities: missing } });
      expect(Object.keys(error?.data ?? {}).toSorted()).toEqual(["requiredCapabilities", "server"]);
    },
  );

  test("say all that is missing, and not what is there", async () => {
    const { call } = await answering(
      asking({ a: form, b: { method: "roots/list" }, c: { method: "sampling/createMessage", params: model } }),
    );
    const { error } = await call({ revision: "2026-07-28", capabilities: { sampling: {} } });
    expect(error?.data?.["requiredCapabilities"]).toEqual({ elicitation: { form: {} }, roots: {} });
  });

  test("under the founding documents' name are put under the standard one, and answered", async () => {
    const up = await OneToolUpstream.start("2026", (exchange) => {
      const { inputResponses } = exchange.message["params"] as Json;
      if (inputResponses === undefined)
        exchange.result(asking({ one: { method: "elicitation/request", params: FORM } }));
      else exchange.result(textResult(exchange, JSON.stringify(inputResponses)));
    });
    const client = await (
      await gatewayTenant(origin, admin, { up: up.entry })
    ).client("2026-07-28", { elicitation: {} });
    const { result } = await client.request("tools/call", GO);
    expect(result["inputRequests"]).toEqual({ one: form });
    const { requestState } = result;
    const answered = await client.request("tools/call", { ...GO, requestState, inputResponses: { one: ANSWER } });
    expect(answered.result["content"]).toEqual([{ type: "text", text: JSON.stringify({ one: ANSWER }) }]);
  });

  test("are an error of the upstream to a client of era 2025, whatever it declared", async () => {
    const { call } = await answering(asking({ one: form }));
    const { result, error } = await call({ revision: "2025-11-25", capabilities: { elicitation: {} } });
    expect(result).toEqual({});
    expect(error).toMatchObject({
      code: -32000,
      message: "up asks a question that only a client of 2026-07-28 can answer",
    });
  });
});

describe("in an envelope", () => {
  test.each([["task"], [7]])("a result of type %j is an error of the upstream", async (resultType) => {
    const { sendEnvelope } = await answering({ resultType, content: CONTENT });
    const { result, error } = await sendEnvelope();
    expect(result).toEqual({});
    expect(error).toMatchObject({ code: -32603, data: { server: "up", fault: "resultType" } });
  });

  test("a question that the client did not declare says what is missing", async () => {
    const { sendEnvelope } = await answering(asking({ one: { method: "roots/list" } }));
    const { status, error } = await sendEnvelope({ elicitation: {} });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { roots: {} } } });
    expect((await sendEnvelope({ roots: {} })).result).toMatchObject({ resultType: "input_required" });
  });
});
