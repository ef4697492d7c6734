import { describe, expect, it } from "vitest";
import { changesOf, findRenamedFrom } from "../../../src/gateway/review/definition-changes.ts";

const json = JSON.stringify;
const between = (before: object | null, after: object) =>
  changesOf({ text: json(after), approved: before && { digest: "d", text: json(before) } });

describe("the difference of two definitions", () => {
  it("names each member that differs by its path, with what was there and what is", () => {
    const before = { name: "a", inputSchema: { properties: { q: { type: "string" }, n: {} } }, title: "A" };
    const after = {
      name: "a",
      inputSchema: { properties: { q: { type: "number" }, n: {}, m: {} } },
      _meta: { x: [1] },
    };
    expect(between(before, after)).toEqual([
      { field: "inputSchema.properties.q.type", before: "string", after: "number" },
      { field: "inputSchema.properties.m", after: {} },
      { field: "title", before: "A" },
      { field: "_meta", after: { x: [1] } },
    ]);
  });

  it("is everything where nothing was approved", () => {
    expect(between(null, { name: "a", description: "b" })).toEqual([
      { field: "name", after: "a" },
      { field: "description", after: "b" },
    ]);
  });

  it("is nothing where the members stand in another order", () => {
    expect(between({ a: 1, b: { c: 1, d: 2 } }, { b: { d: 2, c: 1 }, a: 1 })).toEqual([]);
  });

  it("shows names like those of every object, and what is very deep or very much, whole", () => {
    expect(between(JSON.parse('{"__proto__":1}') as object, { toString: 2 })).toEqual([
      { field: "__proto__", before: 1 },
      { field: "toString", after: 2 },
    ]);
    const deep = (leaf: number) => Array.from({ length: 40 }).reduce((inner) => ({ in: inner }), leaf) as object;
    expect(between(deep(1), deep(2))).toHaveLength(1);
    const wide = (add: number) => ({ all: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [at, at + add])) });
    expect(between(wide(0), wide(1)).map(({ field }) => field)).toEqual(["all"]);
  });
});

describe("a definition under a new name", () => {
  const left = [{ name: "old", text: '{"description":"same","name":"old"}' }];

  it("is known by all but its name", () => {
    expect(findRenamedFrom({ text: '{"name":"new","description":"same"}', unlisted: left })).toBe("old");
    expect(findRenamedFrom({ text: '{"name":"new","description":"other"}', unlisted: left })).toBeUndefined();
  });
});
