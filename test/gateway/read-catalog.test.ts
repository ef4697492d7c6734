import { describe, expect, it } from "vitest";
import {
  causesOfGaps,
  decodeCatalog,
  encodeCatalog,
  describeGaps,
  withLastGood,
} from "../../src/gateway/upstream-catalog.ts";
import { limitsWithTotalPages, readCatalog, type CatalogLimits } from "../../src/gateway/read-catalog.ts";
import type { UpstreamLink } from "../../src/gateway/upstream-link.ts";
import { describeFault, McpFault } from "../../src/mcp-client/fault.ts";
import { parseServerMessage, type ResponseMessage } from "../../src/mcp-client/message.ts";
import type { ResultMessage } from "../../src/mcp-client/request-result.ts";

type Answer = (params: Record<string, unknown>) => object | string;

/** An upstream that answers these methods; a text is the JSON of the result as it stands. */
function upstream(answers: Readonly<Record<string, Answer>>, capabilities: object = { tools: {} }) {
  const requests: string[] = [];
  const link: UpstreamLink = {
    transport: "2026",
    revision: "2026-07-28",
    capabilities: capabilities as UpstreamLink["capabilities"],
    request: async ({ method, params }) => {
      requests.push(method);
      const answer = answers[method]?.(params);
      const body = typeof answer === "string" ? answer : JSON.stringify(answer);
      const error = '"error":{"code":-32601,"message":"Method not found"}';
      const message = parseServerMessage(`{"jsonrpc":"2.0","id":1,${body === undefined ? error : `"result":${body}`}}`);
      if (message.kind !== "response" || message.result === undefined) {
        const http = { status: 200, contentType: "application/json" };
        throw new McpFault({ kind: "refused", http, error: message as ResponseMessage, sent: "yes" });
      }
      return message as ResultMessage;
    },
    close: async () => {},
  };
  return { link, requests };
}

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });
const read = (link: UpstreamLink, caps?: CatalogLimits) =>
  readCatalog(link, { id: "up", configHash: "c1", timeoutMs: 10_000, describeFault, ...(caps && { limits: caps }) });
const names = (texts: readonly string[]) => texts.map((text) => (JSON.parse(text) as { name: string }).name);

/** Tools on pages of 250, as many as there are. */
const pagesOf =
  (count: number): Answer =>
  ({ cursor }) => {
    const from = Number(cursor ?? 0);
    const end = Math.min(from + 250, count);
    const tools = Array.from({ length: end - from }, (_, at) => tool(`tool_${from + at}`));
    return { tools, ...(end < count ? { nextCursor: String(end) } : {}) };
  };

describe("the catalog of an upstream", () => {
  it("has every list to its last page, and asks for no list that the upstream does not declare", async () => {
    const { link, requests } = upstream({ "tools/list": pagesOf(700) });
    const catalog = await read(link);
    expect(names(catalog.texts.tools)).toHaveLength(700);
    expect(requests).toEqual(["tools/list", "tools/list", "tools/list"]);
    expect(describeGaps(catalog)).toBeUndefined();
    expect(causesOfGaps(catalog)).toEqual([]);
  });

  it("goes without a list that the upstream declares and does not have", async () => {
    const resource = { uri: "file:///a", name: "a" };
    const { link } = upstream({ "resources/list": () => ({ resources: [resource] }) }, { resources: {} });
    const { texts } = await read(link);
    expect(texts.resources).toHaveLength(1);
    expect(texts.resourceTemplates).toEqual([]);
  });

  it("goes without a list that cannot be read, says why, and has the last good one where there was one", async () => {
    const answers = { "tools/list": pagesOf(2), "prompts/list": () => ({ prompts: { broken: true } }) };
    const catalog = await read(upstream(answers, { tools: true, prompts: {} }).link);
    expect(names(catalog.texts.tools)).toHaveLength(2);
    expect(catalog.texts.prompts).toEqual([]);
    expect(describeGaps(catalog)).toMatch(/^prompts could not be read: .*has no list of prompts$/);
    expect(causesOfGaps(catalog)).toEqual([{ code: "no-mcp" }]);
    const good = { "tools/list": pagesOf(9), "prompts/list": () => ({ prompts: [{ name: "greet" }] }) };
    const last = await read(upstream(good, { tools: {}, prompts: {} }).link);
    const kept = withLastGood(catalog, last);
    expect(names(kept.texts.tools)).toHaveLength(2);
    expect(names(kept.texts.prompts)).toEqual(["greet"]);
  });

  it.each([
    ["tools", "prompts"],
    ["prompts", "tools"],
  ] as const)("leaves the other lists time where %s are never answered", async (silent, other) => {
    const lists = {
      "tools/list": () => ({ tools: [{ name: "greet", inputSchema: { type: "object" } }] }),
      "prompts/list": () => ({ prompts: [{ name: "greet" }] }),
    };
    const { link } = upstream(lists, { tools: {}, prompts: {} });
    const ask: UpstreamLink["request"] = async (asked, asking) =>
      asked.method !== `${silent}/list`
        ? link.request(asked, asking)
        : new Promise((_resolve, reject) => {
            asking?.signal?.addEventListener("abort", () => reject(asking.signal?.reason));
          });
    const how = { id: "up", configHash: "c1", timeoutMs: 40, describeFault };
    const catalog = await readCatalog({ ...link, request: ask }, how);
    expect(names(catalog.texts[other])).toEqual(["greet"]);
    expect(describeGaps(catalog)).toMatch(`${silent} could not be read: the answer was not complete within`);
  });

  it("keeps definitions byte for byte, through its section and back", async () => {
    const text =
      '{"name":"odd", "inputSchema":{"type":"object","properties":{"2":{},"1":{"maximum":1.0e2}}},"x":1e400}';
    const { link } = upstream({ "tools/list": () => `{"tools":[${text}],"ttlMs":5000,"cacheScope":"public"}` });
    const catalog = await read(link);
    expect(catalog.texts.tools).toEqual([text]);
    expect(catalog.cache).toEqual({ ttlMs: 5000, cacheScope: "public" });
    expect(decodeCatalog(encodeCatalog(catalog), "c1")).toEqual(catalog);
    expect(decodeCatalog(encodeCatalog(catalog), "c2")).toBeUndefined();
  });

  it("ends at a thousand definitions, and says so", async () => {
    const { link, requests } = upstream({ "tools/list": pagesOf(10_000) }, { tools: {}, prompts: {} });
    const catalog = await read(link);
    expect(catalog.texts.tools).toHaveLength(1000);
    expect(requests).toHaveLength(5);
    expect(describeGaps(catalog)).toBe(
      "the server lists more than 1000 definitions; only the first 1000 are listed here",
    );
    expect(causesOfGaps(catalog)).toEqual([{ code: "too-much" }]);
    expect(causesOfGaps({ ...catalog, waiting: 3 })).toEqual([{ code: "too-much" }, { code: "waiting" }]);
  });

  it.each([
    ["empty lists", "[],", 1],
    ["lists in lists", "[[[[{}]]]],", 5],
  ])("has room for few definitions of %s, which take much more memory than their bytes", async (_what, piece, each) => {
    const dense = `[${piece.repeat(1000)}0]`;
    const tools = Array.from({ length: 100 }, (_, at) => JSON.stringify(tool(`t_${at}`, { _meta: "DENSE" })));
    const text = `{"tools":[${tools.join().replaceAll('"DENSE"', `{"a":${dense}}`)}]}`;
    const bytes = text.length / 2;
    const { texts } = await read(upstream({ "tools/list": () => text }).link, { definitions: 1000, bytes, pages: 1 });
    const one = (texts.tools[0] ?? "").length + 1 + 7 * (1000 * each + 4);
    expect(texts.tools.length).toBe(Math.floor(bytes / one));
  });

  it("loses a tenth of its bytes at most where it is as dense as real ones", async () => {
    const about = { description: "What it does, in as many words as people write of it".repeat(4) };
    const properties = Object.fromEntries(
      Array.from({ length: 6 }, (_, at) => [`member_${at}`, { type: "string", description: "of a few words" }]),
    );
    const tools = Array.from({ length: 200 }, (_, at) =>
      tool(`t_${at}`, { ...about, inputSchema: { type: "object", properties } }),
    );
    const bytes = JSON.stringify(tools).length;
    const { texts } = await read(upstream({ "tools/list": () => ({ tools }) }).link, {
      definitions: 1000,
      bytes,
      pages: 1,
    });
    expect(texts.tools.length).toBeGreaterThanOrEqual(180);
  });

  it("ends where its bytes end, and says so", async () => {
    const { link } = upstream({ "tools/list": pagesOf(100) });
    const catalog = await read(link, { definitions: 1000, bytes: 1000, pages: 10 });
    expect(catalog.texts.tools.join().length).toBeLessThanOrEqual(1000);
    expect(describeGaps(catalog)).toMatch(
      /^the server lists more than 1000 bytes; only the first \d+ are listed here$/,
    );
  });

  it.each([
    ["many", 20, 1],
    ["large", 5, 1000],
  ])("ends where %s definitions are left out, and says so", async (_what, count, size) => {
    const bad = Array.from({ length: count }, () => ({ description: "x".repeat(size) }));
    const answer: Answer = ({ cursor = 0 }) => ({ tools: bad, nextCursor: String(Number(cursor) + 1) });
    const { link, requests } = upstream({ "tools/list": answer });
    const caps = { definitions: 10, bytes: 2000, pages: 200 };
    expect(describeGaps(await read(link, caps))).toMatch(/^the server lists too many invalid definitions/);
    expect(requests.length).toBeLessThan(8);
  });

  it.each([
    ["1e400", Number.MAX_SAFE_INTEGER],
    ["0.5", 0],
    ["1500.7", 1500],
  ])("may be kept for %s ms, which is a whole number", async (ttlMs, count) => {
    const { link } = upstream({ "tools/list": () => `{"tools":[],"ttlMs":${ttlMs},"cacheScope":"public"}` });
    const catalog = await read(link);
    expect(catalog.cache?.ttlMs).toBe(count);
    expect(decodeCatalog(encodeCatalog(catalog), "c1")).toEqual(catalog);
  });

  it.each<[string, Answer, RegExp]>([
    ["repeats itself", () => ({ tools: [], nextCursor: "again" }), /repeats a cursor/],
    [
      "names a page at length",
      () => ({ tools: [], nextCursor: "x".repeat(20_000) }),
      /a cursor of more than 16384 char/,
    ],
    ["never ends", ({ cursor }) => ({ tools: [], nextCursor: `${String(cursor)}x` }), /more than 200 pages/],
  ])("ends where a cursor %s, and says so", async (_how, answer, why) => {
    const { link, requests } = upstream({ "tools/list": answer });
    expect(describeGaps(await read(link))).toMatch(why);
    expect(requests.length).toBeLessThanOrEqual(200);
  });

  it("ends after as many pages as the Worker's author allows for all lists together, and says so", async () => {
    const answers = { "tools/list": pagesOf(700), "prompts/list": () => ({ prompts: [{ name: "say" }] }) };
    const of = () => upstream(answers, { tools: {}, prompts: {} });
    const [two, three, four] = [of(), of(), of()];
    const short = await read(two.link, limitsWithTotalPages(2));
    expect(names(short.texts.tools)).toHaveLength(500);
    expect(describeGaps(short)).toBe(
      "the server lists more than 2 pages, the limit in gateway({ pages }); only the first 500 are listed here",
    );
    expect(two.requests).toEqual(["tools/list", "tools/list"]);
    const withoutPrompts = await read(three.link, limitsWithTotalPages(3));
    expect(names(withoutPrompts.texts.tools)).toHaveLength(700);
    expect(describeGaps(withoutPrompts)).toMatch(/more than 3 pages/);
    expect(three.requests).toHaveLength(3);
    const whole = await read(four.link, limitsWithTotalPages(4));
    expect(names(whole.texts.prompts)).toEqual(["say"]);
    expect(describeGaps(whole)).toBeUndefined();
  });

  it.each<[string, object, RegExp]>([
    ["no name", { inputSchema: { type: "object" } }, /without a name: has no name/],
    ["no schema", { name: "bad" }, /bad: inputSchema must be a schema of type object/],
    ["a schema of another type", tool("bad", { inputSchema: { type: "string" } }), /must be a schema of type object/],
    [
      "a schema with a type that is none",
      tool("bad", { inputSchema: { type: "object", properties: { n: { type: "int" } } } }),
      /inputSchema\.properties\.n\.type: must be one of/,
    ],
    ["a title that is no text", tool("bad", { title: 1 }), /bad: the value of title is invalid/],
    ["annotations that are a list", tool("bad", { annotations: [] }), /annotations is invalid/],
    [
      "a header on a number",
      tool("bad", { inputSchema: { type: "object", properties: { n: { type: "number", "x-mcp-header": "N" } } } }),
      /x-mcp-header needs/,
    ],
    ["more than a definition may have", tool("bad", { description: "x".repeat(300_000) }), /is longer than/],
    ["the name of another", tool("good"), /good: is listed twice/],
  ])("leaves out a tool with %s, alone and with the reason", async (_what, bad, why) => {
    const { link } = upstream({ "tools/list": () => ({ tools: [tool("good"), bad, tool("better")] }) });
    const catalog = await read(link);
    expect(names(catalog.texts.tools)).toEqual(["good", "better"]);
    expect(catalog.quarantined).toHaveLength(1);
    expect(describeGaps(catalog)).toMatch(why);
    expect(causesOfGaps(catalog)).toEqual([{ code: "left-out" }]);
  });

  it("leaves out what names a member twice, of which who approves it may read the other one", async () => {
    const twice = '{"name":"twice","inputSchema":{"type":"object","title":"Evil","t\\u0069tle":"Good: \\"a\\": b"}}';
    const { link } = upstream({ "tools/list": () => `{"tools":[${twice},${JSON.stringify(tool("good"))}]}` });
    const catalog = await read(link);
    expect(names(catalog.texts.tools)).toEqual(["good"]);
    expect(describeGaps(catalog)).toMatch(/twice: has a field twice/);
  });

  it("takes a pattern that only another language knows", async () => {
    const inputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(?i)a\\_b$" } } };
    const { link } = upstream({ "tools/list": () => ({ tools: [tool("python", { inputSchema })] }) });
    expect((await read(link)).quarantined).toEqual([]);
  });

  it.each<[string, string, object]>([
    ["resources", "resources/list", { uri: "no uri", name: "bad" }],
    ["resources", "resources/list", { uri: "file:///a" }],
    ["resourceTemplates", "resources/templates/list", { uriTemplate: "file:///{", name: "bad" }],
    ["prompts", "prompts/list", { name: "bad", arguments: [{ title: "no name" }] }],
  ])("leaves out what is wrong among %s", async (kind, method, bad) => {
    const { link } = upstream({ [method]: () => ({ [kind]: [bad] }) }, { resources: {}, prompts: {} });
    const { quarantined } = await read(link);
    expect(quarantined).toEqual([expect.objectContaining({ kind })]);
  });

  it("names a hundred of those that are left out, and counts the others", async () => {
    const bad = Array.from({ length: 150 }, (_, at) => ({ name: `bad_${at}` }));
    const catalog = await read(upstream({ "tools/list": () => ({ tools: bad }) }).link);
    expect(catalog.quarantined).toHaveLength(100);
    expect(describeGaps(catalog)).toMatch(/^150 definitions are left out/);
  });

  it.each(['{"tools":{}}', "{}", '{"tools":[],"tools":[]}'])("is not made of %s", async (result) => {
    await expect(read(upstream({ "tools/list": () => result }).link)).rejects.toThrow(/no list of tools/);
  });
});
