// A tool's arguments on the command line: `key=value` by the tool's schema, `key:=JSON`. The server validates the
// values.

import { usageError } from "../exit.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { didYouMean } from "../../protocol/did-you-mean.ts";

export interface ToolListEntry {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly _meta?: JsonObject;
}

export function parseArguments(
  pairs: readonly string[],
  json: string | undefined,
  schema: JsonObject | undefined,
): JsonObject {
  const args: JsonObject = json === undefined ? {} : parseJsonArgs(json);
  for (const pair of pairs) {
    const match = /^([^=:]+)(:?=)([\s\S]*)$/.exec(pair);
    if (!match) throw usageError(`${pair}: an argument is key=value or key:=JSON; --json-args takes all of them`);
    const [, key = "", operator, text = ""] = match;
    args[key] = operator === ":=" ? parseJson(text, key) : coerce(text, propertyOf(schema, key));
  }
  return args;
}

/**
 * A sentence for each argument that the schema does not name. If the schema allows further ones, the server does not
 * report them.
 */
export function unknownArguments(args: JsonObject, { name, inputSchema = {} }: ToolListEntry): string[] {
  const { properties, additionalProperties, patternProperties } = inputSchema;
  if (
    !isObject(properties) ||
    patternProperties !== undefined ||
    ![undefined, false].includes(additionalProperties as false)
  )
    return [];
  const names = Object.keys(properties);
  return Object.keys(args)
    .filter((key) => !names.includes(key))
    .map((key) => `${name} has no argument ${key}${didYouMean(key, names)}`);
}

function parseJsonArgs(text: string): JsonObject {
  const value = parseJson(text, "--json-args");
  if (isObject(value)) return value;
  throw usageError("--json-args: must be a JSON object");
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usageError(`${what}: is not JSON: ${text.slice(0, 100)}`);
  }
}

function propertyOf(schema: JsonObject | undefined, key: string): JsonObject | undefined {
  return (schema?.properties as Record<string, JsonObject> | undefined)?.[key];
}

/** Parses a value as JSON only if the schema expects something other than a text: `title=2026` stays a text. */
function coerce(text: string, property: JsonObject | undefined): unknown {
  const types = [property?.type].flat();
  if (property === undefined || types.includes("string") || types.includes(undefined)) return text;
  if (types.includes("array") && !/^\s*\[/.test(text)) return text === "" ? [] : listOf(text, property);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function listOf(text: string, property: JsonObject): unknown[] {
  return text.split(",").map((item) => coerce(item, property.items as JsonObject | undefined));
}

/** The arguments in usage form: `title text [tags...]`. */
export function signatureOf({ inputSchema }: ToolListEntry): string {
  const required = new Set((inputSchema?.required as string[] | undefined) ?? []);
  const keys = Object.keys((inputSchema?.properties as JsonObject | undefined) ?? {});
  return keys.map((key) => (required.has(key) ? key : `[${key}]`)).join(" ");
}
