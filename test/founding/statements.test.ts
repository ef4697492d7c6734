// Holds the answers to single messages of the founding documents to what vectors.json expects in words and does not
// assert: HTTP status, texts, whole results, and how revisions differ.

import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import type { Json, RpcError } from "../support/mcp-client.ts";
import { createExchange } from "./exchange.ts";
import { titleOf, VECTORS, vectorOf } from "./vectors.ts";

const url = `${fixtureOrigin()}/mcp/founding`;
const exchange = createExchange(url);

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly id: unknown;
  readonly result: Json;
  readonly error: RpcError | undefined;
}

/** Sends a vector's message in a mode, which need not be one of its own. */
async function send(title: string, mode: string): Promise<Answer> {
  const { request, raw } = vectorOf(title);
  const { status, text, message } = await exchange({ message: request, raw }, mode);
  return {
    status,
    text,
    id: message?.id,
    result: (message?.result ?? {}) as Json,
    error: message?.error as RpcError | undefined,
  };
}

/** The vectors at these places of the documents, once for each mode that they name. */
function at(...places: string[]): (readonly [title: string, mode: string])[] {
  return places.flatMap((place) => {
    const found = VECTORS.filter(({ document, line }) => `${document}:${line}` === place);
    if (found.length === 0) throw new Error(`vectors.json has nothing at ${place}`);
    return found.flatMap((vector) => vector.modes.map((mode) => [titleOf(vector), mode] as const));
  });
}

describe.each(at("000:266"))("%s in %s", (title, mode) => {
  test("is refused with HTTP 400 under the id null", async () => {
    expect(await send(title, mode)).toMatchObject({ status: 400, id: null, error: { code: -32700 } });
  });
});

describe.each(at("000:267", "000:357", "000:359"))("%s in %s", (title, mode) => {
  test("is no request: -32600 and HTTP 400 under the id null", async () => {
    expect(await send(title, mode)).toMatchObject({ status: 400, id: null, error: { code: -32600 } });
  });
});

describe.each(at("003:36"))("%s in %s", (title, mode) => {
  test("is no message: -32600 and HTTP 400", async () => {
    expect(await send(title, mode)).toMatchObject({ status: 400, error: { code: -32600 } });
  });
});

describe.each(at("000:358"))("%s in %s", (title, mode) => {
  test("is a notification: HTTP 202 and no body", async () => {
    expect(await send(title, mode)).toMatchObject({ status: 202, text: "" });
  });
});

describe.each(at("000:41", "000:47"))("%s in %s", (title, mode) => {
  test("is taken in era 2025 and refused in era 2026", async () => {
    expect((await send(title, mode)).status).toBe(mode === "2026-07-28" ? 400 : 202);
  });
});

describe.each(at("000:32", "000:268", "001:18", "002:16", "003:30", "003:114", "004:18"))("%s in %s", (title, mode) => {
  test("is answered Method not found: HTTP 200 in era 2025, 404 in era 2026", async () => {
    const status = mode === "2026-07-28" ? 404 : 200;
    expect(await send(title, mode)).toMatchObject({ status, error: { code: -32601, message: "Method not found" } });
  });
});

describe.each([
  ["000:269 -32602 invalid params: tools/call without a name", "name must be a string"],
  ["000:276 tool not found (document: -32002)", "Unknown tool: no_such_tool"],
  ["002:275 prompts/get without a required argument", "arg1"],
])("%s", (title, text) => {
  test.each(["2024-11-05", "2025-11-25", "2026-07-28"])("says what is wrong, in %s", async (mode) => {
    expect((await send(title, mode)).error?.message).toContain(text);
  });
});

describe.each([
  { title: "001:145 validate input: wrong argument type", path: "a", expected: "number", received: "string" },
  {
    title: "004:456 invalid params with expected and received",
    path: "query",
    expected: "string",
    received: "nothing",
  },
])("$title", ({ title, ...data }) => {
  test.each(["2024-11-05", "2025-03-26", "2025-06-18"])("is -32602 with what was expected, in %s", async (mode) => {
    expect((await send(title, mode)).error).toMatchObject({ code: -32602, data });
  });

  test.each(["2025-11-25", "2026-07-28"])("is an error that the model can read, in %s", async (mode) => {
    const { result } = await send(title, mode);
    expect(result.isError).toBe(true);
    expect((result.content as Json[])[0]?.text).toMatch(new RegExp(`^Invalid arguments: ${data.path}: .*expected`));
  });
});

describe("initialize", () => {
  test("with version 1.0 opens a session that lists tools", async () => {
    const { result } = await send('000:67 initialize with version "1.0" and boolean capabilities', "bare");
    expect(result.protocolVersion).toBe("2025-11-25");
    const listed = await send("000:102 tools/list without params", "1.0");
    expect(listed.result.tools).not.toEqual([]);
  });

  test("with 2024-10-07 is answered as asked", async () => {
    const { result } = await send("002:384 version negotiation: 2024-10-07", "bare");
    expect(result.protocolVersion).toBe("2024-10-07");
  });

  test("declares nothing experimental", async () => {
    const { result } = await send("004:73 initialize (MyAIApp, sampling and experimental)", "bare");
    expect(result.capabilities).not.toHaveProperty("experimental");
  });

  test("on 2024-11-05 makes ping tell the time in _meta and nowhere else", async () => {
    const { result } = await send("001:54 ping on 2024-11-05", "2024-11-05");
    expect(result).toEqual({ _meta: { timestamp: expect.any(Number) } });
  });
});

describe("a definition", () => {
  test("of a tool has a name, a description and an input schema", async () => {
    const { result } = await send("000:102 tools/list without params", "bare");
    for (const tool of result.tools as Json[]) {
      expect(tool).toMatchObject({ name: expect.stringMatching(/./), description: expect.stringMatching(/./) });
      expect(tool).toHaveProperty("inputSchema.type", "object");
    }
  });

  test("of a prompt says which of its arguments are required", async () => {
    const { result } = await send("003:155 prompts/list shows product_recommendation", "bare");
    const required = (result.prompts as { name: string; arguments: Json[] }[]).map(
      (prompt) => [prompt.name, prompt.arguments.map((argument) => [argument.name, argument.required])] as const,
    );
    expect(Object.fromEntries(required)).toEqual({
      "explain-code": [["code", true]],
      prompt_name: [["arg1", true]],
      product_recommendation: [
        ["category", true],
        ["budget", false],
      ],
      analyze_code: [
        ["language", true],
        ["severity_level", false],
      ],
    });
  });

  test("of a resource shows its uri, name and type, and a page that is all has no nextCursor", async () => {
    const { result } = await send("001:178 resources/list (list-1)", "bare");
    const types = (result.resources as Json[]).map(({ uri, mimeType }) => [uri, mimeType]);
    expect(Object.fromEntries(types)).toEqual({
      "file:///workspace/README.md": "text/markdown",
      "file:///example.txt": "text/plain",
      "file:///schemas/users.json": "application/json",
      "resource://type/path": "application/json",
      "resource://path": "text/plain",
      "commerce://catalog/categories": "application/json",
    });
    expect(result).not.toHaveProperty("nextCursor");
  });

  test("of a resource shows the annotations it was stored with", async () => {
    const { result } = await send("003:129 resource with annotations", "bare");
    const categories = (result.resources as Json[]).find(({ uri }) => uri === "commerce://catalog/categories");
    expect(categories?.annotations).toEqual({
      audience: ["user", "assistant"],
      priority: 0.8,
      lastModified: "2026-04-10T08:00:00Z",
    });
  });
});

describe("a result", () => {
  test("has structured content beside its text", async () => {
    const { result } = await send("003:95 tools/call check_inventory", "2025-11-25");
    expect(result.structuredContent).toEqual({
      sku: "SHOE-001",
      quantity: 68,
      warehouses: [
        { code: "BJ", quantity: 45 },
        { code: "SH", quantity: 23 },
      ],
    });
    expect((result.content as Json[])[0]).toMatchObject({ type: "text", text: expect.stringContaining("68") });
  });

  test("is computed with the defaults of the schema", async () => {
    const { result } = await send("004:157 tools/call query_database without limit", "bare");
    expect((result.content as Json[])[0]?.text).toContain("at most 10 rows");
  });

  test("of a handler that threw is its message, without a stack", async () => {
    const { result } = await send("004:473 tool execution error", "bare");
    const text = "Error: Database connection failed - Connection timeout after 30s";
    expect(result).toEqual({ content: [{ type: "text", text }], isError: true });
  });

  test("of a tool that asks a client of era 2025 which declared nothing is an error that says so", async () => {
    const { status, result } = await send("003:267 only declared capabilities are used", "2025-11-25");
    expect(status).toBe(200);
    expect(result.isError).toBe(true);
    expect((result.content as Json[])[0]?.text).toMatch(/^founding_samples: /);
  });
});

test("setting a log level needs a session to be remembered in", async () => {
  const { status, error } = await send("003:263 logging/setLevel alert", "bare");
  expect({ status, code: error?.code }).toEqual({ status: 400, code: -32600 });
  expect(error?.message).toContain("needs a session");
});
