import { describe, expect, test } from "vitest";
import { classify, MAX_BATCH, type Classified, type InboundHeaders } from "../../src/protocol/classify.ts";
import { errorCode, errorStatus } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { META } from "../../src/protocol/meta.ts";

const REVISION = "2026-07-28";
const NO_HEADERS: InboundHeaders = { version: null, session: null, method: null, name: null };

type Headers = Partial<InboundHeaders>;
type Row = [title: string, body: unknown, headers: Headers, expected: string];

/** One line per outcome, so that a row of the table reads at a glance. */
function summary(classified: Classified): string {
  switch (classified.kind) {
    case "rejected": {
      const { era, id, failure } = classified;
      const shown = id === undefined ? "no id" : `id ${JSON.stringify(id)}`;
      return `${errorStatus(failure.error, era)} ${errorCode(failure.error, era)}, era ${era}, ${shown}`;
    }
    case "message2025":
      return `2025 ${classified.message.kind} as ${classified.revision.version}`;
    case "batch2025":
      return `2025 batch of ${classified.messages.length}`;
    case "request2026":
      return `2026 ${classified.message.method}`;
    case "ignored":
      return "ignored";
  }
}

const judge = (body: unknown, headers: Headers) => summary(classify(body, { ...NO_HEADERS, ...headers }));

const request = (method: string, params?: JsonObject) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  ...(params ? { params } : {}),
});
const notify = (method: string, params?: JsonObject) => ({ jsonrpc: "2.0", method, ...(params ? { params } : {}) });
const response = { jsonrpc: "2.0", id: 1, result: {} };

const claim = (version: unknown = REVISION, more: JsonObject = {}): JsonObject => ({
  _meta: { [META.protocolVersion]: version, [META.clientCapabilities]: {}, ...more },
});
const claimed = (method: string, params: JsonObject = {}) => request(method, { ...params, ...claim() });
const in2026 = (method: string, name: string | null = null): Headers => ({ version: REVISION, method, name });

const INITIALIZE = request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} });
const INVALID_METADATA = "400 -32602, era 2026, id 1";
const MISMATCH = "400 -32020, era 2026, id 1";
const UNSUPPORTED = "400 -32022, era 2026, id 1";

test.each<Row>([
  ["a posted response", response, {}, "2025 response as 2025-03-26"],
  ["a posted response with a revision", response, { version: "2025-11-25" }, "2025 response as 2025-11-25"],
  ["a batch without claims", [request("ping"), notify("x")], {}, "2025 batch of 2"],
  ["a claimed request", claimed("tools/list"), in2026("tools/list"), "2026 tools/list"],
  ["a claimed initialize", claimed("initialize"), in2026("initialize"), "2026 initialize"],
  ["a claimed ping", claimed("ping"), in2026("ping"), "2026 ping"],
  ["a claimed unknown method", claimed("unknown/method"), in2026("unknown/method"), "2026 unknown/method"],
  [
    "a claimed request in a stale session",
    claimed("tools/list"),
    { ...in2026("tools/list"), session: "stale" },
    "2026 tools/list",
  ],
  [
    "a claim and another version header",
    claimed("tools/list"),
    { ...in2026("tools/list"), version: "2025-11-25" },
    MISMATCH,
  ],
  [
    "a claim and a repeated version header",
    claimed("tools/list"),
    { ...in2026("tools/list"), version: `${REVISION}, ${REVISION}` },
    MISMATCH,
  ],
  ["a claim without version header", claimed("tools/list"), { method: "tools/list" }, MISMATCH],
  [
    "an unknown version, claimed and in the header",
    request("tools/list", claim("v999.0.0")),
    { version: "v999.0.0" },
    UNSUPPORTED,
  ],
  [
    "an unknown version claimed under a known header",
    request("tools/list", claim("v999.0.0")),
    { version: REVISION },
    MISMATCH,
  ],
  [
    "an unknown version claimed without a header",
    request("tools/list", claim("v999.0.0")),
    { version: null },
    MISMATCH,
  ],
  ["a claim of 2025-11-25", request("tools/list", claim("2025-11-25")), { version: "2025-11-25" }, UNSUPPORTED],
  ["an initialize that claims 2025-11-25", request("initialize", claim("2025-11-25")), { version: null }, MISMATCH],
  ["an unclaimed request under the 2026 header", request("tools/list", {}), { version: REVISION }, INVALID_METADATA],
  ["the same without params", request("server/discover"), { version: REVISION }, INVALID_METADATA],
  ["the same in a session", request("tools/list"), { version: REVISION, session: "s" }, INVALID_METADATA],
  [
    "an unclaimed request under an unknown header",
    request("tools/list"),
    { version: "9" },
    "400 -32602, era 2025, id 1",
  ],
  ["the same in a session", request("tools/list"), { version: "v999.0.0", session: "s" }, "400 -32602, era 2025, id 1"],
  ["initialize without a header", INITIALIZE, {}, "2025 request as 2025-03-26"],
  ["initialize under its revision", INITIALIZE, { version: "2025-11-25" }, "2025 request as 2025-11-25"],
  ["initialize with Mcp-Method", INITIALIZE, { method: "initialize" }, "2025 request as 2025-03-26"],
  ["initialize under an unknown header", INITIALIZE, { version: "1.0" }, "2025 request as 2025-03-26"],
  ["initialize under the 2026 header", INITIALIZE, { version: REVISION }, MISMATCH],
  ["a bare request", request("tools/list"), {}, "2025 request as 2025-03-26"],
  ["a bare request under 2024-10-07", request("tools/list"), { version: "2024-10-07" }, "2025 request as 2024-11-05"],
  ["a bare request under 2024-11-05", request("tools/list"), { version: "2024-11-05" }, "2025 request as 2024-11-05"],
  ["a bare request under 2025-03-26", request("tools/list"), { version: "2025-03-26" }, "2025 request as 2025-03-26"],
  ["a bare request under 2025-06-18", request("tools/list"), { version: "2025-06-18" }, "2025 request as 2025-06-18"],
  ["a bare request under 2025-11-25", request("tools/list"), { version: "2025-11-25" }, "2025 request as 2025-11-25"],
  [
    "a request of a session",
    request("tools/list"),
    { version: "2025-11-25", session: "s" },
    "2025 request as 2025-11-25",
  ],
  ["a request of a session, no version", request("tools/list"), { session: "s" }, "2025 request as 2025-03-26"],
  [
    "wrong Mcp-Method and Mcp-Name in era 2025",
    request("tools/call", { name: "a" }),
    { method: "prompts/list", name: "b" },
    "2025 request as 2025-03-26",
  ],
  ["a notification under the 2026 header", notify("notifications/cancelled"), { version: REVISION }, "ignored"],
  ["a claimed notification", notify("notifications/cancelled", claim()), {}, "ignored"],
  ["a notification", notify("notifications/initialized"), {}, "2025 notification as 2025-03-26"],
  ["a notification under an unknown header", notify("x"), { version: "9" }, "400 -32602, era 2025, no id"],
  ["a batch with a claim among others", [request("ping"), claimed("ping")], {}, "400 -32600, era 2026, no id"],
  ["a batch with a claimed notification", [notify("x", claim())], {}, "400 -32600, era 2026, no id"],
  ["a batch under the 2026 header", [request("ping")], { version: REVISION }, "400 -32600, era 2026, no id"],
  ["a batch with initialize", [INITIALIZE], {}, "400 -32600, era 2025, no id"],
  ["an empty batch", [], {}, "400 -32600, era 2025, no id"],
  ["the largest batch", Array.from({ length: MAX_BATCH }, () => request("ping")), {}, `2025 batch of ${MAX_BATCH}`],
  [
    "a batch over the limit",
    Array.from({ length: MAX_BATCH + 1 }, () => request("ping")),
    {},
    "400 -32600, era 2025, no id",
  ],
  ["a batch of rubbish", [1, {}, "x"], {}, "2025 batch of 3"],
  ["no object", "text", {}, "400 -32600, era 2025, no id"],
  ["no object under the 2026 header", 5, { version: REVISION }, "400 -32600, era 2026, no id"],
  ["another JSON-RPC", { jsonrpc: "1.0", id: 1, method: "m" }, {}, "400 -32600, era 2025, id 1"],
  ["an id of null", { jsonrpc: "2.0", id: null, method: "m" }, {}, "400 -32600, era 2025, id null"],
  ["an id that is no id", { jsonrpc: "2.0", id: 1.5, method: "m" }, {}, "400 -32600, era 2025, no id"],
])("%s", (_title, body, headers, expected) => {
  expect(judge(body, headers)).toBe(expected);
});

test("a refused response is answered without its id, which is no id of the client's", () => {
  expect(judge(response, { version: REVISION })).toBe("400 -32600, era 2026, no id");
  expect(judge(response, { version: "v9" })).toBe("400 -32602, era 2025, no id");
});

test("a claim that is no object of _meta is no claim", () => {
  for (const _meta of [[], "x", null, 5, { protocolVersion: REVISION }, { other: 1 }]) {
    expect(judge(request("tools/list", { _meta }), { version: "2025-11-25" })).toBe("2025 request as 2025-11-25");
    expect(judge(request("tools/list", { _meta }), { version: REVISION })).toBe(INVALID_METADATA);
  }
});

describe("the _meta of era 2026", () => {
  const discover = (meta: JsonObject) => judge(request("server/discover", { _meta: meta }), in2026("server/discover"));
  const whole = { [META.protocolVersion]: REVISION, [META.clientCapabilities]: {} };

  test("needs the version and the client's capabilities, and nothing else", () => {
    expect(discover(whole)).toBe("2026 server/discover");
    expect(discover({ [META.clientCapabilities]: {} })).toBe(INVALID_METADATA);
    expect(discover({ [META.protocolVersion]: REVISION })).toBe(INVALID_METADATA);
  });

  test.each<[JsonObject]>([
    [{ [META.clientCapabilities]: null }],
    [{ [META.clientCapabilities]: [] }],
    [{ [META.clientCapabilities]: "all" }],
    [{ [META.clientInfo]: "me" }],
    [{ [META.clientInfo]: null }],
    [{ [META.logLevel]: "loud" }],
    [{ [META.logLevel]: null }],
  ])("refuses %j", (wrong) => {
    expect(discover({ ...whole, ...wrong })).toBe(INVALID_METADATA);
  });

  test("refuses a claimed version that is no text", () => {
    for (const version of [5, null, [REVISION]])
      expect(discover({ ...whole, [META.protocolVersion]: version })).toBe(INVALID_METADATA);
  });

  test.each<[JsonObject]>([
    [{ [META.clientInfo]: { name: "c", version: "1" } }],
    [{ [META.logLevel]: "debug" }],
    [{ progressToken: 1, traceparent: "00-1-2-01", "com.example/x": [1] }],
  ])("accepts %j", (more) => {
    expect(discover({ ...whole, ...more })).toBe("2026 server/discover");
  });

  test("is handed on with the request", () => {
    const body = claimed("tools/list", { cursor: "c" });
    const classified = classify(body, { ...NO_HEADERS, ...in2026("tools/list") });
    expect(classified).toMatchObject({
      kind: "request2026",
      params: body.params,
      message: { id: 1, params: body.params },
    });
  });
});

describe("the standard headers of era 2026", () => {
  test.each<Row>([
    ["another method", claimed("tools/list"), in2026("prompts/list"), MISMATCH],
    ["no method", claimed("tools/list"), { version: REVISION }, MISMATCH],
    ["the tool's name", claimed("tools/call", { name: "a" }), in2026("tools/call", "a"), "2026 tools/call"],
    ["another tool's name", claimed("tools/call", { name: "a" }), in2026("tools/call", "wrong"), MISMATCH],
    ["no tool name", claimed("tools/call", { name: "a" }), in2026("tools/call"), MISMATCH],
    ["no prompt name", claimed("prompts/get", { name: "a" }), in2026("prompts/get"), MISMATCH],
    ["the prompt's name", claimed("prompts/get", { name: "a" }), in2026("prompts/get", "a"), "2026 prompts/get"],
    ["the URI", claimed("resources/read", { uri: "a:b" }), in2026("resources/read", "a:b"), "2026 resources/read"],
    ["no URI", claimed("resources/read", { uri: "a:b" }), in2026("resources/read"), MISMATCH],
    ["a name where none is mirrored", claimed("tools/list"), in2026("tools/list", "x"), "2026 tools/list"],
  ])("%s", (_title, body, headers, expected) => {
    expect(judge(body, headers)).toBe(expected);
  });
});

describe("the order of refusals", () => {
  const broken = { _meta: { [META.protocolVersion]: "v9" }, name: "a" };

  test("goes from version match to version, _meta and standard headers", () => {
    expect(judge(request("tools/call", broken), { version: REVISION })).toBe(MISMATCH);
    expect(judge(request("tools/call", broken), { version: "v9" })).toBe(UNSUPPORTED);
    const known = { ...broken, _meta: { [META.protocolVersion]: REVISION } };
    expect(judge(request("tools/call", known), { version: REVISION })).toBe(INVALID_METADATA);
    const complete = { name: "a", ...claim() };
    expect(judge(request("tools/call", complete), { version: REVISION })).toBe(MISMATCH);
    expect(judge(request("tools/call", complete), in2026("tools/call", "a"))).toBe("2026 tools/call");
  });

  test("an unsupported version is answered with what is supported and what was asked", () => {
    const classified = classify(request("ping", claim("v9")), { ...NO_HEADERS, version: "v9" });
    expect(classified).toMatchObject({ failure: { data: { supported: [REVISION], requested: "v9" } } });
  });

  test("a missing version header and a wrong one have different errors", () => {
    const refusal = (version: string | null) => classify(claimed("ping"), { ...NO_HEADERS, version });
    expect(refusal(null)).toMatchObject({ failure: { message: expect.stringContaining("is required") } });
    expect(refusal("v9")).toMatchObject({ failure: { message: expect.stringContaining("does not match") } });
  });

  test("a refusal of a header does not repeat more of it than a line", () => {
    const version = "9".repeat(5000);
    const classified = classify(request("ping"), { ...NO_HEADERS, version });
    expect(JSON.stringify(classified).length).toBeLessThan(300);
  });
});
