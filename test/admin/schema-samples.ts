// Makes values that a JSON Schema describes, for tests that try everything an API says it takes.

import {
  array,
  boolean,
  constant,
  constantFrom,
  dictionary,
  integer,
  oneof,
  record,
  string,
  stringMatching,
  type Arbitrary,
} from "fast-check";

export type JsonSchema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, JsonSchema>>;

const MAX_DEPTH = 6;

/** The schema itself where it only names another. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref } = schema;
  return typeof $ref === "string" ? resolved(schemas[$ref.split("/").at(-1) ?? ""] ?? {}, schemas) : schema;
}

/** `schemas`: what `$ref` names at its end. `words`: texts that mean something to who is asked, tried for any string. */
export function samplesOf(schema: JsonSchema, schemas: Schemas, words: readonly string[]): Arbitrary<unknown> {
  const text = oneof(constantFrom(...words), string({ maxLength: 12 }));

  const stringOf = ({ pattern, format }: JsonSchema): Arbitrary<unknown> => {
    if (format === "date-time") return constantFrom("2100-01-01T00:00:00Z", "soon");
    // The library makes no texts for a pattern that looks around itself.
    const made = typeof pattern === "string" && !/\(\?[=!<]/.test(pattern);
    return made ? oneof(text, stringMatching(new RegExp(pattern))) : text;
  };

  const objectOf = (one: JsonSchema, depth: number): Arbitrary<unknown> => {
    const {
      properties = {},
      required = [],
      additionalProperties,
    } = one as {
      properties?: Schemas;
      required?: readonly string[];
      additionalProperties?: unknown;
    };
    if (typeof additionalProperties === "object") {
      return dictionary(constantFrom(...words), valueOf(additionalProperties as JsonSchema, depth), { maxKeys: 3 });
    }
    const members = Object.entries(properties).map(([name, member]) => [name, valueOf(member, depth)] as const);
    return record(Object.fromEntries(members), { requiredKeys: [...required] });
  };

  const KINDS: Readonly<Record<string, (one: JsonSchema, depth: number) => Arbitrary<unknown>>> = {
    object: objectOf,
    array: ({ items = {} }, depth) => array(valueOf(items as JsonSchema, depth), { maxLength: 3 }),
    string: stringOf,
    boolean: () => boolean(),
    integer: ({ minimum = 0, maximum = 100 }) => integer({ min: minimum as number, max: maximum as number }),
  };

  const valueOf = (named: JsonSchema, above: number): Arbitrary<unknown> => {
    if (above >= MAX_DEPTH) return constant(null);
    const one = resolved(named, schemas);
    const fixed = "const" in one ? [one["const"]] : (one["enum"] as unknown[] | undefined);
    if (fixed) return constantFrom(...fixed);
    const choices = (one["anyOf"] ?? one["oneOf"] ?? one["allOf"]) as readonly JsonSchema[] | undefined;
    if (choices) return oneof(...choices.map((choice) => valueOf(choice, above + 1)));
    const kind = [one["type"]].flat()[0] as string | undefined;
    const made = kind === undefined ? undefined : KINDS[kind]?.(one, above + 1);
    return made ?? oneof(text, integer(), constant(null), dictionary(text, text, { maxKeys: 2 }));
  };
  return valueOf(schema, 0);
}
