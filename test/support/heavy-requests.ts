// Owns requests that try to cost more than their bytes: seeded, over every method that the official schemas know, every tool,
// prompt and template that a server lists and every field of theirs, by alphabet, size and nesting. Refuses to judge.

import * as fc from "fast-check";
import type { Json } from "./mcp.ts";
import { officialMethods } from "./official-schema.ts";
import { write } from "./raw-http.ts";

const MIB = 1024 * 1024;
export const REVISIONS = ["2025-03-26", "2025-11-25", "2026-07-28"] as const;
type HeavyRevision = (typeof REVISIONS)[number];

export interface HeavyRequest {
  readonly about: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a server offers: names, and the fields of each with the longest text that they take. */
export interface Offered {
  readonly tools: readonly Fielded[];
  readonly prompts: readonly Fielded[];
  readonly uris: readonly string[];
}
interface Fielded {
  readonly name: string;
  readonly fields: readonly Field[];
}
interface Field {
  readonly name: string;
  /** JSON that the field takes. */
  readonly proper: string;
  readonly longest: number;
}

type Listing = (method: string) => Promise<Json>;

export async function offeredBy(list: Listing): Promise<Offered> {
  const [tools, prompts, resources, templates] = await Promise.all(
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map(list),
  );
  return {
    tools: (tools?.["tools"] as { name: string; inputSchema: Schema }[]).map(({ name, inputSchema }) => ({
      name,
      fields: fieldsOf(inputSchema),
    })),
    prompts: (prompts?.["prompts"] as { name: string; arguments?: { name: string }[] }[]).map((prompt) => ({
      name: prompt.name,
      fields: (prompt.arguments ?? []).map(({ name }) => ({ name, proper: '"a"', longest: 4 * MIB })),
    })),
    uris: [
      ...(resources?.["resources"] as { uri: string }[]).map(({ uri }) => uri),
      ...(templates?.["resourceTemplates"] as { uriTemplate: string }[]).map(({ uriTemplate }) => uriTemplate),
    ],
  };
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxLength?: number;
  readonly pattern?: string;
}

function fieldsOf({ properties = {} }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    proper: properOf(schema),
    longest: schema.maxLength ?? 4 * MIB,
  }));
}

function properOf({ type, items }: Schema): string {
  if (type === "integer" || type === "number") return "1";
  if (type === "boolean") return "true";
  if (type === "array") return `[${items ? properOf(items) : ""}]`;
  return type === "object" ? "{}" : '"abc"';
}

/** Pieces that something has an ear for: Markdown, templates, URIs, patterns, search, normalization, JSON itself. */
const PIECES = [
  ..."a0 _-*#[(!{<&%/\\\"'`~:;,.?^$|+=@",
  ..."\t\n\r\u0000\u001b\u00a0\u2028\ufeff\ud800éﬁﷺＡ字😀",
  "![",
  "[](",
  "](",
  "**a",
  "{{a}}",
  "{a}",
  "${a}",
  "../",
  "%41",
  "a b ",
  "a OR ",
  "NEAR(",
  "ab ",
  "a*",
  "a,",
  "a\u0301\u0323",
  "<!--",
  "://",
  "\r\n",
  "e\u0301",
  "\u202e",
] as const;

const SIZES = [64, 400, 2000, 8192, 40_000, 150_000, 500_000, MIB, 3 * MIB, 4 * MIB - 4096];

/** JSON of about so many bytes, or less where the field takes no more. */
function heavyValue(longest: number): fc.Arbitrary<{ json: string; what: string }> {
  return fc
    .record({
      piece: fc.constantFrom(...PIECES),
      other: fc.constantFrom(...PIECES),
      size: fc.constantFrom(...SIZES, Math.min(longest, SIZES.at(-1) ?? 0)),
      end: fc.constantFrom("", "", "x", "]", " "),
      shape: fc.constantFrom(...SHAPES),
    })
    .map(({ piece, other, size, end, shape }) => {
      const json = shape.make({ piece, other, size, end, longest });
      return { json, what: `${shape.name} of ${JSON.stringify(piece)}, ${json.length} characters` };
    });
}

interface Making {
  readonly piece: string;
  readonly other: string;
  readonly size: number;
  readonly end: string;
  readonly longest: number;
}

/** Escapes count: what arrives has so many bytes. */
function timesIn(size: number, json: string): number {
  return Math.max(1, Math.floor(size / Buffer.byteLength(json)));
}

const encoded = (text: string) => JSON.stringify(text);

const AS_LONG_AS_MAY_BE: Shape = {
  name: "a text as long as may be",
  make: ({ piece, longest, end, size }) => {
    const most = Math.min(longest, timesIn(Math.max(size, 500_000), encoded(piece)) * piece.length);
    return encoded((piece.repeat(Math.ceil(most / piece.length)) + end).slice(-most));
  },
};

interface Shape {
  readonly name: string;
  readonly make: (making: Making) => string;
}

const SHAPES: readonly Shape[] = [
  { name: "a text", make: ({ piece, size, end }) => encoded(piece.repeat(timesIn(size, encoded(piece))) + end) },
  AS_LONG_AS_MAY_BE,
  {
    name: "a text of two halves",
    make: ({ piece, other, size, end }) =>
      encoded(piece.repeat(timesIn(size / 2, encoded(piece))) + other.repeat(timesIn(size / 2, encoded(other))) + end),
  },
  {
    name: "an array",
    make: ({ piece, size }) =>
      `[${Array(timesIn(size, `${encoded(piece)},`))
        .fill(encoded(piece))
        .join(",")}]`,
  },
  {
    name: "many members",
    make: ({ piece, size }) =>
      `{${Array.from({ length: timesIn(size, `${encoded(piece)}:1234567890,`) }, (_none, at) => `${encoded(`${at}${piece}`)}:${at}`).join(",")}}`,
  },
  { name: "empty objects", make: ({ size }) => `[${Array(timesIn(size, "{},")).fill("{}").join(",")}]` },
  { name: "nesting", make: ({ size }) => "[".repeat(Math.min(size, 120)) + "]".repeat(Math.min(size, 120)) },
  {
    name: "nesting again and again",
    make: ({ size }) =>
      `[${Array(timesIn(size, '{"a":'.repeat(100) + "1" + "}".repeat(100)))
        .fill('{"a":'.repeat(100) + "1" + "}".repeat(100))
        .join(",")}]`,
  },
  { name: "deep nesting", make: ({ size }) => "[".repeat(size / 2) + "]".repeat(size / 2) },
  { name: "a number", make: ({ size }) => "1".repeat(Math.min(size, MIB)) },
];

/** Every member that a request of MCP may have, whatever its method: a new method is met with all of them. */
const MEMBERS = [
  ["name", '"abc"'],
  ["uri", '"a:b"'],
  ["cursor", '"abc"'],
  ["arguments", "{}"],
  ["level", '"info"'],
  ["ref", '{"type":"ref/prompt","name":"abc"}'],
  ["argument", '{"name":"a","value":"b"}'],
  ["context", '{"arguments":{}}'],
  ["protocolVersion", '"2025-11-25"'],
  ["capabilities", "{}"],
  ["clientInfo", '{"name":"a","version":"1"}'],
  ["notifications", "{}"],
  ["requestId", "1"],
  ["inputResponses", "{}"],
  ["requestState", '"abc"'],
  ["_meta", "{}"],
  ["other", "1"],
] as const;

export function heavyRequests(offered: Offered): fc.Arbitrary<HeavyRequest> {
  return fc.constantFrom(...REVISIONS).chain((revision) => {
    const methods = [...officialMethods(revision).client.requests.keys()];
    return fc.oneof(
      { weight: 3, arbitrary: callOf(revision, "tools/call", offered.tools) },
      { weight: 1, arbitrary: callOf(revision, "prompts/get", offered.prompts) },
      { weight: 2, arbitrary: memberOf(revision, methods, offered) },
      { weight: 1, arbitrary: anywhereIn(revision, methods) },
    );
  });
}

/** Every field of everything that is called, with every piece, as long as the field takes it. */
export function everyField({ tools, prompts }: Offered): HeavyRequest[] {
  const calls = (method: string, offers: readonly Fielded[]) =>
    offers.flatMap(({ name, fields }) => fields.map((field) => ({ method, name, fields, field })));
  return [...calls("tools/call", tools), ...calls("prompts/get", prompts)].flatMap((called) =>
    PIECES.map((piece, at) => {
      const { longest } = called.field;
      const json = AS_LONG_AS_MAY_BE.make({ piece, other: piece, size: 500_000, end: "x", longest });
      const what = `as long as may be of ${encoded(piece)}`;
      return fill(REVISIONS[at % REVISIONS.length] ?? "2026-07-28", called, { json, what });
    }),
  );
}

interface Called {
  readonly method: string;
  readonly name: string;
  readonly fields: readonly Field[];
  readonly field: Field;
}

/** One field with what is heavy, the others with what they take. */
function fill(
  revision: HeavyRevision,
  { method, name, fields, field }: Called,
  { json, what }: { readonly json: string; readonly what: string },
): HeavyRequest {
  const others = fields.filter((one) => one !== field).map((one) => [one.name, one.proper]);
  const text = [...others, [field.name, json]].map(([key = "", value]) => `${encoded(key)}:${value}`).join(",");
  return place(revision, method, { name }, { arguments: `{${text}}` }, `${name}.${field.name}: ${what}`);
}

function callOf(revision: HeavyRevision, method: string, offers: readonly Fielded[]): fc.Arbitrary<HeavyRequest> {
  return fc
    .constantFrom(...offers)
    .chain(({ name, fields }) =>
      fc
        .constantFrom(...fields, { name: "other", proper: "1", longest: 4 * MIB })
        .chain((field) =>
          heavyValue(field.longest).map((value) => fill(revision, { method, name, fields, field }, value)),
        ),
    );
}

function memberOf(revision: HeavyRevision, methods: readonly string[], offered: Offered): fc.Arbitrary<HeavyRequest> {
  const named = [...offered.tools, ...offered.prompts].map(({ name }) => name);
  return fc
    .record({
      method: fc.constantFrom(...methods),
      name: fc.constantFrom(...named),
      uri: fc.constantFrom(...offered.uris),
      member: fc.constantFrom(...MEMBERS),
      within: fc.constantFrom("", "name", "value", "arguments", "uri", "resourceSubscriptions", "sampling"),
      value: heavyValue(4 * MIB),
    })
    .map(({ method, name, uri, member: [member], within, value }) => {
      const json = within === "" ? value.json : `{${encoded(within)}:${value.json}}`;
      const others = MEMBERS.filter(([other]) => other !== member && other !== "_meta" && other !== "cursor");
      const proper = { ...Object.fromEntries(others.map(([other, text]) => [other, JSON.parse(text)])), name, uri };
      return place(revision, method, proper, { [member]: json }, `${member}${within && `.${within}`}: ${value.what}`);
    });
}

/** In a place of the envelope, or as all that there is. */
function anywhereIn(revision: HeavyRevision, methods: readonly string[]): fc.Arbitrary<HeavyRequest> {
  const { headers } = write(revision, "ping");
  return fc
    .record({ method: fc.constantFrom(...methods), value: heavyValue(4 * MIB), where: fc.nat({ max: 6 }) })
    .map(({ method, value: { json, what }, where }) => {
      const bodies = [
        `{"jsonrpc":"2.0","id":${json},"method":${encoded(method)}}`,
        `{"jsonrpc":"2.0","id":1,"method":${json}}`,
        `{"jsonrpc":"2.0","id":1,"method":${encoded(method)},"params":${json}}`,
        `{"jsonrpc":"2.0","id":1,"method":${encoded(method)},"more":${json}}`,
        `{"jsonrpc":"2.0","id":1,"result":${json}}`,
        `[{"jsonrpc":"2.0","id":1,"method":"ping","params":${json}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
        json,
      ];
      return {
        about: `${revision} envelope ${where}: ${what}`,
        headers,
        body: (bodies[where] ?? json).slice(0, 4 * MIB),
      };
    });
}

/** `heavy`: members of the parameters as JSON, in the place of proper ones. */
function place(
  revision: HeavyRevision,
  method: string,
  proper: Json,
  heavy: Readonly<Record<string, string>>,
  about: string,
): HeavyRequest {
  const { headers, body } = write(revision, method, proper);
  const marks = Object.keys(heavy).map((member) => [member, `@@${member}@@`] as const);
  const params = { ...(body["params"] as Json), ...Object.fromEntries(marks) };
  const { _meta, ...rest } = params;
  // Of `_meta` a heavy one is added to what era 2026 demands.
  const meta =
    heavy["_meta"] === undefined ? _meta : { ...((body["params"] as Json)["_meta"] as Json), a: "@@_meta@@" };
  const shown = JSON.stringify({ ...body, params: { ...rest, ...(meta === undefined ? {} : { _meta: meta }) } });
  const text = marks.reduce((json, [member, mark]) => json.replace(`"${mark}"`, () => heavy[member] ?? ""), shown);
  return { about: `${revision} ${method} ${about}`, headers, body: text };
}
