// A server that was restarted knows no session of before: the first call of each key failed, though 404 says that it has not
// run. It is sent once more in a new session, and its result says that what the session held is gone.

import { describe, expect, test } from "vitest";
import { fixtureAdmin, bearer } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient, ERAS, post, type Client, type Json, type Reply } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult, type OneTool } from "./one-tool-upstream.ts";
import type { Exchange } from "../support/scripted-server.ts";
import { SdkServer } from "../support/sdk-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "lost");
const NEW = { "tenantry/session": "new" };

type Call = (revision?: string, params?: Json) => Promise<Reply>;

/** Who calls has a key: an anonymous call has a session of its own. */
async function calling(upstream: Json, tool = "go") {
  const tenant = await gatewayTenant(origin, admin, { up: upstream });
  const { token } = await admin.key(tenant.id);
  const clients = new Map<string, Client>();
  const call: Call = async (revision = "2025-11-25", params = {}) => {
    const client = clients.get(revision) ?? (await mcpClient(revision, tenant.url, {}, bearer(token)));
    clients.set(revision, client);
    return client.request("tools/call", { name: `up__${tool}`, arguments: {}, ...params });
  };
  const sendEnvelope = () =>
    post(
      `${origin}/gateway/${tenant.id}`,
      { server_id: "up", jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: {} } },
      { headers: bearer(token) },
    );
  return { call, sendEnvelope };
}

/** A server that keeps sessions, and whose tool says how often it has run. */
async function counting(about?: OneTool, result: (text: string) => Json = () => ({})) {
  let runs = 0;
  const up = await OneToolUpstream.start(
    "2025",
    (exchange) => {
      const said = textResult(exchange, `run ${(runs += 1)}`);
      exchange.result({ ...said, ...result(`run ${runs}`) });
    },
    about,
  );
  return { up, ...(await calling(up.entry)), runs: () => runs };
}

describe("a call that nothing says may be sent twice, in a session that the server has forgotten,", () => {
  test.each(ERAS)("runs once in a new one and says so, to a client of era $era", async ({ revision }) => {
    const { up, call, runs } = await counting();
    expect((await call(revision)).result).not.toHaveProperty(["_meta", "tenantry/session"]);
    up.sessions.clear();
    const { result, error } = await call(revision);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ content: [{ text: "run 2" }], _meta: NEW });
    expect(runs()).toBe(2);
    expect((await call(revision)).result).not.toHaveProperty(["_meta", "tenantry/session"]);
  });

  test("runs once in a new one and says so, in an envelope", async () => {
    const { up, sendEnvelope, runs } = await counting();
    await sendEnvelope();
    up.sessions.clear();
    expect((await sendEnvelope()).result).toMatchObject({ content: [{ text: "run 2" }], _meta: NEW });
    expect(runs()).toBe(2);
  });

  test.each([
    ["metadata", { _meta: { own: [1, { _meta: 2 }] } }, { own: [1, { _meta: 2 }], ...NEW }],
    ["empty metadata", { _meta: {} }, NEW],
    ["metadata that is none", { _meta: null, isError: true }, NEW],
  ])("keeps its own %s", async (_what, more, _meta) => {
    const { up, call } = await counting({}, (text) => (text === "run 2" ? more : {}));
    await call();
    up.sessions.clear();
    expect((await call()).result).toMatchObject({ content: [{ text: "run 2" }], ...more, _meta });
  });

  test("runs once in a new one where 404 comes with an error of the official servers", async () => {
    const forgotten = (exchange: Exchange) => exchange.error(-32001, "Session not found", 404);
    const { up, call, runs } = await counting({ forgotten });
    await call();
    up.sessions.clear();
    expect((await call()).result).toMatchObject({ content: [{ text: "run 2" }], _meta: NEW });
    expect(runs()).toBe(2);
  });

  test("runs once in a new one of a server of the official SDK", async () => {
    const sdk = await SdkServer.start();
    const { call } = await calling({ url: sdk.url, era: "2025" }, "announce");
    await call();
    sdk.forget();
    const { result } = await call();
    expect(result).toMatchObject({ content: [{ text: '"announced"' }], _meta: NEW });
  });

  test("is sent no third time where the server forgets the new one, too", async () => {
    const { up, call, runs } = await counting({
      first: ({ name }) => {
        if (name === "tools/call" && isForgetful) up.sessions.clear();
        return false;
      },
    });
    let isForgetful = false;
    await call();
    isForgetful = true;
    const { error } = await call();
    expect(error).toMatchObject({ code: -32000, data: { server: "up", fault: "sessionGone" } });
    expect([runs(), up.calls.length]).toEqual([1, 3]);
  });
});

describe("a call that may have run is not sent again", () => {
  /** The stream of a call breaks behind what `says` puts on it, and nobody knows the session when it is asked for. */
  async function breaking(says: (exchange: Exchange) => unknown) {
    const up = await OneToolUpstream.start("2025", (exchange) => {
      up.sessions.clear();
      says(exchange.stream());
      exchange.drop();
    });
    return { up, ...(await calling(up.entry)) };
  }

  test.each<[string, (exchange: Exchange) => unknown]>([
    [
      "after it told its progress",
      (exchange) => {
        const { _meta } = exchange.message["params"] as { _meta: { progressToken: number } };
        const params = { progressToken: _meta.progressToken, progress: 1 };
        exchange.event({ jsonrpc: "2.0", method: "notifications/progress", params }, "1");
      },
    ],
    ["after its stream had begun", (exchange) => exchange.event("", "1")],
    ["after it asked something", (exchange) => exchange.event({ jsonrpc: "2.0", id: "q", method: "roots/list" }, "1")],
  ])("%s, though the session is gone when the stream is continued", async (_when, says) => {
    const { up, call } = await breaking(says);
    const { error } = await call("2025-11-25", { _meta: { progressToken: "mine" } });
    expect(error).toMatchObject({ code: -32000, data: { server: "up" } });
    await up.endpoint.next("GET");
    expect(up.calls).toHaveLength(1);
  });

  test.each([
    ["400 without a word", (exchange: Exchange) => exchange.refuse(400)],
    ["400 and an error", (exchange: Exchange) => exchange.error(-32000, "Bad Request: No valid session ID", 400)],
    [
      "404 and an error of a method that it does not know",
      (exchange: Exchange) => exchange.error(-32601, "Method not found", 404),
    ],
    ["500", (exchange: Exchange) => exchange.refuse(500)],
  ])("after the server answered %s", async (_what, refuse) => {
    let isRefusing = false;
    const up = await OneToolUpstream.start("2025", (exchange) => {
      if (isRefusing) refuse(exchange);
      else exchange.result(textResult(exchange, "done"));
    });
    const { call } = await calling(up.entry);
    await call();
    isRefusing = true;
    expect((await call()).error).toBeDefined();
    expect(up.calls).toHaveLength(2);
  });
});

test("a call that may be sent twice is sent once more after 400, and its result says so, too", async () => {
  let isRestarted = false;
  const { up, call } = await counting({
    annotations: { readOnlyHint: true },
    first: (exchange) => {
      const isLost = isRestarted && exchange.headers["mcp-session-id"] === "session-2";
      if (exchange.name !== "tools/call" || !isLost) return false;
      exchange.error(-32000, "Bad Request: No valid session ID", 400);
      return true;
    },
  });
  await call();
  isRestarted = true;
  expect((await call()).result).toMatchObject({ content: [{ text: "run 2" }], _meta: NEW });
  expect(up.calls).toHaveLength(3);
});
