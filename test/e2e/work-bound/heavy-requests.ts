// Requests that try to cost more than their bytes: seeded, over every method that the official schemas know, every
// tool, prompt and template that a server lists and every field of theirs, by alphabet, size and nesting.

import * as fc from "fast-check";
import { AS_LONG_AS_MAY_BE, encoded, heavyValue, PIECES } from "./heavy-values.ts";
import type { Json } from "../../support/mcp-client.ts";
import { officialMethods } from "../../support/official-schema.ts";
import { write } from "../../support/raw-http.ts";

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
  const { tools } = await list("tools/list");
  const { prompts } = await list("prompts/list");
  const { resources } = await list("resources/list");
  const { resourceTemplates } = await list("resources/templates/list");
  return {
    tools: (tools as { name: string; inputSchema: Schema }[]).map(({ name, inputSchema }) => ({
      name,
      fields: fieldsOf(inputSchema),
    })),
    prompts: (prompts as { name: string; arguments?: { name: string }[] }[]).map((prompt) => ({
      name: prompt.name,
      fields: (prompt.arguments ?? []).map(({ name }) => ({ name, proper: '"a"', longest: 4 * MIB })),
    })),
    uris: [
      ...(resources as { uri: string }[]).map(({ uri }) => uri),
      ...(resourceTemplates as { uriTemplate: string }[]).map(({ uriTemplate }) => uriTemplate),
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
  return place([revision, method], { name }, { arguments: `{${text}}` }, `${name}.${field.name}: ${what}`);
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
      return place([revision, method], proper, { [member]: json }, `${member}${within && `.${within}`}: ${value.what}`);
    });
}

/** In a place of the message, or as all that there is. */
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
        about: `${revision} message ${where}: ${what}`,
        headers,
        body: (bodies[where] ?? json).slice(0, 4 * MIB),
      };
    });
}

/** `heavy`: members of the parameters as JSON, in the place of proper ones. */
function place(
  [revision, method]: readonly [HeavyRevision, string],
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
