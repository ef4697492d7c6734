// Owns where the references within a schema lead: to a schema, and to an end. Refuses those that leave it. Where a schema is
// known by several places, of its own `$id` and of those around it, all of them lead there.
// https://json-schema.org/draft/2020-12/json-schema-core#section-8.2

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { MANY, NAMED, type Subschema } from "./schema-shape.ts";

/** Where the schemas of one whole schema are. */
export interface SchemaPlaces {
  /** By the URI of what they are in, `#`, and an anchor or a JSON Pointer with nothing escaped for URIs. */
  readonly schemas: Record<string, unknown>;
  /** Each schema's, of the innermost that has an id. */
  readonly homes: Map<unknown, string>;
  /** Where the references of each lead, by keyword, once that was looked for. */
  readonly led: Map<unknown, Record<string, unknown>>;
}

/** Throws an Error for an id that is no URI or is there twice. */
export function placesIn(whole: JsonObject): SchemaPlaces {
  const schemas = Object.create(null) as Record<string, unknown>;
  const places: SchemaPlaces = { schemas, homes: new Map(), led: new Map() };
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
  // An anchor is one of the innermost that has an id.
  const anchors = places.homes.get(schema) === base ? [schema.$anchor, schema.$dynamicAnchor] : [];
  for (const anchor of anchors.filter((one) => typeof one === "string")) schemas[`${base}#${anchor}`] = schema;
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
  const [uri, fragment] = partsOf(reference);
  const home = homes.get(schema) ?? "";
  if (uri === "") return schemas[`${home}#${unescaped(fragment)}`];
  return URL.canParse(uri, home) ? schemas[`${new URL(uri, home).href}#${unescaped(fragment)}`] : undefined;
}

/** As `referred`, for the reference under a keyword of the schema, looked for once. */
export function targetOf(schema: JsonObject, keyword: string, places: SchemaPlaces): unknown {
  let led = places.led.get(schema);
  if (!led) places.led.set(schema, (led = {}));
  return (led[keyword] ??= referred(schema, schema[keyword], places));
}

function partsOf(reference: unknown): readonly [uri: string, fragment: string] {
  const [, uri = "", fragment = ""] = /^([^#]*)#?(.*)$/s.exec(String(reference)) ?? [];
  return [uri, fragment];
}

/** How many schemas may apply to one value. Each costs time, and a few that refer to each other twice grow to millions. */
const MAX_APPLIED = 100_000;

/** Keywords whose schemas, one or a list, apply to the same value as the schema that has them. */
const SAME_VALUE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];

/** Throws a TypeError for a reference, or an anchor, with which no value could be validated. */
export function checkReferences(subschemas: readonly Subschema[], places: SchemaPlaces): void {
  for (const subschema of subschemas) checkSubschema(subschema, places);
  const applied = new Map<JsonObject, number>();
  for (const { at, schema } of subschemas) {
    if (countApplied(schema, places, applied) > MAX_APPLIED) {
      refuse(at, "its references come to no end");
    }
  }
}

/** Keywords that refer to a schema. Those after the first may mean one by the way that led to the value. */
export const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

function checkSubschema({ at, schema }: Subschema, places: SchemaPlaces): void {
  // Texts: that was checked before.
  const texts = schema as Readonly<Record<string, string | undefined>>;
  const { $anchor } = texts;
  if ($anchor !== undefined && referred(schema, `#${$anchor}`, places) !== schema) {
    refuse(at, `$anchor ${$anchor} is there twice`);
  }
  for (const keyword of REFERENCES) {
    const reference = texts[keyword];
    if (reference === undefined) continue;
    const found = targetOf(schema, keyword, places);
    const isLost = found === undefined;
    if (!isLost && (keyword === "$ref" || !isOneOfSeveral(found, reference, places))) continue;
    const why = reference.startsWith("#") ? "leads nowhere" : "leaves the schema";
    refuse(at, `${keyword} ${reference} ${isLost ? why : "could lead to more than one schema"}`);
  }
}

/** Whether others could be meant: which one, only the way to a value would tell. */
function isOneOfSeveral(found: unknown, reference: string, { homes }: SchemaPlaces): boolean {
  const [, name] = partsOf(reference);
  const isMeant = (one: unknown) =>
    isObject(one) && (name === "" ? one.$recursiveAnchor === true : one.$dynamicAnchor === name);
  return isMeant(found) && [...homes.keys()].filter(isMeant).length > 1;
}

function refuse(at: string, why: string): never {
  throw new TypeError(at === "" ? why : `${at}: ${why}`);
}

/** How many schemas apply to a value to which this one does, itself included; Infinity where they come round to it. */
function countApplied(schema: unknown, places: SchemaPlaces, counted: Map<JsonObject, number>): number {
  if (!isObject(schema)) return 0;
  const known = counted.get(schema);
  if (known !== undefined) return known;
  // Whoever meets it before it is counted has come round to it.
  counted.set(schema, Infinity);
  const inner = [
    ...REFERENCES.map((keyword) => schema[keyword] && targetOf(schema, keyword, places)),
    ...SAME_VALUE.flatMap((keyword) => schema[keyword] ?? []),
    ...Object.values(schema.dependentSchemas ?? {}),
  ];
  const count = inner.reduce<number>((sum, one) => sum + countApplied(one, places, counted), 1);
  counted.set(schema, count);
  return count;
}
