// Owns a tool's arguments as typed in a shell: `key=value` by the tool's own schema, `key:=JSON`.
// What is wrong with a value, the server says.

import { usageError } from "../exit.ts";
import type { Json } from "../mcp-http.ts";

export interface ToolAbout {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Json;
}

export function parseArguments(pairs: readonly string[], json: string | undefined, schema: Json | undefined): Json {
  const args: Json = json === undefined ? {} : parseJsonArgs(json);
  for (const pair of pairs) {
    const match = /^([^=:]+)(:?=)([\s\S]*)$/.exec(pair);
    if (!match) throw usageError(`${pair}: an argument is key=value, or key:=JSON`);
    const [, key = "", operator, text = ""] = match;
    args[key] = operator === ":=" ? parseJson(text, key) : coerce(text, propertyOf(schema, key));
  }
  return args;
}

function parseJsonArgs(text: string): Json {
  const value = parseJson(text, "--json-args");
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw usageError("--json-args: must be a JSON object");
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usageError(`${what}: is not JSON: ${text.slice(0, 100)}`);
  }
}

function propertyOf(schema: Json | undefined, key: string): Json | undefined {
  return (schema?.properties as Record<string, Json> | undefined)?.[key];
}

/** Only where the schema asks for no text: `note_write title=2026` is a title. */
function coerce(text: string, property: Json | undefined): unknown {
  const types = [property?.type].flat();
  if (property === undefined || types.includes("string") || types.includes(undefined)) return text;
  if (types.includes("array") && !/^\s*\[/.test(text)) return text === "" ? [] : listOf(text, property);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function listOf(text: string, property: Json): unknown[] {
  return text.split(",").map((item) => coerce(item, property.items as Json | undefined));
}

/** `title text [tags...]`, as a shell would show it. */
export function signatureOf({ inputSchema }: ToolAbout): string {
  const required = new Set((inputSchema?.required as string[] | undefined) ?? []);
  const keys = Object.keys((inputSchema?.properties as Json | undefined) ?? {});
  return keys.map((key) => (required.has(key) ? key : `[${key}]`)).join(" ");
}
