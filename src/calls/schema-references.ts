// Owns where the references within a schema lead: to a schema, and to an end. Refuses to resolve them: the validator has.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { subschemasOf, type Subschema } from "./schema-shape.ts";

/** Schemas by their absolute URIs, as the validator finds them. */
type Lookup = Readonly<Record<string, unknown>>;

/** How many schemas may apply to one value. Each costs time, and a few that refer to each other twice grow to millions. */
const MAX_APPLIED = 100_000;

/** Keywords whose schemas apply to the same value as the schema that has them: one schema or a list, or by name. */
const SAME_VALUE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];
const SAME_VALUE_BY_NAME = ["dependentSchemas", "dependencies"];

/** Throws a TypeError for a reference, or an anchor, with which no value could be validated. */
export function checkReferences(subschemas: readonly Subschema[], lookup: Lookup): void {
  const targets = new Map<JsonObject, unknown>();
  const all = [...subschemas];
  const known = new Set(all.map(({ schema }) => schema));
  for (const subschema of all) {
    const target = targetOf(subschema, lookup);
    targets.set(subschema.schema, target);
    if (!isObject(target) || known.has(target)) continue;
    // It stands under a keyword that nobody knows, and is a schema because it is referred to.
    const further = subschemasOf(target, `${subschema.at}.$ref`);
    for (const { schema } of further) known.add(schema);
    all.push(...further);
  }
  const applied = new Map<JsonObject, number>();
  for (const { at, schema } of all) {
    if (countApplied(schema, targets, applied) > MAX_APPLIED) {
      refuse(at, "its references lead back to it, or to too many schemas for one value");
    }
  }
}

/** What the validator wrote into each schema. */
interface Resolved {
  readonly __absolute_uri__: string;
  readonly __absolute_ref__: string;
  readonly __absolute_recursive_ref__: string;
  readonly $anchor?: string;
  readonly $ref?: string;
  readonly $recursiveRef?: unknown;
}

/** What a schema refers to; undefined: it refers to nothing. */
function targetOf({ at, schema }: Subschema, lookup: Lookup): unknown {
  const resolved = schema as unknown as Resolved;
  const { $ref, $anchor } = resolved;
  if ($anchor !== undefined && lookup[new URL(`#${$anchor}`, resolved.__absolute_uri__).href] !== schema) {
    refuse(at, `$anchor ${$anchor} is there twice`);
  }
  if (resolved.$recursiveRef === "#") return lookup[resolved.__absolute_recursive_ref__];
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
    ...SAME_VALUE_BY_NAME.flatMap((keyword) => Object.values(schema[keyword] ?? {})),
  ];
  const count = inner.reduce<number>((sum, one) => sum + countApplied(one, targets, counted), 1);
  counted.set(schema, count);
  return count;
}
