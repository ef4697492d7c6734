// Many clients refuse a whole list for one definition that is not as the specification has it. So whatever an upstream
// writes in any member of a definition, the definition is left out, or the list is one that every revision allows.

import { expect, test } from "vitest";
import { findDefinitionError } from "../../src/gateway/upstream-definition.ts";
import type { ListedKind } from "../../src/protocol/definition.ts";
import { collectParamHeaders } from "../../src/protocol/headers.ts";
import { isObject, type JsonObject } from "../../src/protocol/jsonrpc.ts";
import { answerOf, callOf, FakeRequestHandlers, REVISIONS } from "../support/fake-request-handlers.ts";
import { officialViolations } from "../support/official-schema.ts";

const ICONS = [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "light" }];
const SHARED = { name: "n", title: "t", description: "d", icons: ICONS, _meta: { a: 1 } };
const ANNOTATIONS = { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" };

/** One of each kind with every member that the specification knows. */
const WHOLE: Readonly<Record<ListedKind, JsonObject>> = {
  tools: {
    ...SHARED,
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
    },
    outputSchema: { type: "object", properties: { b: { type: "number" } }, required: ["b"] },
    annotations: { title: "t", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    execution: { taskSupport: "optional" },
  },
  prompts: { ...SHARED, arguments: [{ name: "a", title: "t", description: "d", required: true }] },
  resources: { ...SHARED, uri: "file:///a", mimeType: "text/plain", size: 5, annotations: ANNOTATIONS },
  resourceTemplates: { ...SHARED, uriTemplate: "file:///{a}", mimeType: "text/plain", annotations: ANNOTATIONS },
};

/** As JSON, because JSON has more than JSON.stringify writes. */
const VALUES = `null true 0 -1 1.5 1e400 "" "x" [] {} [1] [null] ["x","x"] {"x":1} {"x":null} {"x":true} [{"src":"x"}]
  {"type":"array"} {"type":["object"]} {"type":"object","properties":{"p":1}} {"type":"object","properties":[]}
  {"type":"object","required":"a"}`.split(/\s+/);

function pathsIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [...(path.length > 0 ? [path] : []), ...inner.flatMap(([key, item]) => pathsIn(item, [...path, key]))];
}

/** Where the value belongs, so that the text of it can stand there. */
const HERE = "\u0001here";

function withText(whole: JsonObject, path: readonly string[], text: string): string {
  const copy = structuredClone(whole) as Record<string, unknown>;
  let at = copy;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  at[path.at(-1) ?? ""] = HERE;
  return JSON.stringify(copy).replace(JSON.stringify(HERE), text);
}

const METHODS: Readonly<Record<ListedKind, string>> = {
  tools: "tools/list",
  prompts: "prompts/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
};

function handlersWith(kind: ListedKind, wire: JsonObject): FakeRequestHandlers {
  const named = wire as JsonObject & { readonly name: string };
  switch (kind) {
    case "tools": {
      const headers = collectParamHeaders(wire["inputSchema"] as JsonObject);
      const paramHeaders = "broken" in headers ? [] : headers;
      const inputSchema = wire["inputSchema"] as JsonObject;
      const target = { wire: { ...named, inputSchema }, paramHeaders, repeatable: false };
      return new FakeRequestHandlers({ tools: [{ wire: target.wire, target }] });
    }
    case "prompts":
      return new FakeRequestHandlers({ prompts: [{ wire: named }] });
    case "resources":
      return new FakeRequestHandlers({ onList: () => ({ items: [wire] }) });
    case "resourceTemplates":
      return new FakeRequestHandlers({
        templates: [{ wire: named as JsonObject & { name: string; uriTemplate: string } }],
      });
  }
}

async function faultsOfList(kind: ListedKind, wire: JsonObject): Promise<string[]> {
  const all: string[] = [];
  for (const revision of REVISIONS) {
    const { message } = await answerOf(callOf(revision, METHODS[kind]), handlersWith(kind, wire));
    for (const one of officialViolations(revision, message, { direction: "server", method: METHODS[kind] }))
      // No client of the official SDKs looks whether the address of an icon is one.
      if (!one.includes('src must match format "uri"')) all.push(`${revision}: ${one}`);
  }
  return all;
}

test.each(Object.keys(WHOLE) as ListedKind[])("of %s, one with every member is listed", async (kind) => {
  expect(findDefinitionError(kind, WHOLE[kind])).toBeUndefined();
  expect(await faultsOfList(kind, WHOLE[kind])).toEqual([]);
});

test.each(Object.keys(WHOLE) as ListedKind[])("of %s, whatever stands in any member, no list breaks", async (kind) => {
  const broken: string[] = [];
  let listed = 0;
  for (const path of pathsIn(WHOLE[kind])) {
    for (const text of VALUES) {
      const wire = JSON.parse(withText(WHOLE[kind], path, text)) as JsonObject;
      if (!isObject(wire) || findDefinitionError(kind, wire) !== undefined) continue;
      listed += 1;
      const [first] = await faultsOfList(kind, wire);
      if (first !== undefined) broken.push(`${path.join(".")} = ${text}: ${first}`);
    }
  }
  expect(listed).toBeGreaterThan(20);
  expect(broken).toEqual([]);
});
