import { describe, expect, test } from "vitest";
import { tamper } from "../support/tamper.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2025, client2026, post, REVISIONS_2025, type Json, type Reply } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { expectRefusal, sendWritten } from "../support/refusal.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;
const BOTH = "application/json, text/event-stream";

const call = (method: string, params: Json = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });

function initialize(protocolVersion: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  return post(lab, call("initialize", params), { headers: { accept: BOTH, ...headers } });
}

function sessionOf(reply: Reply): string {
  const session = reply.headers.get("mcp-session-id") ?? "";
  expect(session).toMatch(/^[\x21-\x7e]{1,512}$/);
  return session;
}

const inSession = (session: string, method: string, headers: Record<string, string> = {}, params: Json = {}) =>
  post(lab, call(method, params), { headers: { accept: BOTH, "mcp-session-id": session, ...headers } });

/**
 * What of the revision shows in an answer: 2025-03-26 and earlier know no output schema, and only from 2025-11-25 on
 * are wrong arguments a result.
 */
async function shownBy(headers: Record<string, string>): Promise<string[]> {
  const list = await post(lab, call("tools/list"), { headers });
  const strict = (list.result.tools as Json[]).find(({ name }) => name === "lab_strict");
  const wrong = await post(lab, call("tools/call", { name: "lab_strict", arguments: {} }), { headers });
  const ping = await post(lab, call("ping"), { headers });
  const batch = await post(lab, [call("ping")], { headers });
  const features = [
    strict?.outputSchema === undefined ? "" : "output schemas",
    wrong.error === undefined ? "mendable arguments" : "",
    ping.result._meta === undefined ? "" : "timed ping",
    batch.status === 200 ? "batches" : "",
  ];
  return features.filter(Boolean);
}

const VISIBLE_FEATURES: Readonly<Record<(typeof REVISIONS_2025)[number], readonly string[]>> = {
  "2024-11-05": ["timed ping"],
  "2025-03-26": ["batches"],
  "2025-06-18": ["output schemas"],
  "2025-11-25": ["output schemas", "mendable arguments"],
};

describe.each(REVISIONS_2025)("initialize with %s", (revision) => {
  test("is answered with that revision, and its session speaks it without a header", async () => {
    const reply = await initialize(revision);
    expect(reply).toMatchObject({ status: 200, result: { protocolVersion: revision } });
    const session = sessionOf(reply);
    expect(await shownBy({ accept: BOTH, "mcp-session-id": session })).toEqual(VISIBLE_FEATURES[revision]);
  });

  test("is answered alike whatever its version header says, except 2026-07-28", async () => {
    for (const version of [...REVISIONS_2025, "1.0", "2024-10-07", "2099-01-01"]) {
      const reply = await initialize(revision, { "mcp-protocol-version": version });
      expect(reply.result.protocolVersion).toBe(revision);
    }
    const mixed = await initialize(revision, { "mcp-protocol-version": "2026-07-28" });
    expect(mixed).toMatchObject({ status: 400, error: { code: -32020 } });
  });

  test("declares what is served and what is pushed", async () => {
    const { result } = await initialize(revision);
    expect(result.capabilities).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      completions: {},
      logging: {},
    });
    expect(result.serverInfo).toMatchObject({ name: "tenantry-fixtures", title: "Lab" });
  });

  test("the header of a later request selects the same revision without a session", async () => {
    expect(await shownBy({ accept: BOTH, "mcp-protocol-version": revision })).toEqual(VISIBLE_FEATURES[revision]);
  });
});

describe("initialize with an unknown revision", () => {
  test("is answered 2025-11-25, which its session speaks", async () => {
    const dates = ["2023-01-01", "2025-11-26", "2099-12-31", "2026-07-28"];
    for (const requested of ["1.0", "2.0.0", "latest", "", "__proto__", ...dates]) {
      const reply = await initialize(requested);
      expect({ requested, ...reply }).toMatchObject({
        requested,
        status: 200,
        result: { protocolVersion: "2025-11-25" },
      });
      const headers = { accept: BOTH, "mcp-session-id": sessionOf(reply), "mcp-protocol-version": "2025-11-25" };
      expect({ requested, shown: await shownBy(headers) }).toEqual({
        requested,
        shown: VISIBLE_FEATURES["2025-11-25"],
      });
    }
  });

  test("2024-10-07 is echoed and served as 2024-11-05", async () => {
    const reply = await initialize("2024-10-07");
    expect(reply.result.protocolVersion).toBe("2024-10-07");
    expect(await shownBy({ accept: BOTH, "mcp-session-id": sessionOf(reply) })).toEqual(VISIBLE_FEATURES["2024-11-05"]);
  });

  test("a version that is no date gets the time in its pings, a revision that is merely unknown does not", async () => {
    const unofficial = await inSession(sessionOf(await initialize("1.0")), "ping");
    expect(unofficial.result).toEqual({ timestamp: expect.any(Number) as number });
    const unknown = await inSession(sessionOf(await initialize("2099-12-31")), "ping");
    expect(unknown.result).toEqual({});
  });

  test("a version that is not a string is an error", async () => {
    for (const version of [undefined, null, 1, {}, ["2025-11-25"]]) {
      expect(await initialize(version)).toMatchObject({ status: 200, error: { code: -32602 } });
    }
  });
});

describe("a session", () => {
  test("is refused when it was changed, is of another tenant, or was never one", async () => {
    const session = sessionOf(await initialize("2025-11-25"));
    const foreign = await post(`${origin}/mcp/founding`, call("tools/list"), {
      headers: { accept: BOTH, "mcp-session-id": session },
    });
    expect(foreign).toMatchObject({ status: 404, error: { code: -32600 }, id: 1 });
    for (const id of [session.slice(0, -1), tamper(session), "none", "x".repeat(513), "."]) {
      expect(await inSession(id, "tools/list")).toMatchObject({ status: 404, error: { code: -32600 }, id: 1 });
    }
  });

  test("keeps its revision when the header says another, and refuses a header that is no revision", async () => {
    const session = sessionOf(await initialize("2025-06-18"));
    const other = await inSession(
      session,
      "tools/call",
      { "mcp-protocol-version": "2025-11-25" },
      { name: "lab_strict" },
    );
    expect(other.error?.code).toBe(-32602);
    const wrong = await inSession(session, "tools/list", { "mcp-protocol-version": "2099-01-01" });
    expect(wrong).toMatchObject({ status: 400, error: { code: -32602 } });
  });

  test("keeps its log level, which a request without one has nowhere to keep", async () => {
    const client = await client2025(lab);
    expect((await client.request("logging/setLevel", { level: "info" })).result).toEqual({});
    expect((await client.request("logging/setLevel", { level: "loud" })).error?.code).toBe(-32602);
    const { headers, body } = write("2025-11-25", "logging/setLevel", { level: "info" });
    const error = expectRefusal(await sendWritten(lab, { headers, body }), "2025-11-25", {
      status: 400,
      code: -32600,
      id: 1,
    });
    expect(error.message).toMatch(/session/);
  });
});

describe("a bare POST", () => {
  test.each([
    ["no Accept", {}],
    ["*/*", { accept: "*/*" }],
    ["JSON only", { accept: "application/json" }],
    ["any application type", { accept: "application/*" }],
  ])("with %s is answered at once as JSON, in 2025-03-26", async (_what, headers: Record<string, string>) => {
    // fetch adds an Accept of its own, so the one without is sent by hand.
    const { body } = write("2025-03-26", "tools/list");
    const reply = await sendWritten(lab, { headers: { "content-type": "application/json", ...headers }, body });
    expect(reply).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    expect(reply.headers).not.toHaveProperty("mcp-session-id");
    expect(await shownBy(headers)).toEqual(VISIBLE_FEATURES["2025-03-26"]);
  });

  test("with a version header that no revision of era 2025 has is refused", async () => {
    for (const version of ["1.0", "2024-10-08", "2099-01-01", "x".repeat(5000)]) {
      const { headers, body } = write("2025-11-25", "tools/list");
      const reply = await sendWritten(lab, { headers: { ...headers, "mcp-protocol-version": version }, body });
      expectRefusal(reply, "2025-11-25", { status: 400, code: -32602, id: 1 });
      expect(reply.text.length).toBeLessThan(300);
    }
  });
});

describe("2026-07-28", () => {
  test("is discovered without anything before it", async () => {
    const { status, result } = await client2026(lab).request("server/discover");
    expect(status).toBe(200);
    expect(result).toMatchObject({ resultType: "complete", supportedVersions: ["2026-07-28"] });
  });

  test("has neither initialize nor ping nor logging/setLevel", async () => {
    for (const method of ["initialize", "ping", "logging/setLevel"]) {
      const { status, error } = await client2026(lab).request(method, { protocolVersion: "2026-07-28" });
      expect({ status, code: error?.code }).toEqual({ status: 404, code: -32601 });
    }
  });

  const REQUEST = write("2026-07-28", "tools/call", { name: "lab_echo", arguments: {} });
  const meta = (REQUEST.body.params as Json)._meta as Json;
  const withMeta = (changed: Json) => ({ ...REQUEST.body, params: { name: "lab_echo", _meta: changed } });
  const VERSION = "io.modelcontextprotocol/protocolVersion";

  test.each([
    ["no Mcp-Method", { "mcp-method": undefined }],
    ["another Mcp-Method", { "mcp-method": "tools/list" }],
    ["no Mcp-Name", { "mcp-name": undefined }],
    ["another Mcp-Name", { "mcp-name": "lab_strict" }],
    ["an Mcp-Name that is no Base64", { "mcp-name": "=?base64?!!?=" }],
    ["no version header", { "mcp-protocol-version": undefined }],
    ["the version header of another revision", { "mcp-protocol-version": "2025-11-25" }],
  ])("with %s is a header mismatch", async (_what, changed) => {
    const headers = Object.fromEntries(
      Object.entries({ ...REQUEST.headers, ...changed }).filter(([, value]) => value !== undefined),
    ) as Record<string, string>;
    const reply = await sendWritten(lab, { headers, body: REQUEST.body });
    expectRefusal(reply, "2026-07-28", { status: 400, code: -32020, id: 1 });
  });

  test.each([
    ["without _meta", { ...REQUEST.body, params: { name: "lab_echo" } }],
    ["without params", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
    ["with a claim that is a number", withMeta({ ...meta, [VERSION]: 2026 })],
    ["with a claim that is null", withMeta({ ...meta, [VERSION]: null })],
    ["without client capabilities", withMeta({ [VERSION]: "2026-07-28" })],
    ["with client information that is a text", withMeta({ ...meta, "io.modelcontextprotocol/clientInfo": "me" })],
    ["with an unknown log level", withMeta({ ...meta, "io.modelcontextprotocol/logLevel": "loud" })],
  ])("%s the _meta is incomplete", async (_what, body) => {
    const reply = await sendWritten(lab, { headers: REQUEST.headers, body });
    expectRefusal(reply, "2026-07-28", { status: 400, code: -32602, id: 1 });
  });

  test("a claim of a revision that is not served names those that are", async () => {
    const headers = { ...REQUEST.headers, "mcp-protocol-version": "2027-01-01" };
    const reply = await sendWritten(lab, { headers, body: withMeta({ ...meta, [VERSION]: "2027-01-01" }) });
    const { data } = expectRefusal(reply, "2026-07-28", { status: 400, code: -32022, id: 1 });
    expect(data).toEqual({ supported: ["2026-07-28"], requested: "2027-01-01" });
  });

  test("needs no session, and one of era 2025 changes nothing", async () => {
    const session = sessionOf(await initialize("2025-06-18"));
    for (const id of [session, "none"]) {
      const reply = await client2026(lab).request("tools/list", {}, { headers: { "mcp-session-id": id } });
      expect(reply).toMatchObject({ status: 200, result: { resultType: "complete" } });
    }
  });
});
