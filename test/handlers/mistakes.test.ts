// Every refusal names the tool, the member and the rule.

import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import "../../src/zod-mini.ts";
import { z as z3 } from "zod-3";
import type { AnySchema } from "../../src/handlers/schema.ts";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";
import { defineTool } from "../../src/handlers/tool.ts";

const tool = (input: unknown, output?: unknown) =>
  defineTool({
    name: "t",
    input: input as AnySchema,
    ...(output === undefined ? {} : { output: output as AnySchema }),
    handler: () => "",
  });

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

describe("an input schema", () => {
  it.each<[what: string, schema: unknown, says: RegExp]>([
    ["a date", z.object({ when: z.date() }), /^tool "t": input\.when: Date cannot be/],
    ["a date of zod/mini", mini.object({ when: mini.date() }), /^tool "t": input\.when: Date cannot be/],
    [
      "a date further down",
      z.object({ a: z.object({ b: z.array(z.bigint()) }) }),
      /^tool "t": input\.a\.b: BigInt cannot be/,
    ],
    ["a shape of zod", { a: z.number() }, /^tool "t": input: this is a zod shape: write z\.object/],
    ["a shape of zod/mini", { a: mini.number() }, /^tool "t": input: this is a zod shape/],
    [
      "members in place of a schema",
      { kg: { type: "number" } },
      /^tool "t": input: has no keyword .*properties: \{ kg:/,
    ],
    ["names of types", { kg: "number", to: "string" }, /^tool "t": input: has no keyword of JSON Schema: write \{/],
    ["zod 3", z3.object({ a: z3.string() }), /^tool "t": input: this is zod 3.*import zod 4/],
    ["valibot", v.object({ a: v.string() }), /^tool "t": input: valibot cannot write/],
    [
      "a header on a number",
      object({ n: { type: "number", "x-mcp-header": "N" } }),
      /^tool "t": input\.n: x-mcp-header/,
    ],
    [
      "a header on a number of zod",
      z.object({ n: z.number().meta({ "x-mcp-header": "N" }) }),
      /^tool "t": input\.n: x-mcp-header needs/,
    ],
    ["a type that is none", object({ a: { type: "strnig" } }), /^tool "t": input\.properties\.a\.type: .*"strnig"/],
    ["a type in a list that is none", object({ a: { type: ["string", "nul"] } }), /input\.properties\.a\.type: /],
    ["required that is no list", object({ p: {} }, { required: "p" }), /^tool "t": input\.required: .*"p"/],
    ["a property that is no schema", object({ a: "string" }), /^tool "t": input\.properties\.a: must be a schema/],
    [
      "properties that are a list",
      { type: "object", properties: [] },
      /^tool "t": input\.properties: must be schemas by name/,
    ],
    ["a negative length", object({ a: { minLength: -1 } }), /input\.properties\.a\.minLength: must be a whole number/],
    ["a pattern that is none", object({ a: { pattern: "(" } }), /input\.properties\.a\.pattern: must be a regular/],
    ["anyOf that is no list", object({ a: { anyOf: {} } }), /input\.properties\.a\.anyOf: must be a list of schemas/],
    [
      "a reference that leads nowhere",
      object({ a: { $ref: "#/$defs/x" } }),
      /input\.properties\.a: \$ref .* leads nowhere/,
    ],
    [
      "a pattern of zod that clients cannot read",
      z.object({ s: z.string().regex(/^[\w-.]+$/) }),
      /^tool "t": input\.properties\.s\.pattern: must be a regular expression with the flag u.*-\.\]/,
    ],
    [
      "a pattern of zod/mini that clients cannot read",
      mini.object({ s: mini.string().check(mini.regex(/^[\w-.]+$/)) }),
      /^tool "t": input\.properties\.s\.pattern: must be a regular expression with the flag u/,
    ],
    [
      "a default of zod/mini that is no JSON",
      mini.object({ s: mini._default(mini.any(), 1n) }),
      /^tool "t": input\.s: BigInt defaults cannot be/,
    ],
    [
      "a reference to no anchor",
      object({ a: { $ref: "#none" } }),
      /^tool "t": input\.properties\.a: \$ref #none leads/,
    ],
    ["a circle", { type: "object", $ref: "#" }, /^tool "t": input: its references are circular or too many/],
    [
      "a default that is no JSON",
      object({ a: { default: 5n } }),
      /^tool "t": input\.properties\.a\.default: cannot be/,
    ],
    ["no schema at all", "object", /^tool "t": input: must be a schema of zod or JSON Schema, not a string/],
    [
      "what says itself that it is no JSON",
      object(
        {},
        {
          toJSON: () => {
            throw new Error("not me");
          },
        },
      ),
      /^tool "t": input: cannot be written as JSON: not me/,
    ],
    [
      "two schemas of zod with one id",
      z.object({ a: z.string().meta({ id: "Twice" }), b: z.int().meta({ id: "Twice" }) }),
      /^tool "t": input: .*Twice/,
    ],
    [
      "two schemas of zod/mini with one id",
      mini.object({
        a: mini.string().check(mini.meta({ id: "Both" })),
        b: mini.int().check(mini.meta({ id: "Both" })),
      }),
      /^tool "t": input: .*Both/,
    ],
    ["a type that takes no arguments", { type: "string" }, /^tool "t": input must be a schema of an object/],
  ])("is refused for %s", (_what, schema, says) => {
    expect(() => tool(schema)).toThrow(says);
  });

  it("may have unknown keywords, and data that looks like a keyword", () => {
    const data = { enum: [{ type: "strnig", required: "p" }], const: { pattern: "(" }, default: { anyOf: 1 } };
    expect(() => tool(object({ a: { "x-unknown": { type: 1 }, ...data } }))).not.toThrow();
    expect(() => tool(object({ a: { properties: { type: { type: "string" } } } }))).not.toThrow();
  });
});

it("an input schema of zod may contain itself, and have every format of zod", () => {
  const tree = z.object({
    get next() {
      return tree.optional();
    },
  });
  const small = mini.object({
    get next() {
      return mini.optional(small);
    },
  });
  for (const schema of [tree, small]) expect(tool(schema).wire.inputSchema).toMatchObject({ type: "object" });
  const all = { ...z, ...z.iso } as unknown as Record<string, (() => z.ZodType) | undefined>;
  const formats =
    "email url uuid guid nanoid cuid cuid2 ulid xid ksuid ipv4 ipv6 cidrv4 cidrv6 base64 base64url e164 jwt emoji hex mac " +
    "hostname date time datetime duration";
  const shape = Object.fromEntries(formats.split(" ").map((format) => [format, all[format]?.() ?? z.never()]));
  expect(Object.values(shape).map(({ type }) => type)).not.toContain("never");
  expect(() => tool(z.object(shape), z.object(shape))).not.toThrow();
});

it("an output schema is refused alike", () => {
  expect(() => tool(undefined, z.object({ at: z.date() }))).toThrow(/^tool "t": output\.at: Date cannot be/);
  expect(() => tool(undefined, object({ a: { type: "strnig" } }))).toThrow(/^tool "t": output\.properties\.a\.type/);
  const pattern = z.object({ s: z.string().regex(/^[\w-.]+$/) });
  expect(() => tool(undefined, pattern)).toThrow(/^tool "t": output\.properties\.s\.pattern: must be a regular/);
  expect(() => tool(undefined, object({ a: { $ref: "#none" } }))).toThrow(
    /^tool "t": output\.properties\.a: \$ref #none/,
  );
});

it("a prompt, a resource and a template say what they are and what is wrong", () => {
  expect(() => definePrompt({ name: "", handler: () => "" })).toThrow(/^prompt ""/);
  expect(() => defineResource({ uri: "no uri", name: "n", text: "" })).toThrow(/^resource "no uri"/);
  expect(() => defineResource({ uri: "note:a", name: "n" } as never)).toThrow(
    /^resource "note:a": needs text, blob or read/,
  );
  expect(() => defineTemplate({ uriTemplate: "note:{a", name: "n" })).toThrow(/^template "note:\{a"/);
});

const CIRCLE: Record<string, unknown> = {};
CIRCLE.self = CIRCLE;
const THROWS = {
  toJSON: () => {
    throw new Error("not me");
  },
};

describe.each<[what: string, define: (about: object) => unknown]>([
  ['tool "x"', (about) => defineTool({ name: "x", handler: () => "", ...about })],
  ['prompt "x"', (about) => definePrompt({ name: "x", handler: () => "", ...about })],
  ['resource "x:y"', (about) => defineResource({ uri: "x:y", name: "x", text: "", ...about })],
  ['template "x:{y}"', (about) => defineTemplate({ uriTemplate: "x:{y}", name: "x", ...about })],
])("%s", (what, define) => {
  it.each<[about: object, says: string]>([
    [{ meta: { n: 1n } }, "meta.n: cannot be written as JSON"],
    [{ meta: { a: [CIRCLE] } }, "meta: cannot be written as JSON"],
    [{ meta: { a: { b: THROWS } } }, "meta.a.b: cannot be written as JSON: not me"],
    [{ annotations: { priority: 1n } }, "annotations.priority: cannot be written as JSON"],
    [{ icons: [{ src: "a:b" }, { src: 1n }] }, "icons.1.src: cannot be written as JSON"],
    [{ description: 1n }, "description must be a string"],
    [{ description: { a: 1 } }, "description must be a string"],
    [{ title: 5 }, "title must be a string"],
    [{ visibile: () => false }, "unknown field visibile, expected name, "],
    [{ inputSchema: {}, parameters: {} }, "unknown field inputSchema, expected name, "],
    [{ visible: true }, "visible must be a function"],
    [{ around: [] }, "around must be a function"],
    [{ annotations: ["a"] }, "annotations must be an object"],
    [{ annotations: { readonlyHint: true } }, "annotations: unknown field readonlyHint, expected title, "],
    [{ annotations: { readOnly: true } }, "annotations: unknown field readOnly, expected title, readOnlyHint, "],
    [{ annotations: { readOnlyHint: "yes" } }, "annotations: readOnlyHint must be a boolean"],
    [{ annotations: { priority: "1" } }, "annotations: priority must be a number"],
    [{ annotations: { audience: "user" } }, "annotations: audience must be a list"],
    [{ icons: { src: "a:b" } }, "icons must be a list"],
    [{ icons: ["a:b"] }, "icons.0 must be an object"],
    [{ icons: [{ url: "a:b" }] }, "icons.0: unknown field url, expected src, mimeType, sizes, theme"],
    [{ icons: [{ src: "a:b" }, { mimeType: "image/png" }] }, "icons.1: src must be a string"],
  ])("is refused with %o", (about, says) => {
    expect(() => define(about)).toThrow(`${what}: ${says}`);
  });

  it("may have all of them as JSON", () => {
    const icons = [{ src: "https://example.com/a.png" }];
    expect(() =>
      define({ title: "T", description: "D", icons, annotations: { title: "A" }, meta: { a: [1] } }),
    ).not.toThrow();
  });
});

it("unknown options are refused by name", () => {
  const t = (more: object) => () => defineTool({ name: "t", handler: () => "", ...more });
  expect(t({ titel: "T" })).toThrow(/unknown field titel, expected .*; did you mean "title"\?$/);
  expect(t({ inputSchema: {} })).toThrow(/unknown field inputSchema, expected .*; did you mean "input"\?$/);
  expect(t({ outputSchema: {} })).toThrow(/unknown field outputSchema, expected .*; did you mean "output"\?$/);
  expect(t({ annotations: { readOnly: true } })).toThrow(/unknown field readOnly.*; did you mean "readOnlyHint"\?$/);
  expect(t({ resumable: { closeAfter: 5 } })).toThrow(
    'tool "t": resumable: unknown field closeAfter, expected closeAfterMs, retryMs',
  );
  expect(t({ resumable: { retryMs: "5" } })).toThrow('tool "t": resumable: retryMs must be a number');
  expect(t({ resumable: "yes" })).toThrow('tool "t": resumable must be an object');
  expect(t({ timeoutMs: "5" })).toThrow('tool "t": timeoutMs must be a number');
  expect(t({ config: z.string() })).toThrow('tool "t": config: must be a schema of an object');
  expect(t({ config: { type: "array" } })).toThrow('tool "t": config: must be a schema of an object');
  expect(t({ config: z.union([z.object({ a: z.date() }), z.object({})]) })).not.toThrow();
  expect(() => defineResource({ uri: "a:b", name: "n", text: 7 } as never)).toThrow('"a:b": text must be a string');
  expect(() => defineResource({ uri: "a:b", name: "n", text: "", cache: 5 } as never)).toThrow(
    "cache must be an object",
  );
  expect(() => defineTemplate({ uriTemplate: "a:b", name: "n" })).toThrow('template "a:b": must have a variable');
  const complete = { ib: () => [] } as never;
  expect(() => defineTemplate({ uriTemplate: "a:{id}", name: "n", complete })).toThrow(
    'template "a:{id}": complete: unknown field ib, expected id; did you mean "id"?',
  );
  expect(() => defineTemplate({ uriTemplate: "a:{id}", name: "n", complete: { id: ["a"] } as never })).toThrow(
    "complete: id must be a function",
  );
  const list = { name: "p", handler: () => "", arguments: { a: { complete: ["x"] } } } as never;
  expect(() => definePrompt(list)).toThrow('prompt "p": arguments.a: complete must be a function');
});

it("a missing member is refused by name", () => {
  for (const define of [defineTool, definePrompt, defineResource, defineTemplate] as unknown as (() => void)[]) {
    expect(() => define()).toThrow("name must be a string");
  }
  expect(() => defineTool("t" as never)).toThrow("must be an object");
  expect(() => defineTool({ name: "t" } as never)).toThrow('tool "t": handler must be a function, not undefined');
  expect(() => defineTool({ handler: () => "" } as never)).toThrow('tool "undefined": name must be a string');
  expect(() => definePrompt({ name: "p" } as never)).toThrow('prompt "p": handler must be a function');
  expect(() => definePrompt({ name: "p", handler: "x" } as never)).toThrow(
    'prompt "p": handler must be a function, not a string',
  );
  expect(() => defineResource({ uri: "a:b", text: "" } as never)).toThrow('resource "a:b": name must be a string');
  expect(() => defineResource({ uri: "a:b", name: "n", read: 5 } as never)).toThrow(
    'resource "a:b": read must be a function',
  );
  expect(() => defineTemplate({ uriTemplate: "a:{b}" } as never)).toThrow('template "a:{b}": name must be a string');
  expect(() => defineResource({ name: "n", text: "" } as never)).toThrow("uri must be a string");
  expect(() => defineTemplate({ name: "n", uri: "a:{b}" } as never)).toThrow(
    "unknown field uri, expected name, uriTemplate",
  );
  const typed = { name: "p", handler: () => "", arguments: { a: { require: true } } } as never;
  expect(() => definePrompt(typed)).toThrow(
    "arguments.a: unknown field require, expected title, description, required",
  );
  const listed = { name: "p", handler: () => "", arguments: [{ name: "a" }] } as never;
  expect(() => definePrompt(listed)).toThrow("arguments must be an object by name");
  const wrong = { name: "p", handler: () => "", arguments: { a: { description: 1n } } } as never;
  expect(() => definePrompt(wrong)).toThrow('prompt "p": arguments.a: description must be a string');
});
