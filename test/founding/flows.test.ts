// Statements of the founding documents that no single message can show: lists of several pages, time limits, failing
// storage, log messages, questions, and the documents' transport and example session taken literally.

import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2025, client2026, mcpClient, ERAS, post, type Client, type Json } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";
import { messageOf, vectorOf } from "./vectors.ts";

const origin = fixtureOrigin();
const flow = `${origin}/mcp/flow`;

/** What a tool of the tenant `flow` answers as its one text. */
async function textOf(client: Client, name: string, args: Json): Promise<string> {
  const { result, error } = await client.request("tools/call", { name, arguments: args });
  expect(error).toBeUndefined();
  return String((result.content as Json[])[0]?.text);
}

const LISTS = [
  { method: "resources/list", member: "resources", key: "uri", tenant: "archive", total: 280 },
  { method: "resources/templates/list", member: "resourceTemplates", key: "uriTemplate", tenant: "crowd", total: 260 },
  { method: "tools/list", member: "tools", key: "name", tenant: "crowd", total: 260 },
  { method: "prompts/list", member: "prompts", key: "name", tenant: "crowd", total: 260 },
];

describe.each(ERAS)("a list of several pages in era $era", ({ revision }) => {
  describe.each(LISTS)("$method", ({ method, member, key, tenant, total }) => {
    test("ends without nextCursor, complete and with nothing twice", async () => {
      const client = await mcpClient(revision, `${origin}/mcp/${tenant}`);
      const pages: Json[][] = [];
      let params: Json = {};
      do {
        const { result, error } = await client.request(method, params);
        expect(error).toBeUndefined();
        pages.push(result[member] as Json[]);
        params = { cursor: result.nextCursor };
      } while (params.cursor !== undefined && pages.length < total);
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.filter((page) => page.length === 0)).toEqual([]);
      expect(pages.flat()).toHaveLength(total);
      expect(new Set(pages.flat().map((item) => item[key])).size).toBe(total);
    });
  });

  test("gives cursors that no other list accepts", async () => {
    const client = await mcpClient(revision, `${origin}/mcp/crowd`);
    const { result } = await client.request("tools/list");
    expect(typeof result.nextCursor).toBe("string");
    const { error } = await client.request("prompts/list", { cursor: result.nextCursor });
    expect(error).toMatchObject({ code: -32602, data: { path: "cursor" } });
  });
});

describe.each(ERAS)("a tool that takes too long in era $era", ({ era, revision }) => {
  test("ends at its time limit with a clear error, and its handler ends with it", async () => {
    const client = await mcpClient(revision, flow);
    const token = crypto.randomUUID();
    const args = { ms: 600_000, token };
    const { status, error } = await client.request("tools/call", { name: "flow_waits", arguments: args });
    expect(status).toBe(200);
    expect(error).toEqual({
      code: era === "2025" ? -32001 : -32603,
      message: "Request timed out: flow_waits took longer than 300 ms",
      data: { timeoutMs: 300 },
    });
    expect(await textOf(client, "flow_waited", { token })).toBe("aborted: Error: no result within 300 ms");
  }, 120_000);
});

describe.each(ERAS)("a tenant with a limit of 6 messages a minute in era $era", ({ era, revision }) => {
  test("answers 429 with Retry-After to the message after the limit, and nobody else is affected", async () => {
    const { method, params } = messageOf("001:148 rate limiting") as { method: string; params: Json };
    const client = await mcpClient(revision, `${origin}/mcp/narrow-${era}`);
    // A session begins with two messages.
    const within = era === "2025" ? 4 : 6;
    for (let sent = 0; sent < within; sent += 1) expect((await client.request(method, params)).status).toBe(200);
    const over = await client.request(method, params);
    expect(over.status).toBe(429);
    expect(over.error).toMatchObject({
      code: era === "2025" ? -32005 : -32603,
      message: expect.stringContaining("addressMessages allows 6 a minute"),
      data: { limit: "addressMessages", most: 6 },
    });
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(over.headers.get("ratelimit-policy")).toBe('"addressMessages";q=6;w=60');
    expect(over.headers.get("ratelimit")).toMatch(/^"addressMessages";r=0;t=\d+$/);
    const other = await mcpClient(revision, `${origin}/mcp/narrow-other-${era}`);
    expect((await other.request(method, params)).status).toBe(200);
  });
});

describe.each(ERAS)("the time of a resource in era $era", ({ revision }) => {
  test("is ISO 8601 in UTC: as it was given, or when it was written", async () => {
    const { result } = await (await mcpClient(revision, flow)).request("resources/list");
    const times = new Map(
      (result.resources as { name: string; annotations?: Json }[]).map(({ name, annotations }) => [
        name,
        String(annotations?.lastModified),
      ]),
    );
    expect(times.get("Given")).toBe("2026-04-10T08:00:00Z");
    const written = times.get("Written") ?? "";
    expect(written).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    expect(Date.now() - Date.parse(written)).toBeLessThan(3_600_000);
  });
});

describe.each(ERAS)("storage that fails in era $era", ({ revision }) => {
  test("answers -32603 with a request id and tells nothing else", async () => {
    const params = { ...(messageOf("000:270 -32603 internal error").params as Json), uri: "flow://large" };
    const healthy = await (await mcpClient(revision, flow)).request("resources/read", params);
    expect(healthy.error).toBeUndefined();
    const failing = await (await mcpClient(revision, `${flow}?fixture=kv-fails`)).request("resources/read", params);
    expect(failing.status).toBe(200);
    expect(failing.error).toEqual({
      code: -32603,
      message: "Temporarily unavailable, try again",
      data: { requestId: expect.stringMatching(/^[\w-]{8,}$/) },
    });
  });
});

describe.each(ERAS)("a log message in era $era", ({ era, revision }) => {
  const logged = messageOf("003:255 notifications/message");

  async function heardAt(level: string | undefined): Promise<readonly Json[]> {
    const meta: Json = level === undefined ? {} : { "io.modelcontextprotocol/logLevel": level };
    const client = era === "2026" ? client2026(flow, {}, meta) : await client2025(flow, revision);
    if (era === "2025" && level !== undefined) await client.request("logging/setLevel", { level });
    const reply = await client.request("tools/call", { name: "flow_logs", arguments: logged.params as Json });
    expect(reply.result.content).toEqual([{ type: "text", text: "Logged" }]);
    return reply.messages.slice(0, -1);
  }

  test.each(["debug", "warning"])("reaches unchanged a client that asked for %s", async (level) => {
    expect(await heardAt(level)).toEqual([logged]);
  });

  test.each(["error", undefined])("does not reach a client that asked for %s", async (level) => {
    expect(await heardAt(level)).toEqual([]);
  });
});

const QUESTIONS = [
  {
    vector: "003:196 sampling/createMessage",
    method: "sampling/createMessage",
    answer: { role: "assistant", content: { type: "text", text: "Bonjour le monde" }, model: "claude-sonnet" },
  },
  {
    vector: "003:221 elicitation/request (non-standard name)",
    method: "elicitation/create",
    answer: { action: "accept", content: { reason: "too small", confirm: true } },
  },
  {
    vector: "003:240 roots/list",
    method: "roots/list",
    answer: { roots: [{ uri: "file:///home/user/project", name: "Project directory" }] },
  },
];

describe.each(QUESTIONS)("a tool that asks $method in era 2026", ({ vector, method, answer }) => {
  const { params } = messageOf(vector);
  const question = { method, ...(params === undefined ? {} : { params }) };
  const call = { name: "flow_asks", arguments: question };

  test("puts the document's words to the client and receives its answer", async () => {
    const client = client2026(flow, { sampling: {}, elicitation: {}, roots: {} });
    const asked = await client.request("tools/call", call);
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { question } });
    const { requestState } = asked.result;
    const done = await client.request("tools/call", { ...call, requestState, inputResponses: { question: answer } });
    expect(done.result.content).toEqual([{ type: "text", text: JSON.stringify(answer) }]);
  });

  test("puts it to no client that did not declare it", async () => {
    const { status, error } = await client2026(flow).request("tools/call", call);
    expect(status).toBe(400);
    const [capability = ""] = method.split("/");
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { [capability]: {} } } });
  });
});

describe("the documents' transport", () => {
  const json = { "content-type": "application/json" };
  const body = JSON.stringify(messageOf("002:461 HTTP transport, literally"));
  const untenanted = JSON.stringify(messageOf("004:558 HTTP: POST /mcp without a tenant"));

  test("is one POST with a Content-Type, and one JSON answer", async () => {
    const { status, headers, text } = await sendRaw(`${origin}/mcp/founding`, { headers: json, body });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["mcp-session-id"]).toBeUndefined();
    const { id, result } = JSON.parse(text) as { id: unknown; result: Json };
    expect(id).toBe(1);
    expect((result.tools as Json[]).map(({ name }) => name)).toContain("query_database");
  });

  test("finds the default tenant at /mcp where one is configured", async () => {
    const reply = await sendRaw(`${origin}/mcp?fixture=default-tenant`, { headers: json, body: untenanted });
    const named = await sendRaw(`${origin}/mcp/founding`, { headers: json, body: untenanted });
    expect(reply.status).toBe(200);
    expect(reply.text).toBe(named.text);
  });

  test("finds nothing at /mcp without a default tenant, and a text that shows how tenant URLs look", async () => {
    const { status, headers, text } = await sendRaw(`${origin}/mcp`, { headers: json, body: untenanted });
    expect(status).toBe(404);
    expect(headers["content-type"]).toBe("application/json");
    const { error } = JSON.parse(text) as { error: Json };
    expect(error.message).toContain(`${origin}/mcp/{tenant}`);
  });
});

test("the example session is answered over HTTP in order, each request under its id, the notification with nothing", async () => {
  const revision = "2024-11-05";
  const messages = vectorOf("004:423 example session, in order").request as Json[];
  const headers: Record<string, string> = { accept: "application/json, text/event-stream" };
  const answered: unknown[] = [];
  for (const message of messages) {
    const method = String(message.method);
    const reply = await post(`${origin}/mcp/founding`, message, { headers, revision, method });
    headers["mcp-session-id"] ??= reply.headers.get("mcp-session-id") ?? "";
    expect(reply.error).toBeUndefined();
    answered.push(reply.text === "" ? reply.status : reply.id);
  }
  expect(headers["mcp-session-id"]).not.toBe("");
  expect(answered).toEqual([1, 202, 2, 3, 4, 5]);
});
