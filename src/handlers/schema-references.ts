// Owns where the references within a schema lead: to a schema, and to an end. Refuses those that leave it. Where a schema is
// known by several places, of its own `$id` and of those around it, all of them lead there.
// https://json-schema.org/draft/2020-12/json-schema-core#section-8.2

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS, type Subschema } from "./schema-shape.ts";

/** Where the schemas of one whole schema are. */
export interface SchemaIndex {
  /** By the URI of what they are in, `#`, and an anchor or a JSON Pointer with nothing escaped for URIs. */
  readonly schemas: Record<string, unknown>;
  /** Each schema's, of the innermost that has an id. */
  readonly baseUris: Map<unknown, string>;
  /** Where the references of each lead, by keyword, once that was looked for. */
  readonly resolved: Map<unknown, Record<string, unknown>>;
}

/** Throws an Error for an id that is no URI or is there twice. */
export function indexSchema(whole: JsonObject): SchemaIndex {
  const schemas = Object.create(null) as Record<string, unknown>;
  const index: SchemaIndex = { schemas, baseUris: new Map(), resolved: new Map() };
  addSchema(whole, "http://schema/", "", index);
  return index;
}

/** What stands under others may be a schema, whichever they are. */
const VALUE_KEYWORDS = /^(default|const)$/;

function addSchema(schema: unknown, outer: string, pointer: string, index: SchemaIndex): void {
  if (!isObject(schema) && typeof schema !== "boolean") return;
  const { schemas } = index;
  const base = isObject(schema) ? baseOf(schema, outer, pointer, index) : outer;
  const uri = `${base}#${pointer}`;
  if ((schemas[uri] ??= schema) !== schema) throw new Error(`Duplicate schema URI "${uri}".`);
  if (!isObject(schema)) return;
  if (!index.baseUris.has(schema)) index.baseUris.set(schema, base);
  // An anchor is one of the innermost that has an id.
  const anchors = index.baseUris.get(schema) === base ? [schema.$anchor, schema.$dynamicAnchor] : [];
  for (const anchor of anchors.filter((one) => typeof one === "string")) schemas[`${base}#${anchor}`] = schema;
  for (const [keyword, value] of Object.entries(schema)) {
    for (const [below, inner] of subschemasUnder(keyword, value)) addSchema(inner, base, pointer + below, index);
  }
}

function subschemasUnder(keyword: string, value: unknown): readonly (readonly [pointer: string, value: unknown])[] {
  const at = `/${escapePointer(keyword)}`;
  if ((Array.isArray(value) ? SCHEMA_LIST_KEYWORDS : SCHEMA_MAP_KEYWORDS).test(keyword)) {
    return Object.entries(value as object).map(([name, one]) => [`${at}/${escapePointer(name)}`, one]);
  }
  return VALUE_KEYWORDS.test(keyword) ? [] : [[at, value]];
}

/** What is within a schema that has an id is known by that, and by what is around it. */
function baseOf(schema: JsonObject, outer: string, pointer: string, index: SchemaIndex): string {
  const { id: earlier, $id = earlier } = schema;
  if (typeof $id !== "string") return outer;
  const [uri = "", anchor] = new URL($id, outer).href.split("#");
  if (anchor) index.schemas[`${uri}#${decodeFragment(anchor)}`] = schema;
  else if (pointer === "") return uri;
  // Met before, within one that has an id: its own goes on from there. Each way to it would double what is within.
  else if (!index.baseUris.has(schema)) addSchema(schema, outer, "", index);
  return outer;
}

/** As a JSON Pointer has it. */
function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** What a reference in a schema leads to; undefined: nothing, or something beyond it. */
export function resolveReference(schema: JsonObject, reference: unknown, { schemas, baseUris }: SchemaIndex): unknown {
  const [uri, fragment] = splitReference(reference);
  const baseUri = baseUris.get(schema) ?? "";
  if (uri === "") return schemas[`${baseUri}#${decodeFragment(fragment)}`];
  return URL.canParse(uri, baseUri) ? schemas[`${new URL(uri, baseUri).href}#${decodeFragment(fragment)}`] : undefined;
}

/** As `referred`, for the reference under a keyword of the schema, looked for once. */
export function resolveKeyword(schema: JsonObject, keyword: string, index: SchemaIndex): unknown {
  let byKeyword = index.resolved.get(schema);
  if (!byKeyword) index.resolved.set(schema, (byKeyword = {}));
  return (byKeyword[keyword] ??= resolveReference(schema, schema[keyword], index));
}

function splitReference(reference: unknown): readonly [uri: string, fragment: string] {
  const [, uri = "", fragment = ""] = /^([^#]*)#?(.*)$/s.exec(String(reference)) ?? [];
  return [uri, fragment];
}

/** How many schemas may apply to one value. Each costs time, and a few that refer to each other twice grow to millions. */
const MAX_APPLIED = 100_000;

/** Keywords whose schemas, one or a list, apply to the same value as the schema that has them. */
const IN_PLACE_KEYWORDS = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];

/** Throws a TypeError for a reference, or an anchor, with which no value could be validated. */
export function checkReferences(subschemas: readonly Subschema[], index: SchemaIndex): void {
  for (const subschema of subschemas) checkSubschema(subschema, index);
  const applied = new Map<JsonObject, number>();
  for (const { at, schema } of subschemas) {
    if (countApplied(schema, index, applied) > MAX_APPLIED) {
      rejectReference(at, "its references come to no end");
    }
  }
}

/** Keywords that refer to a schema. Those after the first may mean one by the way that led to the value. */
export const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

function checkSubschema({ at, schema }: Subschema, index: SchemaIndex): void {
  // Texts: that was checked before.
  const texts = schema as Readonly<Record<string, string | undefined>>;
  const { $anchor } = texts;
  if ($anchor !== undefined && resolveReference(schema, `#${$anchor}`, index) !== schema) {
    rejectReference(at, `$anchor ${$anchor} is there twice`);
  }
  for (const keyword of REFERENCES) {
    const reference = texts[keyword];
    if (reference === undefined) continue;
    const target = resolveKeyword(schema, keyword, index);
    const isMissing = target === undefined;
    if (!isMissing && (keyword === "$ref" || !isAmbiguous(target, reference, index))) continue;
    const why = reference.startsWith("#") ? "leads nowhere" : "leaves the schema";
    rejectReference(at, `${keyword} ${reference} ${isMissing ? why : "could lead to more than one schema"}`);
  }
}

/** Whether others could be meant: which one, only the way to a value would tell. */
function isAmbiguous(target: unknown, reference: string, { baseUris }: SchemaIndex): boolean {
  const [, name] = splitReference(reference);
  const isCandidate = (one: unknown) =>
    isObject(one) && (name === "" ? one.$recursiveAnchor === true : one.$dynamicAnchor === name);
  return isCandidate(target) && [...baseUris.keys()].filter(isCandidate).length > 1;
}

function rejectReference(at: string, why: string): never {
  throw new TypeError(at === "" ? why : `${at}: ${why}`);
}

/** How many schemas apply to a value to which this one does, itself included; Infinity where they come round to it. */
function countApplied(schema: unknown, index: SchemaIndex, counted: Map<JsonObject, number>): number {
  if (!isObject(schema)) return 0;
  const cached = counted.get(schema);
  if (cached !== undefined) return cached;
  // Whoever meets it before it is counted has come round to it.
  counted.set(schema, Infinity);
  const inner = [
    ...REFERENCES.map((keyword) => schema[keyword] && resolveKeyword(schema, keyword, index)),
    ...IN_PLACE_KEYWORDS.flatMap((keyword) => schema[keyword] ?? []),
    ...Object.values(schema.dependentSchemas ?? {}),
  ];
  const count = inner.reduce<number>((sum, one) => sum + countApplied(one, index, counted), 1);
  counted.set(schema, count);
  return count;
}
