// Patterns in the schemas that an upstream lists: one that cannot be read hid what else was wrong with its schema, and one of
// many classes of letters took a second for each megabyte to read.

import { expect, onTestFinished, test } from "vitest";
import { findDefinitionError } from "../../src/gateway/upstream-definition.ts";

const faultOf = (inputSchema: object) => findDefinitionError("tools", { name: "look", inputSchema });
const OTHERS = "(?i)x(";

test.each([
  ["before it", { type: "object", pattern: OTHERS, properties: { one: { type: "nonsense" } } }],
  ["beside it", { type: "object", properties: { one: { type: "string", pattern: OTHERS, items: 5 } } }],
  ["in names", { type: "object", patternProperties: { [OTHERS]: { type: "nonsense" } } }],
  ["as the name of a member", { type: "object", properties: { pattern: { type: "nonsense" } } }],
])("a pattern of another language hides no fault: %s", (_where, inputSchema) => {
  expect(faultOf(inputSchema)).toMatch(/must be/);
});

test("a pattern of another language is no fault itself", () => {
  const one = { type: "string", pattern: OTHERS };
  expect(faultOf({ type: "object", properties: { one, pattern: one }, patternProperties: { [OTHERS]: one } })).toBe(
    undefined,
  );
});

test("what an upstream writes as a pattern is read by nobody", () => {
  const read: unknown[] = [];
  const { RegExp: native } = globalThis;
  onTestFinished(() => {
    globalThis.RegExp = native;
  });
  globalThis.RegExp = new Proxy(native, {
    apply: (target, self, args) => (read.push(args[0]), Reflect.apply(target, self, args) as RegExp),
    construct: (target, args) => (read.push(args[0]), new target(...(args as [string]))),
  });
  const long = String.raw`\p{L}`.repeat(1000);
  expect(faultOf({ type: "object", pattern: long, patternProperties: { [long]: {} } })).toBe(undefined);
  expect(read).not.toContain(long);
});
