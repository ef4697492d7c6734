// Definitions that cannot be served: each is refused where it is written, with the tool, the member and the rule.

import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import "../../../src/zod-mini.ts";
import { z as z3 } from "zod-3";
import type { AnySchema } from "../../../src/calls/schema.ts";
import { definePrompt } from "../../../src/content/define/prompt.ts";
import { defineResource, defineTemplate } from "../../../src/content/define/resource.ts";
import { defineTool } from "../../../src/content/define/tool.ts";

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
    [
      "a date of zod/mini",
      mini.object({ when: mini.date() }),
      /^tool "t": input\.when: a value of type date cannot be/,
    ],
    [
      "a date further down",
      z.object({ a: z.object({ b: z.array(z.bigint()) }) }),
      /^tool "t": input\.a\.b: BigInt cannot be/,
    ],
    ["zod 3", z3.object({ a: z3.string() }), /^tool "t": input: this is zod 3.*import zod 4/],
    ["valibot", v.object({ a: v.string() }), /^tool "t": input: valibot has no way/],
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
    ["properties that are a list", { type: "object", properties: [] }, /^tool "t": input\.properties: must hold/],
    ["a negative length", object({ a: { minLength: -1 } }), /input\.properties\.a\.minLength: must be a whole number/],
    ["a pattern that is none", object({ a: { pattern: "(" } }), /input\.properties\.a\.pattern: must be a regular/],
    ["anyOf that is no list", object({ a: { anyOf: {} } }), /input\.properties\.a\.anyOf: must be a list of schemas/],
    [
      "a reference that leads nowhere",
      object({ a: { $ref: "#/$defs/x" } }),
      /input\.properties\.a: \$ref .* leads nowhere/,
    ],
    ["a type that takes no arguments", { type: "string" }, /^tool "t": input: its type is object/],
  ])("is refused for %s", (_what, schema, says) => {
    expect(() => tool(schema)).toThrow(says);
  });

  it("may have keywords that nobody knows, and what looks like a keyword in data", () => {
    const data = { enum: [{ type: "strnig", required: "p" }], const: { pattern: "(" }, default: { anyOf: 1 } };
    expect(() => tool(object({ a: { "x-unknown": { type: 1 }, ...data } }))).not.toThrow();
    expect(() => tool(object({ a: { properties: { type: { type: "string" } } } }))).not.toThrow();
  });
});

it("an output schema is refused alike", () => {
  expect(() => tool(undefined, z.object({ at: z.date() }))).toThrow(/^tool "t": output\.at: Date cannot be/);
  expect(() => tool(undefined, object({ a: { type: "strnig" } }))).toThrow(/^tool "t": output\.properties\.a\.type/);
});

it("a prompt, a resource and a template say what they are and what is wrong", () => {
  expect(() => definePrompt({ name: "", handler: () => "" })).toThrow(/^prompt ""/);
  expect(() => defineResource({ uri: "no uri", name: "n", text: "" })).toThrow(/^resource "no uri"/);
  expect(() => defineResource({ uri: "note:a", name: "n" })).toThrow(/^resource "note:a": needs text, blob or read/);
  expect(() => defineTemplate({ uriTemplate: "note:{a", name: "n" })).toThrow(/^template "note:\{a"/);
});
