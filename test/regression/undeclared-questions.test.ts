// An upstream of era 2025 asked whatever it liked of whomever it liked: what the client had not declared, what its revision has
// no word for, and methods of nobody's.

import { describe, expect, test } from "vitest";
import { messageOf } from "../founding/vectors.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { post, type Json } from "../support/mcp-client.ts";
import { expectOfficial } from "../support/official-schema.ts";
import { OneToolUpstream, textResult, callInEnvelope } from "./one-tool-upstream.ts";
import type { Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "questions");
const GO = { name: "up__go", arguments: {} };
const FORM = { message: "Sure?", requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } } };
const PAGE = { mode: "url", message: "?", url: "https://example.com/", elicitationId: "e" };
const MODEL = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 };
const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const refused = (method: string) => {
  const error = { code: -32601, message: `This client does not support ${method}` };
  return JSON.stringify({ jsonrpc: "2.0", id: "q", error });
};

/** Each call asks this, and its result is what was answered. */
async function asking(question: Json): Promise<OneToolUpstream> {
  let calling: Exchange | undefined;
  return OneToolUpstream.start(
    "2025",
    (exchange) => {
      calling = exchange.stream().event({ jsonrpc: "2.0", id: "q", ...question });
    },
    {
      first: (exchange) => {
        if (exchange.name !== "response" || !calling) return false;
        exchange.refuse(202);
        const result = textResult(calling, JSON.stringify(exchange.message));
        calling.event({ jsonrpc: "2.0", id: calling.message["id"], result }).end();
        return true;
      },
    },
  );
}

describe("a client is not asked, and the upstream hears so at once,", { timeout: 30_000 }, () => {
  test.each<[string, string, string, Json | undefined, Json]>([
    ["for a form that it did not declare", "2025-11-25", "elicitation/create", FORM, { sampling: {}, roots: {} }],
    [
      "for a form, where it declared pages alone",
      "2025-11-25",
      "elicitation/create",
      FORM,
      { elicitation: { url: {} } },
    ],
    ["for a page, where it declared forms alone", "2025-11-25", "elicitation/create", PAGE, { elicitation: {} }],
    ["for a model that it did not declare", "2025-11-25", "sampling/createMessage", MODEL, { elicitation: {} }],
    [
      "for a model with tools, where it declared none",
      "2025-11-25",
      "sampling/createMessage",
      { ...MODEL, tools: [] },
      { sampling: {} },
    ],
    ["for roots that it did not declare", "2025-11-25", "roots/list", undefined, { sampling: {} }],
    ["for a completion, where it declared no model", "2025-11-25", "completion/create", MODEL, { elicitation: {} }],
    ["by a method of nobody's", "2025-11-25", "com.example/ask", {}, ALL],
    ["for a task", "2025-11-25", "tasks/get", { taskId: "1" }, ALL],
    ["for a page, in a revision without", "2025-06-18", "elicitation/create", PAGE, ALL],
    [
      "for a model with tools, in a revision without",
      "2025-06-18",
      "sampling/createMessage",
      { ...MODEL, tools: [] },
      ALL,
    ],
    ["for a form, in a revision without", "2025-03-26", "elicitation/create", FORM, ALL],
    ["for a form, in the first revision", "2024-11-05", "elicitation/create", FORM, ALL],
    ["for a form of another era", "2026-07-28", "elicitation/create", FORM, ALL],
  ])("%s", async (_what, revision, method, params, capabilities) => {
    const up = await asking({ method, ...(params && { params }) });
    const client = await (await gatewayTenant(origin, admin, { up: up.entry })).client(revision, capabilities);
    const { messages } = await client.request("tools/call", GO);
    expect(messages).toMatchObject([{ result: { content: [{ text: refused(method) }] } }]);
  });

  test("in an envelope, which says nothing about its client", async () => {
    const up = await asking({ method: "elicitation/create", params: FORM });
    const tenant = await gatewayTenant(origin, admin, { up: up.entry });
    const { messages } = await callInEnvelope(origin, tenant.id);
    expect(messages).toMatchObject([{ result: { content: [{ text: refused("elicitation/create") }] } }]);
  });
});

describe("a client is asked", () => {
  const founding = (title: string) => messageOf(title) as { method: string; params: Json; result: Json };
  const elicited = founding("003:221 elicitation/request (non-standard name)");
  const sampled = founding("004:350 completion/create (non-standard sampling request)");
  const completed = founding("004:371 completion/create response");
  const { reason, confirm } = { reason: "too small", confirm: true };
  const text = "Based on the data analysis...";

  test.each([
    [
      "a form that it declared",
      { method: "elicitation/create", params: FORM },
      { method: "elicitation/create", params: FORM },
      { action: "accept", content: { sure: true } },
      undefined,
    ],
    [
      "a form in the founding documents' words",
      elicited,
      { method: "elicitation/create", params: elicited.params },
      { action: "accept", content: { reason, confirm } },
      undefined,
    ],
    [
      "a model in the founding documents' words",
      sampled,
      {
        method: "sampling/createMessage",
        params: {
          systemPrompt: "You are a data analyst",
          modelPreferences: { hints: [{ name: "claude-3-5-sonnet" }] },
          messages: [{ role: "user", content: { type: "text", text: "Analyze this data..." } }],
          maxTokens: 1000,
        },
      },
      {
        role: "assistant",
        content: { type: "text", text },
        model: "claude-3-5-sonnet",
        stopReason: "endTurn",
        usage: completed.result["usage"],
      },
      completed.result,
    ],
  ] as const)("%s, and the upstream has its answer", async (_what, { method, params }, asked, answer, back) => {
    const up = await asking({ method, params });
    const tenant = await gatewayTenant(origin, admin, { up: up.entry });
    const client = await tenant.client("2025-11-25", ALL);
    const call = await ResumableCall.begin(tenant.url, client, { id: "call", params: GO });
    const question = (await call.next()) ?? {};
    expectOfficial("2025-11-25", question, { direction: "server" });
    expect(question).toEqual({ jsonrpc: "2.0", id: question["id"], ...asked });
    await post(tenant.url, { jsonrpc: "2.0", id: question["id"], result: answer }, { headers: client.headers });
    const { result } = (await call.next()) as { result: { content: [{ text: string }] } };
    expect(JSON.parse(result.content[0].text)).toEqual({ jsonrpc: "2.0", id: "q", result: back ?? answer });
    await call.drop();
  });
});
