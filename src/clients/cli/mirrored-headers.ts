// Owns the arguments of a tool that its schema mirrors into headers, and which annotations make a tool unusable.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters

import { headerValue, isObject, type Json } from "./mcp-http.ts";

export interface MirroredParam {
  readonly header: string;
  /** The chain of properties that leads to it. */
  readonly path: readonly string[];
}

interface Found {
  readonly params: MirroredParam[];
  broken: string | undefined;
}

const ANNOTATION = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES = new Set<unknown>(["string", "integer", "boolean"]);
/** Keywords whose value is data or names, not a schema. */
const NO_SCHEMA = new Set(["const", "default", "enum", "examples", "required", "dependentRequired"]);
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

export function mirroredParams(schema: unknown): readonly MirroredParam[] | { readonly broken: string } {
  const found: Found = { params: [], broken: undefined };
  walk(schema, [], found);
  const names = new Set(found.params.map(({ header }) => header.toLowerCase()));
  if (found.broken === undefined && names.size < found.params.length) found.broken = "two headers have the same name";
  return found.broken === undefined ? found.params : { broken: found.broken };
}

/** `path` is undefined where no chain of properties leads. */
function walk(schema: unknown, path: readonly string[] | undefined, found: Found): void {
  if (Array.isArray(schema)) for (const item of schema) walk(item, undefined, found);
  if (!isObject(schema) || found.broken !== undefined) return;
  if (schema[ANNOTATION] !== undefined) annotate(schema, path, found);
  for (const [keyword, value] of Object.entries(schema)) {
    if (MAPS.has(keyword) && isObject(value)) walkMap(value, keyword === "properties" ? path : undefined, found);
    else if (!NO_SCHEMA.has(keyword)) walk(value, undefined, found);
  }
}

function walkMap(schemas: Json, path: readonly string[] | undefined, found: Found): void {
  for (const [name, schema] of Object.entries(schemas)) walk(schema, path && [...path, name], found);
}

function annotate(schema: Json, path: readonly string[] | undefined, found: Found): void {
  const header = schema[ANNOTATION];
  if (path === undefined || path.length === 0) found.broken = `${ANNOTATION} stands where no property is`;
  else if (typeof header !== "string" || !TOKEN.test(header)) found.broken = `${path.join(".")}: is no header name`;
  else if (!MIRRORED_TYPES.has(schema.type)) found.broken = `${path.join(".")}: cannot be a header`;
  else found.params.push({ header, path });
}

export function mirroredHeaders(params: readonly MirroredParam[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of params) {
    const value = valueAt(args, path);
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      headers[`mcp-param-${header}`] = headerValue(String(value));
    }
  }
  return headers;
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let at = args;
  for (const key of path) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}
