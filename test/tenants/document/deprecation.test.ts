import { describe, expect, it } from "vitest";
import { findDeprecatedNames, type CatalogNames } from "../../../src/tenants/document/deprecation.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";

const NOW = Date.UTC(2026, 10, 21);
const DAY = 86_400_000;
const CATALOG: CatalogNames = { tools: ["add", "greet"], prompts: ["hello"], search: ["search", "fetch"] };
const message = { role: "user", content: { type: "text", text: "Hi" } } as const;
const prompt = { messages: [message] };

const retired = (before: TenantDocument, after: TenantDocument) =>
  findDeprecatedNames(before, after, CATALOG, NOW).map(
    ({ kind, profile, name, target, successor }) =>
      `${profile ?? "-"} ${kind} ${name} (${target}) -> ${successor ?? "nothing"}`,
  );

describe("what retires", () => {
  it.each<[string, TenantDocument, TenantDocument, string[]]>([
    ["nothing where nothing changes", { search: true }, { search: true }, []],
    ["nothing where something is added", {}, { search: true, profiles: { p: {} } }, []],
    ["no tool that is disabled: it was taken away", {}, { tools: { add: { enabled: false } } }, []],
    [
      "no tools under a pattern that is disabled",
      { profiles: { p: {} } },
      { profiles: { p: {} }, tools: { "*": { enabled: false } } },
      [],
    ],
    ["no tool that a profile denies", { profiles: { p: {} } }, { profiles: { p: { tools: { deny: ["gr*"] } } } }, []],
    [
      "a tool that is renamed, with its successor",
      { profiles: { p: {} } },
      { profiles: { p: { tools: { rename: { add: { name: "sum" } } } } } },
      ["p tools add (add) -> sum"],
    ],
    [
      "a name given up for another",
      { profiles: { p: { tools: { rename: { add: { name: "sum" } } } } } },
      { profiles: { p: { tools: { rename: { add: { name: "total" } } } } } },
      ["p tools sum (add) -> total"],
    ],
    [
      "no name that goes on, for another tool",
      { profiles: { p: {} } },
      { profiles: { p: { tools: { rename: { add: { name: "greet" }, greet: { name: "add" } } } } } },
      [],
    ],
    ["no prompt of the document that is gone", { prompts: { own: prompt } }, {}, []],
    ["no prompt that the code still has", { prompts: { hello: prompt } }, {}, []],
    ["no search that is switched off", { search: true }, {}, []],
    ["nothing of a profile that is gone: it has no URL", { profiles: { p: {} } }, {}, []],
    ["nothing where scopes change: they grant, and list nothing", { scopes: { s: { tools: ["*"] } } }, {}, []],
  ])("is %s", (_what, before, after, expected) => {
    expect(retired(before, after)).toEqual(expected);
  });
});

it("can be called for as many days as the new document says, thirty where it says nothing", () => {
  const profiles = { p: { tools: { rename: { add: { name: "sum" } } } } };
  const until = (after: TenantDocument) =>
    findDeprecatedNames({ profiles: { p: {} } }, { ...after, profiles }, CATALOG, NOW).map((name) => name.until);
  expect(until({})).toEqual([NOW + 30 * DAY]);
  expect(until({ deprecatedNameDays: 0.5 })).toEqual([NOW + DAY / 2]);
  expect(until({ deprecatedNameDays: 0 })).toEqual([]);
});
