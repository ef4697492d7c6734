// Resolves the references within a schema, and rejects those that leave it or never end. A schema can have several
// URIs, from its own `$id` and from the schemas around it; all of them resolve to it.
// https://json-schema.org/draft/2020-12/json-schema-core#section-8.2

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS, type Subschema } from "./schema-shape.ts";

/** The subschemas of one root schema. */
export interface SchemaIndex {
  /** By base URI, `#`, and an anchor or a JSON Pointer without URI escapes. */
  readonly schemas: Record<string, unknown>;
  /** The base URI of each schema, from the innermost schema with an id. */
  readonly baseUris: Map<unknown, string>;
  /** Resolved references of each schema, by keyword. */
  readonly resolved: Map<unknown, Record<string, unknown>>;
}

/** Throws an Error for an id that is not a URI or is used twice. */
export function indexSchema(rootSchema: JsonObject): SchemaIndex {
  const schemas = Object.create(null) as Record<string, unknown>;
  const index: SchemaIndex = { schemas, baseUris: new Map(), resolved: new Map() };
  addSchema(rootSchema, "http://schema/", "", index);
  return index;
}

/** All other keywords, known or not, may hold a schema. */
const VALUE_KEYWORDS = /^(default|const)$/;

function addSchema(schema: unknown, outer: string, pointer: string, index: SchemaIndex): void {
  if (!isObject(schema) && typeof schema !== "boolean") return;
  const { schemas } = index;
  const base = isObject(schema) ? baseOf(schema, outer, pointer, index) : outer;
  const uri = `${base}#${pointer}`;
  if ((schemas[uri] ??= schema) !== schema) throw new Error(`Duplicate schema URI "${uri}".`);
  if (!isObject(schema)) return;
  if (!index.baseUris.has(schema)) index.baseUris.set(schema, base);
  // An anchor belongs to the innermost schema with an id.
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

/**
 * The base URI for a schema's children. Children of a schema with an id are indexed under that id and under the outer
 * URI.
 */
function baseOf(schema: JsonObject, outer: string, pointer: string, index: SchemaIndex): string {
  const { id: earlier, $id = earlier } = schema;
  if (typeof $id !== "string") return outer;
  const [uri = "", anchor] = new URL($id, outer).href.split("#");
  if (anchor) index.schemas[`${uri}#${decodeFragment(anchor)}`] = schema;
  else if (pointer === "") return uri;
  // A schema with an id inside another one with an id is indexed once under its own id. Indexing it on each path would
  // double the work inside it.
  else if (!index.baseUris.has(schema)) addSchema(schema, outer, "", index);
  return outer;
}

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

/** The schema that a reference resolves to; undefined if there is none within the root schema. */
export function resolveReference(schema: JsonObject, reference: unknown, { schemas, baseUris }: SchemaIndex): unknown {
  const [uri, fragment] = splitReference(reference);
  const baseUri = baseUris.get(schema) ?? "";
  if (uri === "") return schemas[`${baseUri}#${decodeFragment(fragment)}`];
  return URL.canParse(uri, baseUri) ? schemas[`${new URL(uri, baseUri).href}#${decodeFragment(fragment)}`] : undefined;
}

/** Like `resolveReference`, for the reference under a keyword of the schema. Cached. */
export function resolveKeyword(schema: JsonObject, keyword: string, index: SchemaIndex): unknown {
  let byKeyword = index.resolved.get(schema);
  if (!byKeyword) index.resolved.set(schema, (byKeyword = {}));
  return (byKeyword[keyword] ??= resolveReference(schema, schema[keyword], index));
}

function splitReference(reference: unknown): readonly [uri: string, fragment: string] {
  const [, uri = "", fragment = ""] = /^([^#]*)#?(.*)$/s.exec(String(reference)) ?? [];
  return [uri, fragment];
}

/**
 * Most schemas that may apply to one value. Each costs time, and a few that refer to each other twice grow to millions.
 */
const MAX_APPLIED = 100_000;

/** Keywords whose schemas, one or a list, apply to the same value as the schema that has them. */
const IN_PLACE_KEYWORDS = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];

/** Throws a TypeError for a reference or an anchor that makes validation impossible. */
export function checkReferences(subschemas: readonly Subschema[], index: SchemaIndex): void {
  for (const subschema of subschemas) checkSubschema(subschema, index);
  const applied = new Map<JsonObject, number>();
  for (const { at, schema } of subschemas) {
    if (countApplied(schema, index, applied) > MAX_APPLIED) {
      rejectReference(at, "its references are circular or too many");
    }
  }
}

/** Keywords that refer to a schema. All but the first can depend on the path that led to the value. */
export const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

function checkSubschema({ at, schema }: Subschema, index: SchemaIndex): void {
  // Earlier checks ensure that these are strings.
  const texts = schema as Readonly<Record<string, string | undefined>>;
  const { $anchor } = texts;
  if ($anchor !== undefined && resolveReference(schema, `#${$anchor}`, index) !== schema) {
    rejectReference(at, `$anchor ${$anchor} must not occur twice`);
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

/** Whether other schemas could be meant, which only the path to a value decides. */
function isAmbiguous(target: unknown, reference: string, { baseUris }: SchemaIndex): boolean {
  const [, name] = splitReference(reference);
  const isCandidate = (one: unknown) =>
    isObject(one) && (name === "" ? one.$recursiveAnchor === true : one.$dynamicAnchor === name);
  return isCandidate(target) && [...baseUris.keys()].filter(isCandidate).length > 1;
}

function rejectReference(at: string, why: string): never {
  throw new TypeError(at === "" ? why : `${at}: ${why}`);
}

/** Number of schemas that apply to a value when this one does, itself included; Infinity for a cycle. */
function countApplied(schema: unknown, index: SchemaIndex, counted: Map<JsonObject, number>): number {
  if (!isObject(schema)) return 0;
  const cached = counted.get(schema);
  if (cached !== undefined) return cached;
  // A lookup that finds this entry before it is counted has found a cycle.
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
