import { constantFrom, record, sample, type Arbitrary } from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { ZodType } from "zod";
import { BaseDocument, Document, NewOperator, NewSecret, NewTenant, type Infer } from "../../src/admin/contract.ts";
import { ToolName } from "../../src/admin/document-schema.ts";
import { validationErrors } from "../support/validation-errors.ts";
import { jsonSchemaOf } from "../../src/admin/schema-parts.ts";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import { compileJsonSchema } from "../../src/handlers/json-schema.ts";
import { isObject, type JsonObject } from "../../src/protocol/jsonrpc.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { SECRET_NAME_RULE } from "../../src/tenants/document/secret-name.ts";
import { samplesOf } from "./schema-samples.ts";

const faults = (shape: ZodType, value: unknown) =>
  validationErrors(shape, value).map(({ field, rule }) => [field, rule]);

const shapes: readonly (readonly [string, ZodType])[] = ROUTES.flatMap(({ method, path, params, query, body }) => {
  const name = `${method} ${path}`;
  const sent = body === undefined || body === "stream" ? [] : [[`the body of ${name}`, body] as const];
  return [[`the path of ${name}`, params] as const, [`the query of ${name}`, query] as const, ...sent];
});

describe("an error", () => {
  const prompt = (content: unknown) => ({ prompts: { p: { messages: [{ role: "user", content }] } } });

  it.each<[string, ZodType, unknown, readonly (readonly [string, string])[]]>([
    ["no object", Document, null, [["", "expected object, received null"]]],
    ["a member that is missing", NewTenant, {}, [["id", "is required"]]],
    ["an unknown member", NewTenant, { id: "a", x: 1 }, [["x", "is not a known field"]]],
    ["a member that is misspelt", Document, { titel: "A" }, [["titel", "is not a known field: did you mean title?"]]],
    [
      "a member of an upstream that is misspelt",
      Document,
      { upstreams: { a: { url: "https://a.example", timeout: 30 } } },
      [["upstreams.a.timeout", "is not a known field: did you mean timeoutMs?"]],
    ],
    [
      "a number in the place of an option",
      Document,
      { upstreams: { a: { url: "https://a.example", era: 2025 } } },
      [["upstreams.a.era", "expected string, received number: one of auto, 2025, 2026"]],
    ],
    [
      "an unknown member that every object has",
      NewTenant,
      { id: "a", toString: 1 },
      [["toString", "is not a known field"]],
    ],
    ["a type", Document, { search: 1 }, [["search", "expected boolean, received number"]]],
    [
      "a type of a text with a pattern",
      NewTenant,
      { id: 7 },
      [["id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"]],
    ],
    [
      "a pattern",
      NewTenant,
      { id: "A" },
      [["id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"]],
    ],
    ["a reserved word", NewTenant, { id: "mcp" }, [["id", "is a reserved word"]]],
    ["an option", Document, { mode: "shut" }, [["mode", "one of open, key, oauth, key+oauth, mixed"]]],
    [
      "a misspelt option",
      Document,
      { mode: "keys" },
      [["mode", "one of open, key, oauth, key+oauth, mixed: did you mean key?"]],
    ],
    ["a length", Document, { title: "x".repeat(2001) }, [["title", "at most 2000 characters"]]],
    ["an empty text", NewSecret, { value: "" }, [["value", "at least 1 character"]]],
    ["half a character", NewSecret, { value: "\ud800" }, [["value", "must be text"]]],
    ["bytes", NewSecret, { value: "ü".repeat(5000) }, [["value", "at most 8192 bytes"]]],
    ["a number that is too small", Document, { maxStalenessMs: 9 }, [["maxStalenessMs", "at least 50"]]],
    ["a number that is too large", Document, { maxStalenessMs: 300_001 }, [["maxStalenessMs", "at most 300000"]]],
    ["half a number", Document, { maxStalenessMs: 50.5 }, [["maxStalenessMs", "expected integer, received number"]]],
    [
      "a name of a member",
      Document,
      { scopes: { "-": {} } },
      [
        [
          "scopes.-",
          "1 to 64 characters (A-Z, a-z, 0-9, dot, underscore, hyphen) that begin and end with a letter or digit",
        ],
      ],
    ],
    ["a list", Document, { extends: Array(11).fill("a") }, [["extends", "at most 10 items"]]],
    [
      "an item",
      Document,
      { extends: ["a", ""] },
      [
        [
          "extends.1",
          "1 to 64 characters (A-Z, a-z, 0-9, dot, underscore, hyphen) that begin and end with a letter or digit",
        ],
      ],
    ],
    [
      "a day that is none",
      NewOperator,
      { name: "a", role: "owner", expires: "2026-02-30T00:00:00Z" },
      [["expires", "a time in UTC such as 2026-11-22T10:00:00Z, on a day that exists"]],
    ],
    [
      "a kind of content that is none",
      Document,
      prompt({ type: "sound" }),
      [["prompts.p.messages.0.content.type", "one of text, image, resource"]],
    ],
    ["content without a kind", Document, prompt({ text: "x" }), [["prompts.p.messages.0.content.type", "is required"]]],
    [
      "content of another kind",
      Document,
      prompt({ type: "text", uri: "a:b" }),
      [
        ["prompts.p.messages.0.content.text", "is required"],
        ["prompts.p.messages.0.content.uri", "is not a known field"],
      ],
    ],
    [
      "several members",
      Document,
      { mode: 1, colour: 1, limits: { keys: -1 } },
      [
        ["mode", "expected string, received number: one of open, key, oauth, key+oauth, mixed"],
        ["limits.keys", "at least 0"],
        ["colour", "is not a known field"],
      ],
    ],
  ])("for %s is reported, and nothing else", (_what, shape, value, said) => {
    expect(faults(shape, value)).toEqual(said);
  });

  it("counts characters, not halves of them", () => {
    expect(faults(Document, { title: "😀".repeat(2000) })).toEqual([]);
    expect(faults(Document, { title: "😀".repeat(2001) })).toEqual([["title", "at most 2000 characters"]]);
  });

  it("is reported a hundred and one times at most, by which an answer knows that there are more", () => {
    const unknown = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, 1]));
    const found = faults(NewTenant, { id: "a", document: unknown });
    expect(found).toHaveLength(101);
    expect(found[100]).toEqual(["document.k100", "is not a known field"]);
  });

  it("is not looked for in what is too long already", () => {
    expect(faults(Document, { allowedOrigins: Array.from({ length: 200_000 }, (_, at) => at) })).toEqual([
      ["allowedOrigins", "at most 100 items"],
    ]);
    const tools = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, 1]));
    expect(faults(Document, { tools })).toEqual([["tools", "at most 500 fields"]]);
  });

  it("is absent in a document of the maximum size whose members are empty", () => {
    const many = (count: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_none, at) => [`n${at}`, value]));
    const content = { type: "text", text: "x" };
    const profile = { tools: { rename: {} }, prompts: {}, resources: {} };
    const prompts = many(500, { messages: [{ role: "user", content }] });
    expect(faults(Document, { profiles: many(500, profile), scopes: many(500, {}), prompts })).toEqual([]);
  });

  it.each([".", "..", "__proto__"])("is the name %s, which its own path could not mean", (name) => {
    expect(faults(ToolName, name)).toHaveLength(1);
  });

  it("is looked for no longer when much was found, and what was found stays", () => {
    const wrong = { allow: Array(200).fill(1), deny: Array(200).fill(1) };
    const profiles = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, { tools: wrong }]));
    const found = faults(Document, { profiles });
    expect([found[0], found[100]]).toEqual([
      ["profiles.p0.tools.allow.0", "expected string, received number"],
      ["profiles.p0.tools.allow.100", "expected string, received number"],
    ]);
  });
});

/** What JSON Schema has no keyword for, or means otherwise: the contract says more than its description. */
const MORE = [
  "a time in UTC",
  "an origin",
  "is a reserved word",
  "must not start with xn--",
  "must differ",
  "bytes",
  SECRET_NAME_RULE,
  "a URI ",
  "a percent sign",
];

const OURS = new Set(["format", "x-maxBytes", "x-uniqueBy"]);

function standard(shape: unknown): unknown {
  if (Array.isArray(shape)) return shape.map(standard);
  if (!isObject(shape)) return shape;
  return Object.fromEntries(
    Object.entries(shape).flatMap(([key, value]) =>
      OURS.has(key) && typeof value !== "object" ? [] : [[key, standard(value)]],
    ),
  );
}

/** A document in which every member is there: made at random, one of them is nearly always wrong. */
const WHOLE = {
  title: "T",
  description: "D",
  instructions: "I",
  mode: "open",
  maxStalenessMs: 50,
  allowedOrigins: ["https://a.example"],
  limits: { bodyBytes: 1024, resources: 0, resourceBytes: 0, keys: 10_000 },
  search: true,
  tools: { "a*": { enabled: false, config: [{ any: null }] } },
  scopes: { s: { description: "S", tools: ["a"], prompts: [], resources: ["note://*"] } },
  profiles: {
    p: {
      title: "P",
      tools: { allow: ["a"], deny: ["b"], rename: { a: { name: "c", title: "C" } } },
      prompts: {},
      resources: { allow: ["note://*"] },
      search: false,
    },
  },
  prompts: {
    q: {
      title: "Q",
      arguments: [{ name: "a", required: true }, { name: "b" }],
      messages: [
        { role: "user", content: { type: "text", text: "{{a}}" } },
        { role: "assistant", content: { type: "image", data: "AAAA", mimeType: "image/png" } },
        { role: "user", content: { type: "resource", uri: "note://{{b}}" } },
      ],
    },
  },
  deprecatedNameDays: 1.5,
};

const GOOD: ReadonlyMap<ZodType, unknown> = new Map<ZodType, unknown>([
  [Document, WHOLE],
  [BaseDocument, WHOLE],
  [NewTenant, { id: "a", document: WHOLE }],
]);

const WORDS = ["a", "demo", "A b", "text", "", "a*"];
const ODD = [null, 1, -1, 1e9, 0.5, "", "A b", "x".repeat(300), true, [], ["a", "a"], {}, { a: {} }, { type: "text" }];

/** The value with one member, somewhere in it, that is another, absent or one too many. */
function spoiled(value: unknown, draw: () => number): unknown {
  const odd = ODD[draw() % ODD.length];
  if (!isObject(value) && !Array.isArray(value)) return odd;
  const names = Object.keys(value);
  const name = names[draw() % names.length];
  if (name === undefined || draw() % 4 === 0)
    return Array.isArray(value) ? [...(value as unknown[]), odd] : { ...value, more: odd };
  const copy = structuredClone(value) as Record<string, unknown>;
  if (draw() % 8 === 0 && !Array.isArray(value)) delete copy[name];
  else copy[name] = spoiled(copy[name], draw);
  return copy;
}

it("the contract has the same members of a document as the tenant", () => {
  type Written = Infer<typeof Document> & Infer<typeof BaseDocument>;
  expectTypeOf<keyof TenantDocument>().toEqualTypeOf<keyof Written>();
  expectTypeOf<Written>().toExtend<TenantDocument>();
});

describe("every shape of the contract", () => {
  it.each(shapes)("says how many items and members its lists and records have at most: %s", (_name, shape) => {
    const endless: unknown[] = [];
    const look = (json: unknown, at: string): void => {
      if (Array.isArray(json)) for (const [index, one] of json.entries()) look(one, `${at}.${index}`);
      if (!isObject(json)) return;
      if (json["type"] === "array" && json["maxItems"] === undefined) endless.push(at);
      const isRecord = json["type"] === "object" && isObject(json["additionalProperties"]);
      if (isRecord && json["maxProperties"] === undefined) endless.push(at);
      for (const [name, member] of Object.entries(json)) look(member, `${at}.${name}`);
    };
    look(jsonSchemaOf(shape), "");
    // What any JSON may be in is bounded by the size of a body alone.
    expect(endless).toEqual([]);
  });

  it.each(shapes)("takes and refuses what JSON Schema does: %s", (_name, shape) => {
    const plain = standard(jsonSchemaOf(shape)) as JsonObject;
    const violationsOf = compileJsonSchema(plain);
    const draws: Arbitrary<readonly [unknown, number]> = record({
      value: samplesOf(plain, {}, WORDS),
      seed: constantFrom(...Array(997).keys()),
    }).map(({ value, seed }) => [value, seed]);
    const verdicts = new Set<boolean>();
    for (const [value, seed] of sample(draws, { numRuns: 60, seed: 24 })) {
      let at = seed;
      const draw = () => (at = (at * 1103515245 + 12345) % 2147483648);
      const good = GOOD.get(shape) ?? value;
      for (const one of [good, value, spoiled(good, draw), spoiled(value, draw), spoiled(spoiled(value, draw), draw)]) {
        const valid = violationsOf(one).length === 0;
        const lines = faults(shape, one).filter(([, rule]) => !MORE.some((more) => rule?.includes(more)));
        expect([lines.length === 0, one]).toEqual([valid, one]);
        verdicts.add(valid);
      }
    }
    expect(verdicts).toEqual(new Set([true, false]));
  });
});
