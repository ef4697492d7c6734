// Owns where the references within a schema lead: to a schema, and to an end. Refuses to resolve them: the validator has.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Subschema } from "./schema-shape.ts";

/** Schemas by their absolute URIs, as the validator finds them. */
type Lookup = Readonly<Record<string, unknown>>;

/** How many schemas may apply to one value. Each costs time, and a few that refer to each other twice grow to millions. */
const MAX_APPLIED = 100_000;

/** Keywords whose schemas, one or a list, apply to the same value as the schema that has them. */
const SAME_VALUE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];

/** Throws a TypeError for a reference, or an anchor, with which no value could be validated. */
export function checkReferences(subschemas: readonly Subschema[], lookup: Lookup): void {
  const targets = new Map(subschemas.map((subschema) => [subschema.schema, targetOf(subschema, lookup)]));
  const applied = new Map<JsonObject, number>();
  for (const { at, schema } of subschemas) {
    if (countApplied(schema, targets, applied) > MAX_APPLIED) {
      refuse(at, "its references come to no end");
    }
  }
}

/** What the validator wrote into each schema. */
interface Resolved {
  readonly __absolute_uri__: string;
  readonly __absolute_ref__: string;
  readonly $anchor?: string;
  readonly $ref?: string;
}

/** What a schema refers to; undefined: it refers to nothing. */
function targetOf({ at, schema }: Subschema, lookup: Lookup): unknown {
  const resolved = schema as unknown as Resolved;
  const { $ref, $anchor } = resolved;
  if ($anchor !== undefined && lookup[new URL(`#${$anchor}`, resolved.__absolute_uri__).href] !== schema) {
    refuse(at, `$anchor ${$anchor} is there twice`);
  }
  if ($ref === undefined) return undefined;
  if (!$ref.startsWith("#")) refuse(at, `$ref ${$ref} leaves the schema`);
  return lookup[resolved.__absolute_ref__] ?? refuse(at, `$ref ${$ref} leads nowhere`);
}

function refuse(at: string, why: string): never {
  throw new TypeError(at === "" ? why : `${at}: ${why}`);
}

/** How many schemas apply to a value to which this one does, itself included; Infinity where they come round to it. */
function countApplied(
  schema: unknown,
  targets: ReadonlyMap<JsonObject, unknown>,
  counted: Map<JsonObject, number>,
): number {
  if (!isObject(schema)) return 0;
  const known = counted.get(schema);
  if (known !== undefined) return known;
  // Whoever meets it before it is counted has come round to it.
  counted.set(schema, Infinity);
  const inner = [
    targets.get(schema),
    ...SAME_VALUE.flatMap((keyword) => schema[keyword] ?? []),
    ...Object.values(schema.dependentSchemas ?? {}),
  ];
  const count = inner.reduce<number>((sum, one) => sum + countApplied(one, targets, counted), 1);
  counted.set(schema, count);
  return count;
}
