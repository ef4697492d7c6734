// Requests that look for what is hidden: every method that a table of methods has, every tool by its schema, with the
// words, names and tags of hidden things as often as with others. Drawn from a seed.

import * as fc from "fast-check";
import type { Json } from "../../support/mcp-client.ts";
import { hiddenId, HIDDEN_WORDS, VIEWS, visibleId, WORDS, type ViewName } from "./fixture.ts";

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;

export interface PairRequest {
  readonly revision: (typeof REVISIONS)[number];
  readonly view: ViewName;
  readonly method: string;
  readonly params: Json;
  /** Which of the cursors that this view was given before shall stand where a cursor is wanted; undefined: none. */
  readonly resumes: number | undefined;
  /** A change of something hidden that comes first, in the world that has such things. */
  readonly stirs: number | undefined;
}

const words = fc.constantFrom(...WORDS, ...HIDDEN_WORDS, "hunter", "la", "", "nothing", "open", "private");
const ids = fc.oneof(
  fc.nat({ max: 60 }).map(visibleId),
  fc.nat({ max: 200 }).map(hiddenId),
  fc.constantFrom("open-new-1", "open-new-2", "c", "open-m", "zz-", "b-"),
);
const names = fc.constantFrom("hidden_plan", "hidden_read", "note_delete", "hidden-profile", "nobody");
const uris = fc.oneof(
  ids.map((id) => `note://${id}`),
  fc.constantFrom("note://", "docs://tenantry/", "nothing://here"),
);
const texts = fc.oneof(
  words,
  fc.tuple(words, words).map((two) => two.join(" ")),
  ids,
  uris,
  names,
);

/** A value of a JSON Schema, as far as tools of this product have them. */
function valueOf(name: string, schema: Json): fc.Arbitrary<unknown> {
  if (schema["type"] === "array") return fc.array(valueOf(name, schema["items"] as Json), { maxLength: 3 });
  if (schema["type"] === "integer" || schema["type"] === "number") return fc.integer({ min: 1, max: 12 });
  if (schema["type"] === "boolean") return fc.boolean();
  if (name === "cursor") return fc.constant("CURSOR");
  return name === "id" ? fc.oneof(ids, uris) : texts;
}

export interface ListedSchema {
  readonly name: string;
  readonly inputSchema: Json;
}

function callOf({ name, inputSchema }: ListedSchema): fc.Arbitrary<Json> {
  const { properties = {}, required = [] } = inputSchema as { properties?: Record<string, Json>; required?: string[] };
  const values = Object.entries(properties).map(([member, schema]) => [member, valueOf(member, schema)] as const);
  // An id that a tool makes up stands anywhere in the order, and somewhere else in each world.
  const named = "id" in properties ? ["id"] : [];
  const args = fc.record(Object.fromEntries(values), { requiredKeys: [...new Set([...required, ...named])] });
  return fc.record({ name: fc.constant(name), arguments: args }) as fc.Arbitrary<Json>;
}

const completions: fc.Arbitrary<Json> = fc.oneof(
  fc.record({
    ref: fc.constant({ type: "ref/resource", uri: "note://{id}" }),
    argument: fc.record({ name: fc.constant("id"), value: fc.oneof(ids, fc.constantFrom("", "o", "open-", "b", "z")) }),
  }),
  fc.record({
    ref: fc.oneof(fc.constantFrom("summarize_notes", "greet"), names).map((name) => ({ type: "ref/prompt", name })),
    argument: fc.record({ name: fc.constantFrom("tag", "who"), value: words }),
  }),
) as fc.Arbitrary<Json>;

const lists = fc.constantFrom<Json>({}, { cursor: "CURSOR" }, { cursor: "stored~0Anote://b-0-private" });

/** What each method is asked with. A method that is not here is asked with a bit of everything. */
const PARAMS: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  "tools/list": lists,
  "prompts/list": lists,
  "resources/list": lists,
  "resources/templates/list": lists,
  "resources/read": fc.record({ uri: uris }) as fc.Arbitrary<Json>,
  "resources/subscribe": fc.record({ uri: uris }) as fc.Arbitrary<Json>,
  "resources/unsubscribe": fc.record({ uri: uris }) as fc.Arbitrary<Json>,
  "prompts/get": fc.oneof(
    fc.record({ name: fc.constant("summarize_notes"), arguments: fc.record({ tag: words }) }),
    fc.record({ name: fc.constant("greet"), arguments: fc.record({ who: words }) }),
    fc.record({ name: names }),
  ) as fc.Arbitrary<Json>,
  "completion/complete": completions,
};
const ANYTHING = fc.record({
  name: texts,
  uri: uris,
  cursor: texts,
  level: fc.constant("debug"),
}) as fc.Arbitrary<Json>;

export type Methods = Readonly<Record<(typeof REVISIONS)[number], readonly string[]>>;

/** Of each method, and of all; tools are asked as often as everything else together. */
export function requestsOf(
  methods: Methods,
  tools: readonly ListedSchema[],
): { readonly each: readonly fc.Arbitrary<PairRequest>[]; readonly any: fc.Arbitrary<PairRequest> } {
  const unknown = fc.record({ name: names, arguments: fc.constant({}) }) as fc.Arbitrary<Json>;
  const calls = fc.oneof({ weight: 9, arbitrary: fc.oneof(...tools.map(callOf)) }, { weight: 1, arbitrary: unknown });
  const weighted = REVISIONS.flatMap((revision) =>
    methods[revision].map((method) => {
      const params = method === "tools/call" ? calls : (PARAMS[method] ?? ANYTHING);
      const arbitrary = fc.record({
        revision: fc.constant(revision),
        view: fc.constantFrom(...VIEWS),
        method: fc.constant(method),
        params,
        resumes: fc.option(fc.nat({ max: 1000 }), { nil: undefined }),
        stirs: fc.option(fc.nat({ max: 400 }), { nil: undefined, freq: 1 }),
      });
      return { weight: method === "tools/call" ? methods[revision].length : 1, arbitrary };
    }),
  );
  return { each: weighted.map(({ arbitrary }) => arbitrary), any: fc.oneof(...weighted) };
}
