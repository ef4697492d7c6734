import { describe, expect, it } from "vitest";
import {
  diffDocuments,
  mergeDocuments,
  renamingOf,
  type TenantDocument,
} from "../../../src/tenants/document/tenant-document.ts";

const message = { role: "user", content: { type: "text", text: "Hi" } } as const;

describe("documents on top of each other", () => {
  it.each<[string, TenantDocument[], TenantDocument]>([
    ["nothing", [], {}],
    ["nothing of nothing", [{}, {}], {}],
    ["the later value", [{ title: "a", mode: "key" }, { title: "b" }], { title: "b", mode: "key" }],
    ["an empty text too", [{ instructions: "a" }, { instructions: "" }], { instructions: "" }],
    ["false too", [{ search: true }, { search: false }], { search: false }],
    ["lists whole", [{ hostnames: ["a.b", "c.d"] }, { hostnames: ["e.f"] }], { hostnames: ["e.f"] }],
    [
      "maps by name, named things whole",
      [
        { tools: { add: { enabled: false, config: 1 }, greet: { config: 2 } } },
        { tools: { add: { config: 3 }, wipe: { enabled: false } } },
      ],
      { tools: { add: { config: 3 }, greet: { config: 2 }, wipe: { enabled: false } } },
    ],
    [
      "profiles whole",
      [{ profiles: { p: { title: "a", search: true } } }, { profiles: { p: { title: "b" } } }],
      { profiles: { p: { title: "b" } } },
    ],
    [
      "limits by name",
      [{ limits: { keys: 1, resources: 2 } }, { limits: { keys: 3 } }],
      { limits: { keys: 3, resources: 2 } },
    ],
    [
      "scopes and prompts by name",
      [
        { scopes: { a: {} }, prompts: { x: { messages: [message] } } },
        { scopes: { b: {} }, prompts: { y: { messages: [] } } },
      ],
      { scopes: { a: {}, b: {} }, prompts: { x: { messages: [message] }, y: { messages: [] } } },
    ],
    [
      "three layers in their order",
      [{ title: "a" }, { title: "b", description: "b" }, { title: "c" }],
      { title: "c", description: "b" },
    ],
    ["without what they extend", [{ extends: ["x"], title: "a" }], { title: "a" }],
  ])("give %s", (_what, layers, expected) => {
    expect(mergeDocuments(layers)).toEqual(expected);
  });

  it("stay as they are", () => {
    const layers: TenantDocument[] = [{ tools: { add: { config: 1 } } }, { tools: { add: { config: 2 } } }];
    const before = structuredClone(layers);
    mergeDocuments(layers);
    expect(layers).toEqual(before);
  });

  it("say nothing where a member is undefined", () => {
    const silent = { title: undefined } as unknown as TenantDocument;
    expect(mergeDocuments([{ title: "a" }, silent])).toEqual({ title: "a" });
  });

  it("reach no prototype", () => {
    const evil = JSON.parse('{"tools":{"__proto__":{"enabled":false}}}') as TenantDocument;
    const merged = mergeDocuments([{ tools: { add: {} } }, evil]);
    expect(Object.keys(merged.tools ?? {})).toEqual(["add", "__proto__"]);
    expect(({} as Record<string, unknown>)["enabled"]).toBeUndefined();
  });
});

describe("the difference of two documents", () => {
  it.each<[string, unknown, unknown, unknown[]]>([
    ["nothing", { a: { b: 1 } }, { a: { b: 1 } }, []],
    ["a value", { title: "a" }, { title: "b" }, [{ path: "title", before: "a", after: "b" }]],
    ["what is new", {}, { title: "b" }, [{ path: "title", after: "b" }]],
    ["what is gone", { title: "a" }, {}, [{ path: "title", before: "a" }]],
    [
      "member by member, in the order of their names",
      { tools: { b: { config: 1 }, a: { enabled: true } } },
      { tools: { a: { enabled: false }, b: { config: 2 } } },
      [
        { path: "tools.a.enabled", before: true, after: false },
        { path: "tools.b.config", before: 1, after: 2 },
      ],
    ],
    ["a list as a whole", { l: [1, 2] }, { l: [1] }, [{ path: "l", before: [1, 2], after: [1] }]],
    ["null from nothing", { a: null }, {}, [{ path: "a", before: null }]],
    ["a thing that became a value", { a: { b: 1 } }, { a: 1 }, [{ path: "a", before: { b: 1 }, after: 1 }]],
  ])("is %s", (_what, before, after, expected) => {
    expect(diffDocuments(before, after)).toEqual(expected);
  });

  it("is not the order of members", () => {
    expect(diffDocuments({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
  });
});

it("a renaming is explicit", () => {
  expect(renamingOf({ rename: { add: { name: "sum" } } }, "add")).toEqual({ name: "sum" });
  for (const name of ["greet", "constructor", "__proto__", "toString"]) {
    expect(renamingOf({ rename: { add: {} } }, name)).toBeUndefined();
  }
  expect(renamingOf({}, "add")).toBeUndefined();
  expect(renamingOf(undefined, "add")).toBeUndefined();
});
