// Owns where the references within a schema lead: to a schema, and to an end. Refuses those that leave it. Where a schema is
// known by several places, of its own `$id` and of those around it, all of them lead there.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { MANY, NAMED, type Subschema } from "./schema-shape.ts";

/** Where the schemas of one whole schema are. */
export interface SchemaPlaces {
  /** By the URI of what they are in, `#`, and an anchor or a JSON Pointer with nothing escaped for URIs. */
  readonly schemas: Record<string, unknown>;
  /** Each schema's, of the innermost that has an id. */
  readonly homes: Map<unknown, string>;
}

/** Throws an Error for an id that is no URI or is there twice. */
export function placesIn(whole: JsonObject): SchemaPlaces {
  const places: SchemaPlaces = { schemas: Object.create(null) as Record<string, unknown>, homes: new Map() };
  enter(whole, "http://schema/", "", places);
  return places;
}

/** What stands under others may be a schema, whichever they are. */
const NO_SCHEMAS = /^(default|const)$/;

function enter(schema: unknown, outer: string, pointer: string, places: SchemaPlaces): void {
  if (!isObject(schema) && typeof schema !== "boolean") return;
  const { schemas } = places;
  const base = isObject(schema) ? baseOf(schema, outer, pointer, places) : outer;
  const here = `${base}#${pointer}`;
  if ((schemas[here] ??= schema) !== schema) throw new Error(`Duplicate schema URI "${here}".`);
  if (!isObject(schema)) return;
  if (!places.homes.has(schema)) places.homes.set(schema, base);
  if (typeof schema.$anchor === "string") schemas[`${base}#${schema.$anchor}`] = schema;
  for (const [keyword, value] of Object.entries(schema)) {
    for (const [below, inner] of under(keyword, value)) enter(inner, base, pointer + below, places);
  }
}

function under(keyword: string, value: unknown): readonly (readonly [pointer: string, value: unknown])[] {
  const at = `/${escaped(keyword)}`;
  if ((Array.isArray(value) ? MANY : NAMED).test(keyword)) {
    return Object.entries(value as object).map(([name, one]) => [`${at}/${escaped(name)}`, one]);
  }
  return NO_SCHEMAS.test(keyword) ? [] : [[at, value]];
}

/** What is within a schema that has an id is known by that, and by what is around it. */
function baseOf(schema: JsonObject, outer: string, pointer: string, places: SchemaPlaces): string {
  const { id: earlier, $id = earlier } = schema;
  if (typeof $id !== "string") return outer;
  const [uri = "", anchor] = new URL($id, outer).href.split("#");
  if (anchor) places.schemas[`${uri}#${unescaped(anchor)}`] = schema;
  else if (pointer === "") return uri;
  // Met before, within one that has an id: its own goes on from there. Each way to it would double what is within.
  else if (!places.homes.has(schema)) enter(schema, outer, "", places);
  return outer;
}

/** As a JSON Pointer has it. */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescaped(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** What a reference in a schema leads to; undefined: nothing, or something beyond it. */
export function referred(schema: JsonObject, reference: unknown, { schemas, homes }: SchemaPlaces): unknown {
  return schemas[homes.get(schema) + unescaped(String(reference))];
}

/** How many schemas may apply to one value. Each costs time, and a few that refer to each other twice grow to millions. */
const MAX_APPLIED = 100_000;

/** Keywords whose schemas, one or a list, apply to the same value as the schema that has them. */
const SAME_VALUE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];

/** Throws a TypeError for a reference, or an anchor, with which no value could be validated. */
export function checkReferences(subschemas: readonly Subschema[], places: SchemaPlaces): void {
  const targets = new Map(subschemas.map((subschema) => [subschema.schema, targetOf(subschema, places)]));
  const applied = new Map<JsonObject, number>();
  for (const { at, schema } of subschemas) {
    if (countApplied(schema, targets, applied) > MAX_APPLIED) {
      refuse(at, "its references come to no end");
    }
  }
}

/** What a schema refers to; undefined: it refers to nothing. */
function targetOf({ at, schema }: Subschema, places: SchemaPlaces): unknown {
  const { $ref, $anchor } = schema as { readonly $ref?: string; readonly $anchor?: string };
  if ($anchor !== undefined && referred(schema, `#${$anchor}`, places) !== schema) {
    refuse(at, `$anchor ${$anchor} is there twice`);
  }
  if ($ref === undefined) return undefined;
  if (!$ref.startsWith("#")) refuse(at, `$ref ${$ref} leaves the schema`);
  return referred(schema, $ref, places) ?? refuse(at, `$ref ${$ref} leads nowhere`);
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
