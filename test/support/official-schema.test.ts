// Tests the oracle itself: it accepts a good message of every method of every revision, and each definition it relies on
// refuses bad ones. An oracle that accepts everything would make every other test pass.
import { describe, expect, it } from "vitest";
import {
  expectOfficial,
  OFFICIAL_REVISIONS,
  officialMethods,
  officialViolations,
  parseSchemaBundle,
  type Sender,
} from "./official-schema.ts";

type Json = Record<string, unknown>;
type Example = { params?: Json; result?: Json };
type Case = {
  title: string;
  revision: string;
  direction: Sender;
  method: string;
  part: "params" | "result";
  message: Json;
};

const SENDERS: Sender[] = ["client", "server"];
const ERA_2025 = OFFICIAL_REVISIONS.filter((revision) => revision < "2026");
const INFO = { name: "probe", version: "1.0.0" };
const TEXT = { type: "text", text: "hello" };
const URI = "file:///notes/a.md";
const TEXT_CONTENTS = { uri: URI, text: "a" };
const TIME = "2026-01-01T00:00:00Z";
const TASK = { taskId: "t1", status: "working", createdAt: TIME, lastUpdatedAt: TIME, ttl: 1000 };
const SAMPLING = { maxTokens: 10, messages: [{ role: "user", content: TEXT }] };
const FORM = { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
const META_2026 = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": INFO,
  "io.modelcontextprotocol/clientCapabilities": {},
};

const EXAMPLES: Record<string, Example> = {
  ping: { result: {} },
  initialize: {
    params: { protocolVersion: "2025-11-25", capabilities: { roots: { listChanged: true } }, clientInfo: INFO },
    result: { protocolVersion: "2025-11-25", capabilities: { tools: { listChanged: true } }, serverInfo: INFO },
  },
  "server/discover": {
    params: {},
    result: { supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } },
  },
  "tools/list": {
    params: { cursor: "c" },
    result: { tools: [{ name: "add", inputSchema: { type: "object" } }], nextCursor: "d" },
  },
  "tools/call": { params: { name: "add", arguments: { a: 1 } }, result: { content: [TEXT], isError: false } },
  "resources/list": { params: { cursor: "c" }, result: { resources: [{ uri: URI, name: "a" }] } },
  "resources/templates/list": {
    params: { cursor: "c" },
    result: { resourceTemplates: [{ uriTemplate: "file:///{path}", name: "files" }] },
  },
  "resources/read": {
    params: { uri: URI },
    result: { contents: [TEXT_CONTENTS, { uri: URI, blob: "YQ==" }] },
  },
  "resources/subscribe": { params: { uri: URI }, result: {} },
  "resources/unsubscribe": { params: { uri: URI }, result: {} },
  "prompts/list": { params: { cursor: "c" }, result: { prompts: [{ name: "greet", arguments: [{ name: "who" }] }] } },
  "prompts/get": {
    params: { name: "greet", arguments: { who: "x" } },
    result: { messages: [{ role: "user", content: TEXT }] },
  },
  "completion/complete": {
    params: { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "who", value: "x" } },
    result: { completion: { values: ["xavier"], total: 1, hasMore: false } },
  },
  "logging/setLevel": { params: { level: "info" }, result: {} },
  "subscriptions/listen": {
    params: { notifications: { toolsListChanged: true } },
    result: { _meta: { "io.modelcontextprotocol/subscriptionId": 1 } },
  },
  "sampling/createMessage": { params: SAMPLING, result: { model: "m", role: "assistant", content: TEXT } },
  "roots/list": { result: { roots: [{ uri: URI }] } },
  "elicitation/create": { params: FORM, result: { action: "accept", content: { name: "x" } } },
  "tasks/get": { params: { taskId: "t1" }, result: TASK },
  "tasks/result": { params: { taskId: "t1" }, result: { anything: 1 } },
  "tasks/cancel": { params: { taskId: "t1" }, result: TASK },
  "tasks/list": { params: { cursor: "c" }, result: { tasks: [TASK] } },
  "notifications/initialized": {},
  "notifications/cancelled": { params: { requestId: 1, reason: "late" } },
  "notifications/progress": { params: { progressToken: "p", progress: 0.5, total: 1 } },
  "notifications/message": { params: { level: "info", data: { a: 1 } } },
  "notifications/resources/updated": { params: { uri: URI } },
  "notifications/tasks/status": { params: TASK },
  "notifications/elicitation/complete": { params: { elicitationId: "e1" } },
  "notifications/subscriptions/acknowledged": { params: { notifications: { toolsListChanged: true } } },
};

// Known members without which a message is still valid, as "member in method of revision", and members of any type.
const OPTIONAL = [
  /^(cursor|nextCursor|arguments|reason|total|isError) in /,
  /^content in elicitation.create /,
  /^requestId in notifications.cancelled of 2025-11-25$/,
];
const ANY_TYPE = new Set(["data", "anything"]);

const CACHEABLE = /^(server\/discover|resources\/read|resources\/templates\/list|(tools|resources|prompts)\/list)$/;
// Places inside a result, and what no revision allows there.
const DEEP: [method: string, path: string, value: unknown][] = [
  ["tools/list", "tools.0.name", 1],
  ["tools/list", "tools.0.inputSchema.type", "array"],
  ["tools/call", "content.0.type", "nope"],
  ["tools/call", "content.0.text", 1],
  ["resources/list", "resources.0.uri", null],
  ["resources/templates/list", "resourceTemplates.0.name", 1],
  ["resources/read", "contents.0.text", 1],
  ["resources/read", "contents.1.blob", "not base64!"],
  ["prompts/list", "prompts.0.arguments.0.name", 1],
  ["prompts/get", "messages.0.role", "system"],
  ["completion/complete", "completion.values.0", 1],
  ["initialize", "serverInfo.version", 1],
  ["initialize", "capabilities.tools.listChanged", "yes"],
  ["server/discover", "capabilities.tools.listChanged", "yes"],
  ["sampling/createMessage", "content.type", "nope"],
  ["roots/list", "roots.0.uri", null],
  ["elicitation/create", "content.name", {}],
  ["tasks/get", "status", "gone"],
];
const opposite = (sender: Sender): Sender => (sender === "client" ? "server" : "client");

function resultOf(revision: string, method: string): Json {
  const result = EXAMPLES[method]?.result ?? {};
  if (revision !== "2026-07-28") return result;
  return { ...result, resultType: "complete", ...(CACHEABLE.test(method) ? { ttlMs: 0, cacheScope: "private" } : {}) };
}

/** One valid request, notification or response for every entry of the revision's method table. */
function casesOf(revision: string): Case[] {
  const cases: Case[] = [];
  for (const direction of SENDERS) {
    const { requests, notifications } = officialMethods(revision)[direction];
    for (const method of [...requests.keys(), ...notifications.keys()]) {
      const example = method.endsWith("/list_changed") ? {} : EXAMPLES[method];
      if (!example) throw new Error(`no example for ${method}`);
      const isRequest = requests.has(method);
      const params = isRequest && revision === "2026-07-28" ? { ...example.params, _meta: META_2026 } : example.params;
      const call = { jsonrpc: "2.0", ...(isRequest ? { id: 1 } : {}), method, ...(params ? { params } : {}) };
      const at = { revision, direction, method };
      cases.push({ ...at, title: `${method} from the ${direction}`, part: "params", message: call });
      if (!isRequest) continue;
      const message = { jsonrpc: "2.0", id: 1, result: resultOf(revision, method) };
      cases.push({ ...at, title: `${method} result`, direction: opposite(direction), part: "result", message });
    }
  }
  return cases;
}

const judge = ({ revision, direction, method }: Case, message: Json) =>
  officialViolations(revision, message, { direction, method });

/** Whether the specific definition, not only JSON-RPC, refuses the case with another payload. */
function refuses(sample: Case, payload: unknown): boolean {
  const kind = sample.part === "result" ? "result" : "id" in sample.message ? "request" : "notification";
  const found = judge(sample, { ...sample.message, [sample.part]: payload });
  return found.some((text) => text.startsWith(`${sample.method} ${kind}: `));
}

describe.each(OFFICIAL_REVISIONS)("%s", (revision) => {
  const cases = casesOf(revision);

  it.each(cases)("accepts $title", (sample) => {
    expect(judge(sample, sample.message)).toEqual([]);
    expect(() => expectOfficial(revision, sample.message, sample)).not.toThrow();
    expect(officialViolations(revision, sample.message)).toEqual([]);
  });

  it.each(cases)("refuses mutations of $title", (sample) => {
    const payload = (sample.message[sample.part] ?? {}) as Json;
    const members = Object.keys(payload).filter((key) => !ANY_TYPE.has(key));
    const isOptional = (key: string) => OPTIONAL.some((rule) => rule.test(`${key} in ${sample.method} of ${revision}`));
    expect(refuses(sample, "wrong")).toBe(true);
    for (const key of members) {
      const wrong = typeof payload[key] === "object" ? "wrong" : ["wrong"];
      expect(refuses(sample, { ...payload, [key]: wrong }), `${key} of the wrong type`).toBe(true);
      const { [key]: _, ...rest } = payload;
      if (!isOptional(key)) expect(refuses(sample, rest), `without ${key}`).toBe(true);
    }
  });

  it.each(DEEP.filter(([method]) => cases.some((sample) => sample.method === method)))(
    "looks deep into a %s result: %s",
    (method, path, value) => {
      const sample = cases.find((one) => one.method === method && one.part === "result") as Case;
      const result = structuredClone(sample.message["result"]) as Json;
      const keys = path.split(".");
      const last = keys.pop() ?? "";
      const holder = keys.reduce<Json>((inner, key) => inner[key] as Json, result);
      expect(holder).toHaveProperty(last);
      holder[last] = value;
      expect(refuses(sample, result)).toBe(true);
    },
  );

  it("refuses messages that are no JSON-RPC", () => {
    const good = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    for (const message of [null, "x", {}]) expect(officialViolations(revision, message)).toHaveLength(1);
    const bad: unknown[] = [
      { ...good, jsonrpc: "1.0" },
      { ...good, id: null },
      { ...good, id: 1.5 },
      { ...good, method: 1 },
      { ...good, params: [] },
      { jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "x" } },
      { jsonrpc: "2.0", result: {} },
      { jsonrpc: "2.0", id: null, result: {} },
      { jsonrpc: "2.0", id: 1, result: [] },
      { jsonrpc: "2.0", id: 1, error: { code: "x", message: "x" } },
      { jsonrpc: "2.0", id: 1, error: { code: -32603 } },
      { id: 1, error: { code: -32603, message: "x" } },
    ];
    for (const message of bad) expect(officialViolations(revision, message), JSON.stringify(message)).not.toEqual([]);
  });

  it("refuses a method that this sender may not use, and a result of an unknown method", () => {
    const listing = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META_2026 } };
    expect(officialViolations(revision, listing, { direction: "client" })).toEqual([]);
    expect(officialViolations(revision, listing, { direction: "server" })).toEqual([
      `tools/list request: ${revision} knows no such request from a server`,
    ]);
    const result = { jsonrpc: "2.0", id: 1, result: { resultType: "complete" } };
    expect(officialViolations(revision, result, { direction: "server", method: "no/such" })).toEqual([
      `no/such result: ${revision} knows no such request from a client`,
    ]);
    expect(officialViolations(revision, { jsonrpc: "2.0", id: 1, method: "no/such" })).toEqual([]);
  });
});

describe("method tables", () => {
  const known = (revision: string, sender: Sender, method: string) => {
    const { requests, notifications } = officialMethods(revision)[sender];
    return requests.has(method) || notifications.has(method);
  };
  const holders = (sender: Sender, method: string) =>
    OFFICIAL_REVISIONS.filter((revision) => known(revision, sender, method));

  it.each([
    ["client", ["tools/list", "tools/call", "prompts/get", "notifications/cancelled"], OFFICIAL_REVISIONS],
    ["client", ["initialize", "ping", "notifications/initialized", "logging/setLevel"], ERA_2025],
    ["client", ["resources/subscribe", "resources/unsubscribe"], ERA_2025],
    ["server", ["ping", "sampling/createMessage", "roots/list"], ERA_2025],
    ["server", ["elicitation/create"], ["2025-06-18", "2025-11-25"]],
    ["server", ["notifications/elicitation/complete", "tasks/get"], ["2025-11-25"]],
    ["client", ["server/discover", "subscriptions/listen"], ["2026-07-28"]],
    ["server", ["notifications/subscriptions/acknowledged"], ["2026-07-28"]],
  ] as const)("%s %j exist where the specification has them", (sender, methods, revisions) => {
    for (const method of methods) expect(holders(sender, method), method).toEqual(revisions);
  });

  it("an unknown revision is an error, not a pass", () => {
    expect(() => officialViolations("2025-01-01", {})).toThrow("unknown revision 2025-01-01");
  });
});

describe("errors", () => {
  const failure = (code: number, data?: unknown) => ({
    jsonrpc: "2.0",
    id: 1,
    error: { code, message: "no", ...(data === undefined ? {} : { data }) },
  });

  it.each([-32000, -32001, -32002, -32019, -32042])("2026-07-28 forbids %i, era 2025 does not", (code) => {
    const data = { elicitations: [{ mode: "url", message: "m", url: "https://a.example/", elicitationId: "e" }] };
    expect(officialViolations("2026-07-28", failure(code, data))).toEqual([
      `unattributed error: /error/code ${code} is a code that 2026-07-28 forbids`,
    ]);
    for (const revision of ERA_2025) expect(officialViolations(revision, failure(code, data))).toEqual([]);
  });

  it.each([-32700, -32603, -32602, -32601, -32600, -31999, -32020, 7])("2026-07-28 allows %i", (code) => {
    expect(officialViolations("2026-07-28", failure(code))).toEqual([]);
  });

  it.each([
    ["2026-07-28", -32021, { requiredCapabilities: { sampling: {} } }, { requiredCapabilities: { sampling: 1 } }],
    ["2026-07-28", -32022, { requested: "x", supported: ["2026-07-28"] }, { requested: "x", supported: "2026-07-28" }],
    ["2025-11-25", -32042, { elicitations: [] }, { elicitations: [{ mode: "url" }] }],
  ])("%s %i has data of its own", (revision, code, good, bad) => {
    expect(officialViolations(revision, failure(code, good))).toEqual([]);
    expect(officialViolations(revision, failure(code, bad))).not.toEqual([]);
    expect(officialViolations(revision, failure(code))).toEqual([
      "unattributed error: /error must have required property 'data'",
    ]);
  });

  it("an id that could not be read is null in era 2025 and absent in 2026-07-28", () => {
    const { id: _, ...absent } = failure(-32700);
    const refused = (message: Json) =>
      OFFICIAL_REVISIONS.filter((revision) => officialViolations(revision, message).length > 0);
    expect(refused({ ...absent, id: null })).toEqual(["2026-07-28"]);
    expect(refused(absent)).toEqual(["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18"]);
    expect(refused({ ...absent, id: {} })).toEqual(OFFICIAL_REVISIONS);
  });
});

describe("batches", () => {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const answer = { jsonrpc: "2.0", id: 1, result: { tools: [] } };

  it("exist in 2025-03-26 only", () => {
    expect(OFFICIAL_REVISIONS.filter((revision) => officialViolations(revision, [call]).length === 0)).toEqual([
      "2025-03-26",
    ]);
  });

  it("are judged item by item and never mixed", () => {
    const context = { direction: "server", method: "tools/list" } as const;
    const parseError = { jsonrpc: "2.0", id: null, error: { code: -32700, message: "x" } };
    expect(officialViolations("2025-03-26", [answer, parseError], context)).toEqual([]);
    expect(officialViolations("2025-03-26", [answer, { ...answer, result: {} }], context)).toEqual([
      "[1] tools/list result: must have required property 'tools'",
    ]);
    expect(officialViolations("2025-03-26", [call, answer])).toEqual([
      "JSON-RPC: a batch holds calls or responses, not both",
    ]);
    expect(officialViolations("2025-03-26", [[call]])).toContain("JSON-RPC: a batch holds no batch");
  });
});

describe("what the schemas say in one place only", () => {
  const context = (method: string) => ({ direction: "server", method }) as const;
  const response = (result: Json) => ({ jsonrpc: "2.0", id: 1, result });

  it.each(["tools/call", "prompts/get", "resources/read"])("2026-07-28 %s may ask for input", (method) => {
    const inputRequests = {
      who: { method: "elicitation/create", params: FORM },
      model: { method: "sampling/createMessage", params: SAMPLING },
      roots: { method: "roots/list" },
    };
    const asking = (more: Json) =>
      officialViolations("2026-07-28", response({ resultType: "input_required", ...more }), context(method));
    expect(asking({ inputRequests, requestState: "s" })).toEqual([]);
    expect(asking({})).toEqual([`${method} result: must have inputRequests or requestState`]);
    const broken = { who: { method: "elicitation/create", params: { ...FORM, message: 1 } } };
    const problem = `${method} result: /inputRequests/who/params/message must be string`;
    expect(asking({ inputRequests: broken })).toEqual([problem]);
    expect(asking({ inputRequests: { who: { method: "tools/list" } } })).toHaveLength(1);
  });

  it("2026-07-28 tools/list may not ask for input", () => {
    const result = { resultType: "input_required", requestState: "s" };
    expect(officialViolations("2026-07-28", response(result), context("tools/list"))).toEqual([
      "tools/list result: /resultType must not ask for input here",
    ]);
  });

  it("a 2024-11-05 ping result carries _meta and nothing else", () => {
    const ping = (result: Json) => officialViolations("2024-11-05", response(result), context("ping"));
    expect(ping({ _meta: { timestamp: 1 } })).toEqual([]);
    expect(ping({ timestamp: 1 })).toEqual(["ping result: Unrecognized key(s) in object: 'timestamp'"]);
  });

  it("formats are checked", () => {
    const image = { type: "image", data: "not base64!", mimeType: "image/png" };
    for (const revision of OFFICIAL_REVISIONS) {
      const result = { ...resultOf(revision, "tools/call"), content: [TEXT, image] };
      const found = officialViolations(revision, response(result), context("tools/call"));
      expect(found).toEqual([expect.stringMatching(/^tools\/call result: \/content\/1\/data .*(base64|"byte")/)]);
    }
  });

  it("the schemas are used as published, with the integers they print where the specification's source says number", () => {
    const ask = (minimum: number) => {
      const properties = { age: { type: "number", minimum } };
      const params = { message: "m", requestedSchema: { type: "object", properties } };
      return officialViolations("2025-11-25", { jsonrpc: "2.0", id: 1, method: "elicitation/create", params });
    };
    expect(ask(1)).toEqual([]);
    expect(ask(0.5)).toEqual([
      "elicitation/create request: /params/requestedSchema/properties/age/minimum must be integer",
    ]);
  });
});

describe("reports", () => {
  it.each([
    [{ type: "text" }, "/content/0 must have required property 'text'"],
    [{ type: "resource", resource: { uri: URI, text: 1 } }, "/content/0/resource/text must be string"],
    [
      { type: "nope" },
      "/content/0 must be TextContent or ImageContent or AudioContent or ResourceLink or EmbeddedResource",
    ],
  ])("of a union, the branch that was meant is told: %j", (block, problem) => {
    const message = { jsonrpc: "2.0", id: 1, result: { content: [block] } };
    const found = officialViolations("2025-06-18", message, { direction: "server", method: "tools/call" });
    expect(found).toEqual([`tools/call result: ${problem}`]);
  });

  it("name the definition, the place and the rule, and expectOfficial throws them all", () => {
    const message = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "a", inputSchema: 1 }], nextCursor: 2 } };
    const context = { direction: "server", method: "tools/list" } as const;
    const violations = [
      "tools/list result: /nextCursor must be string",
      "tools/list result: /tools/0/inputSchema must be object",
    ];
    expect(officialViolations("2025-06-18", message, context)).toEqual(violations);
    expect(() => expectOfficial("2025-06-18", message, context)).toThrow(
      `not a valid 2025-06-18 message:\n- ${violations.join("\n- ")}\n{"jsonrpc"`,
    );
  });
});

describe("parseSchemaBundle", () => {
  const schema = '{ $schema: `s`, $defs: { JSONRPCMessage: { description: `a } \\` brace`, x: "{", y: !0 } } }';
  const table = 'x = { "2025-03-26": a, "2025-06-18": a, "2025-11-25": $b, [ R ]: a };';
  const bundle = `const R = "2026-07-28"; const a=${schema}, $b = ${schema}; const ${table}`;

  it("reads any minification and formatting of the table", () => {
    const schemas = parseSchemaBundle(bundle);
    expect([...schemas.keys()]).toEqual(OFFICIAL_REVISIONS.filter((revision) => revision >= "2025"));
    expect(schemas.get("2026-07-28")).toEqual({
      $schema: "s",
      $defs: { JSONRPCMessage: { description: "a } ` brace", x: "{", y: true } },
    });
    expect(parseSchemaBundle(bundle.replace("[ R ]", "'2026-07-28'")).size).toBe(4);
  });

  it.each([
    ["no table", "", "found 0 tables"],
    ["two tables", bundle + table, "found 2 tables"],
    ["a missing revision", bundle.replace('"2025-06-18": a, ', ""), "lacks 2025-06-18"],
    ["a revision constant that is not there", bundle.replace("[ R ]", "[Q]"), "found 0 values"],
    ["a schema that is not there", bundle.replace("$b = ", "c = "), "found 0 schemas called $b"],
    ["a schema without an end", bundle.slice(0, bundle.indexOf("y: !0")) + `"; const ${table}`, "never ends"],
    ["an interpolating template", bundle.replaceAll("`s`", "`${R}`"), "interpolates"],
    ["a schema of something else", bundle.replaceAll("JSONRPCMessage", "Other"), "has no JSONRPCMessage"],
  ])("fails on %s", (_, source, problem) => {
    expect(() => parseSchemaBundle(source)).toThrow(problem);
  });
});
