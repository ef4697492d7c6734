// What clients mind in a list of tools, each shown by the smallest tool that has it.

import { expect, test } from "vitest";
import { checkTools } from "../../../src/cli/doctor/tool-check.ts";

const annotations = { readOnlyHint: true };
const inputSchema = { type: "object" };
const GOOD = { name: "note_list", description: "Lists the notes.", annotations, inputSchema };

test("a list with nothing to mind is said to be so, once", () => {
  const [finding, ...more] = checkTools([GOOD, { ...GOOD, name: "note_read" }], "acme");
  expect(more).toEqual([]);
  expect(finding).toEqual({ check: "definitions", state: "ok", detail: "no problems for clients" });
});

test.each([
  ["a name that no model takes", { name: "n".repeat(65) }, "failed", "names of tools"],
  ["a name too long with the server's", { name: "n".repeat(60) }, "note", "names of tools, with the server's"],
  ["a dot in a name", { name: "note.list" }, "failed", "names of tools"],
  ["no description", { description: " " }, "note", "descriptions"],
  ["a long description", { description: "d".repeat(1025) }, "note", "length of descriptions"],
  ["no annotations", { annotations: undefined }, "note", "annotations"],
  ["annotations without a hint", { annotations: { title: "Notes" } }, "note", "annotations"],
  ["an input that is no object", { inputSchema: { type: "string" } }, "failed", "schemas of input"],
  ["no schema", { inputSchema: undefined }, "failed", "schemas of input"],
  ["alternatives at the top", { inputSchema: { type: "object", anyOf: [{}] } }, "failed", "combined schemas"],
])("%s is found, with the name and its fix", (_what, change, state, check) => {
  const tool = { ...GOOD, ...change };
  const findings = checkTools([GOOD, { ...GOOD, name: "other" }, tool], "acme");
  expect(findings.map((one) => [one.state, one.check])).toContainEqual([state, check]);
  const found = findings.find((one) => one.check === check);
  expect(found?.detail).toContain(`: ${tool.name}`);
  expect(found?.fix).toMatch(/\w/);
});

test("the longest name that fits behind the server's is not minded, and the next one is", () => {
  const longest = 64 - "mcp__acme__".length;
  expect(checkTools([{ ...GOOD, name: "n".repeat(longest) }], "acme")[0]?.state).toBe("ok");
  expect(checkTools([{ ...GOOD, name: "n".repeat(longest + 1) }], "acme")[0]?.state).toBe("note");
});

test("a name that is listed twice, and more tools than clients take, are found", () => {
  expect(checkTools([GOOD, GOOD], "acme")).toMatchObject([{ state: "failed", detail: "listed twice: note_list" }]);
  const many = Array.from({ length: 61 }, (_, number) => ({ ...GOOD, name: `tool_${number}` }));
  expect(checkTools(many, "acme")).toMatchObject([{ check: "number of tools", detail: "61" }]);
});

test("a finding says the first of many names, and how many more there are", () => {
  const dotted = Array.from({ length: 7 }, (_, number) => ({ ...GOOD, name: `t.${number}` }));
  expect(checkTools(dotted, "acme")[0]?.detail).toMatch(/: t\.0, t\.1, t\.2, t\.3, t\.4 and 2 more$/);
});
