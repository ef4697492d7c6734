// The request metadata headers of 2026-07-28: writes them for a body, decodes them, and compares them with the body.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata

import { failure, type Failure } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";

const PREFIX = "=?base64?";
const SUFFIX = "?=";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns the decoded value, or undefined if it claims to be Base64 and is not, or contains characters that a header
 * may not have.
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (value.startsWith(PREFIX) && value.endsWith(SUFFIX) && value.length >= PREFIX.length + SUFFIX.length) {
    const encoded = value.slice(PREFIX.length, -SUFFIX.length);
    if (!BASE64.test(encoded)) return undefined;
    return decodeUtf8(atob(encoded));
  }
  return /^[\t\x20-\x7e]*$/.test(value) ? value : undefined;
}

/** Returns the value itself if it is safe in a header, else `=?base64?…?=` around the Base64 of its UTF-8. */
export function encodeHeaderValue(value: string): string {
  const isSafe = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/.test(value);
  if (isSafe && !(value.startsWith(PREFIX) && value.endsWith(SUFFIX))) return value;
  return PREFIX + btoa(encodeUtf8(value)) + SUFFIX;
}

/** Available on every platform, whose types this folder does not use. One character stands for one byte. */
declare function atob(base64: string): string;
declare function btoa(bytes: string): string;

/** Half of a surrogate pair becomes U+FFFD. */
function encodeUtf8(text: string): string {
  const escaped = encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, "\ufffd"));
  return escaped.replaceAll(/%(..)/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function decodeUtf8(bytes: string): string | undefined {
  try {
    return decodeURIComponent(
      bytes.replaceAll(/[^]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`),
    );
  } catch {
    return undefined;
  }
}

/** Methods whose `Mcp-Name` header repeats a member of params. */
const NAME_HEADER_SOURCE: Readonly<Record<string, "name" | "uri">> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** The headers that every request of era 2026 sends for its body. */
export function standardHeaders(method: string, params: JsonObject): Record<string, string> {
  const source = NAME_HEADER_SOURCE[method];
  const name = source === undefined ? undefined : params[source];
  return {
    "mcp-method": encodeHeaderValue(method),
    ...(typeof name === "string" ? { "mcp-name": encodeHeaderValue(name) } : {}),
  };
}

/** Returns undefined if the headers match the body. */
export function checkStandardHeaders(
  method: string,
  params: JsonObject,
  headers: { readonly method: string | null; readonly name: string | null },
): Failure | undefined {
  if (headers.method === null) return mismatch("Mcp-Method header is required");
  if (headers.method !== method) {
    return mismatch(`Mcp-Method header '${headers.method}' does not match the method '${method}'`);
  }
  const source = NAME_HEADER_SOURCE[method];
  const value = source === undefined ? undefined : params[source];
  if (source === undefined || typeof value !== "string") return undefined;
  if (headers.name === null) return mismatch("Mcp-Name header is required");
  const decoded = decodeHeaderValue(headers.name);
  if (decoded === undefined) return mismatch("Mcp-Name header is not a valid value");
  return decoded === value ? undefined : mismatch(`Mcp-Name header does not match params.${source}`);
}

/** One property of a tool's input schema that is repeated in the header `Mcp-Param-{header}`. */
export interface ParamHeader {
  readonly header: string;
  readonly path: readonly string[];
  readonly type: "string" | "integer" | "boolean";
}

/** The `Mcp-Param-*` headers for the arguments of a call. An argument that is absent or null has no header. */
export function paramHeaders(mirrored: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of mirrored) {
    const value = isObject(args) ? valueAt(args, path) : undefined;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      headers[`mcp-param-${header.toLowerCase()}`] = encodeHeaderValue(String(value));
    }
  }
  return headers;
}

/** Returns undefined if the headers match the arguments. */
export function checkParamHeaders(
  mirrored: readonly ParamHeader[],
  args: JsonObject,
  header: (name: string) => string | null,
): Failure | undefined {
  for (const param of mirrored) {
    const name = `Mcp-Param-${param.header}`;
    const raw = header(name);
    const value = valueAt(args, param.path);
    const wrong = value === undefined || value === null ? checkAbsent(name, raw) : checkMirror(name, raw, value);
    if (wrong) return wrong;
  }
  return undefined;
}

function checkAbsent(name: string, raw: string | null): Failure | undefined {
  return raw === null ? undefined : mismatch(`${name} header has no value in the arguments`);
}

function checkMirror(name: string, raw: string | null, value: unknown): Failure | undefined {
  if (raw === null) return mismatch(`${name} header is required`);
  const decoded = decodeHeaderValue(raw);
  if (decoded === undefined) return mismatch(`${name} header is not a valid value`);
  const same = typeof value === "number" ? isSameNumber(decoded, value) : decoded === String(value);
  return same ? undefined : mismatch(`${name} header does not match the argument`);
}

/**
 * Accepts plain decimals and exact integers only: an intermediary that reads the header may not know hexadecimal, and
 * does not round as JavaScript does.
 */
function isSameNumber(text: string, value: number): boolean {
  return /^-?\d+(?:\.\d+)?$/.test(text) && Number.isSafeInteger(value) && Number(text) === value;
}

function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let at: unknown = args;
  for (const key of path) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Every property that an input schema annotates with `x-mcp-header`, or the rule that an annotation breaks. */
export function collectParamHeaders(schema: JsonObject): ParamHeader[] | { readonly broken: string } {
  const found: ParamHeader[] = [];
  const broken = collectFrom(schema, [], found) ?? findMisplaced(schema, "", true);
  if (broken !== undefined) return { broken };
  const names = new Set(found.map((param) => param.header.toLowerCase()));
  return names.size === found.length ? found : { broken: "x-mcp-header names must differ in more than case" };
}

function collectFrom(schema: JsonObject, path: readonly string[], found: ParamHeader[]): string | undefined {
  if (!isObject(schema.properties)) return undefined;
  for (const [key, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const here = [...path, key];
    const header = property["x-mcp-header"];
    if (header !== undefined) {
      const { type } = property;
      if (typeof header !== "string" || !HEADER_NAME.test(header))
        return `${here.join(".")}: x-mcp-header must be a header name`;
      if (type !== "string" && type !== "integer" && type !== "boolean") {
        return `${here.join(".")}: x-mcp-header needs the type string, integer or boolean`;
      }
      found.push({ header, path: here, type });
    }
    const broken = collectFrom(property, here, found);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

/** Keywords whose value is data or names, not a schema. */
const NO_SCHEMA = new Set(["const", "default", "enum", "examples", "required", "dependentRequired"]);
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/**
 * Finds an `x-mcp-header` that is not on a property reached through `properties` alone: it has no argument to repeat,
 * so the definition is invalid. `reachable`: only `properties` led here so far.
 */
function findMisplaced(schema: unknown, at: string, reachable: boolean): string | undefined {
  if (Array.isArray(schema)) return firstDefined(schema, (item) => findMisplaced(item, at, false));
  if (!isObject(schema)) return undefined;
  const isProperty = reachable && at !== "";
  if (schema["x-mcp-header"] !== undefined && !isProperty)
    return `${at || "the root"}: x-mcp-header must be on a property, which only properties contain`;
  return firstDefined(Object.entries(schema), ([keyword, value]) => {
    if (NO_SCHEMA.has(keyword)) return undefined;
    if (!MAPS.has(keyword) || !isObject(value)) return findMisplaced(value, `${at}/${keyword}`, false);
    const inReach = reachable && keyword === "properties";
    return firstDefined(Object.entries(value), ([name, inner]) =>
      findMisplaced(inner, `${at}/${keyword}/${name}`, inReach),
    );
  });
}

function firstDefined<T>(items: readonly T[], fault: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = fault(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function mismatch(why: string): Failure {
  return failure("headerMismatch", `Header mismatch: ${why}`);
}
