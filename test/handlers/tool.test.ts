import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/handlers/tool.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const handler = () => "done";

describe("defineTool", () => {
  it.each(["a", "notes.read", "A_b-c.9", "x".repeat(128)])("takes the name %s", (name) => {
    expect(defineTool({ name, handler }).wire.name).toBe(name);
  });

  it.each(["", " ", "a b", "a/b", "ä", "a\n", "x".repeat(129)])("refuses the name %j", (name) => {
    expect(() => defineTool({ name, handler })).toThrow(`tool "${name}": a name must be 1 to 128 of`);
  });

  it.each([
    ["input", { $ref: "https://example.com/x.json" }, "leaves the schema"],
    ["output", { items: { $ref: "other.json" } }, "leaves the schema"],
    ["input", { $schema: "https://example.com/dialect" }, "unsupported JSON Schema dialect"],
  ])("refuses an %s schema that cannot be served: %j", (member, schema, rule) => {
    const define = () => defineTool({ name: "broken", handler, [member]: schema });
    expect(define).toThrow('tool "broken": ');
    expect(define).toThrow(rule);
  });

  it("refuses header mirrors that no client could send, at the latest when it is listed", () => {
    const region = { type: "string", "x-mcp-header": "Region" };
    const tool = (properties: Record<string, unknown>) =>
      defineTool({ name: "broken", input: { type: "object", properties }, handler });
    expect(tool({ region }).paramHeaders).toHaveLength(1);
    expect(() => tool({ region, other: region }).wire).toThrow('tool "broken": ');
    expect(() => tool({ region: { ...region, "x-mcp-header": "not a header" } }).wire).toThrow('tool "broken": ');
  });

  it("lists no arguments when there is no input, and a description always", () => {
    expect(defineTool({ name: "plain", handler }).wire).toEqual({
      name: "plain",
      description: "plain",
      inputSchema: { type: "object", properties: {} },
    });
    expect(defineTool({ name: "plain", title: "Plain", handler }).wire.description).toBe("Plain");
  });

  it("lists the author's members, and nothing else", () => {
    const about = {
      title: "T",
      description: "D",
      annotations: { readOnlyHint: true },
      icons: [{ src: "https://example.com/i.png" }],
    };
    const tool = defineTool({
      name: "whole",
      ...about,
      meta: { "example.com/x": 1 },
      input: z.object({ a: z.string() }),
      output: { type: "object" },
      timeoutMs: 5,
      resumable: true,
      handler: () => ({}),
    });
    expect(tool.wire).toMatchObject({
      name: "whole",
      ...about,
      _meta: { "example.com/x": 1 },
      outputSchema: { type: "object" },
    });
    expect(Object.keys(tool.wire)).not.toContain("timeoutMs");
    expect(tool.resumable).toEqual({ closeAfterMs: 25_000, retryMs: 1000 });
  });

  it("writes its schema once, when it is defined", () => {
    let written = 0;
    const schema = z.object({ a: z.string() });
    const counting = {
      "~standard": {
        ...schema["~standard"],
        jsonSchema: {
          input: () => {
            written += 1;
            return { type: "object" };
          },
        },
      },
    };
    const tool = defineTool({ name: "eager", input: counting, handler });
    expect(tool.wire).toBe(tool.wire);
    expect(written).toBe(1);
  });
});

describe("an error of a handler", () => {
  const thrown = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError] as const;
  class OrderError extends Error {
    override readonly name = "OrderError";
  }
  const errors = [...thrown, OrderError].map((One) => [One.name, new One("no such city")] as const);

  const textOf = async (work: () => never) => {
    const tool = defineTool({ name: "throws", handler: work });
    const outcome = await tool.call({}, callOf(), requestScopeOf(freshTenant(), { requestId: "ray-7" }));
    return outcome.kind === "complete" ? outcome.result : outcome;
  };
  const masked = {
    content: [{ type: "text", text: "Internal error: the server's log says why, under request ray-7" }],
    isError: true,
  };

  it.each([...errors, ["DOMException", new DOMException("no such city", "TimeoutError")] as const])(
    "is for the logs, and the client learns where: %s",
    async (_name, error) => {
      expect(
        await textOf(() => {
          throw error;
        }),
      ).toEqual(masked);
    },
  );

  it("is for the logs too where what was returned cannot be sent", async () => {
    expect(await textOf((() => ({ structuredContent: { n: 1n } })) as never)).toEqual(masked);
  });
});
