// Each schema with an `$id` within another one with its own doubled what it took to resolve references: thirty of them, in a tool
// that an upstream lists, held an isolate for hours.

import { expect, it } from "vitest";
import { compileJsonSchema } from "../../src/handlers/json-schema.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

it.each([
  ["https://example.com/", (at: number) => `https://example.com/${at}`],
  ["n", (at: number) => `${at}`],
  ["a/n", (at: number) => `a/${at}`],
  ["n/n", (at: number) => `${at}/${at}`],
])("schemas named %s stand forty deep within each other", (_, named) => {
  let schema: JsonObject = { type: "string" };
  for (let at = 0; at < 40; at += 1) schema = { $id: named(at), properties: { inner: schema } };
  let value: unknown = 1;
  for (let at = 0; at < 40; at += 1) value = { inner: value };
  expect(compileJsonSchema(schema)(value)).toHaveLength(1);
});
