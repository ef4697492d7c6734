// Owns whether one definition of an upstream can be listed. Many clients refuse a whole list for one that is not as it
// must be, so each is judged alone. Pure. Refuses to judge what a description says.

import { subschemasOf } from "../calls/schema-shape.ts";
import { repeatsMembers } from "../mcp-client/json-text.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { collectParamHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { parseUri } from "../protocol/uri.ts";
import { parseUriTemplate } from "../protocol/uri-template.ts";

const MAX_NAME_CHARACTERS = 256;
const MAX_DEFINITION_CHARACTERS = 256 * 1024;

/** The member by which a definition is asked for. */
export const KEY_OF: Readonly<Record<ListedKind, "name" | "uri" | "uriTemplate">> = {
  tools: "name",
  prompts: "name",
  resources: "uri",
  resourceTemplates: "uriTemplate",
};

/**
 * The key in `_meta` of a definition that is listed under another name than its upstream gives it. Its value is that name; where
 * the upstream is a gateway itself, a list: that name, then the name behind it, and so on.
 */
export const NAME_KEY = "tenantry/name";
/** Through how many gateways in a row a definition may have come. Two that have each other would list without an end. */
const MOST_GATEWAYS = 3;

/** The names that a definition had on its way here, the nearest first. */
export function namesBehind({ _meta }: JsonObject): readonly unknown[] {
  const names = isObject(_meta) ? _meta[NAME_KEY] : undefined;
  if (Array.isArray(names)) return names;
  return names === undefined ? [] : [names];
}

/** Whether it has what serving it takes, of what was checked in full when it was read. */
export function isDefinition(kind: ListedKind, wire: unknown): wire is JsonObject {
  return (
    isObject(wire) &&
    isText(wire.name) &&
    isText(wire[KEY_OF[kind]]) &&
    (kind !== "tools" || isObject(wire.inputSchema))
  );
}

type Check = (value: unknown) => boolean;

export const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string);
export const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** An object in which these members, where they are there, are what they must be. */
export const shaped =
  (members: Readonly<Record<string, Check>>, needed?: string): Check =>
  (value) =>
    isObject(value) &&
    (needed === undefined || Object.hasOwn(value, needed)) &&
    Object.entries(members).every(([name, check]) => !Object.hasOwn(value, name) || check(value[name]));

/** What optional members are, wherever they stand. */
const TYPES: Readonly<Record<string, Check>> = {
  title: isText,
  description: isText,
  mimeType: isText,
  size: Number.isSafeInteger,
  annotations: shaped({
    title: isText,
    readOnlyHint: isFlag,
    destructiveHint: isFlag,
    idempotentHint: isFlag,
    openWorldHint: isFlag,
    audience: listOf(oneOf("user", "assistant")),
    priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
    lastModified: isText,
  }),
  _meta: isObject,
  execution: shaped({ taskSupport: oneOf("forbidden", "optional", "required") }),
  icons: listOf(shaped({ src: isText, mimeType: isText, sizes: listOf(isText), theme: oneOf("light", "dark") }, "src")),
};

const isArgumentList = listOf(shaped({ name: isText, title: isText, description: isText, required: isFlag }, "name"));

/** Whoever approves or flags one must have read what a client reads in it. */
export function faultOfText(text: string, wire: unknown): string | undefined {
  if (text.length > MAX_DEFINITION_CHARACTERS) return "is larger than a definition may be";
  return repeatsMembers(text, JSON.stringify(wire)) ? "says a member twice" : undefined;
}

/** What is wrong with a definition; undefined: nothing. */
export function faultOfDefinition(kind: ListedKind, wire: unknown): string | undefined {
  if (!isObject(wire)) return "is no object";
  const { name } = wire;
  if (typeof name !== "string" || name === "") return "has no name";
  if (name.length > MAX_NAME_CHARACTERS) return `has a name of more than ${MAX_NAME_CHARACTERS} characters`;
  for (const [member, isRight] of Object.entries(TYPES)) {
    if (Object.hasOwn(wire, member) && !isRight(wire[member])) return `${member} is not what it must be`;
  }
  return FAULTS[kind](wire);
}

/** Why the definition may have come in a circle; undefined: it has not. */
export function faultOfWay(wire: JsonObject): string | undefined {
  const isLong = namesBehind(wire).length > MOST_GATEWAYS;
  return isLong ? `comes through more than ${MOST_GATEWAYS} gateways in a row` : undefined;
}

const FAULTS: Readonly<Record<ListedKind, (wire: JsonObject) => string | undefined>> = {
  tools: ({ inputSchema, outputSchema }) => {
    if (!isObject(inputSchema) || inputSchema.type !== "object") return "inputSchema is no schema of type object";
    if (outputSchema !== undefined && !isObject(outputSchema)) return "outputSchema is no schema";
    const mirrored = collectParamHeaders(inputSchema);
    if ("broken" in mirrored) return `inputSchema: ${mirrored.broken}`;
    return faultOfSchema("inputSchema", inputSchema) ?? (outputSchema && faultOfSchema("outputSchema", outputSchema));
  },
  prompts: ({ arguments: declared = [] }) =>
    isArgumentList(declared) ? undefined : "arguments is no list of named arguments",
  resources: ({ uri }) => {
    const parsed = typeof uri === "string" ? parseUri(uri) : { broken: "it is no text" };
    return "broken" in parsed ? `uri: ${parsed.broken}` : undefined;
  },
  resourceTemplates: ({ uriTemplate }) => {
    const parsed = typeof uriTemplate === "string" ? parseUriTemplate(uriTemplate) : { broken: "it is no text" };
    return "broken" in parsed ? `uriTemplate: ${parsed.broken}` : undefined;
  },
};

function faultOfSchema(member: string, schema: JsonObject): string | undefined {
  try {
    subschemasOf(withoutPatterns(schema));
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return `${member}.${error.message}`;
  }
}

/**
 * Patterns of other languages abound, and a client that cannot use one leaves it out. Nor are they read here: of classes of
 * letters that takes a second for each megabyte, in which everybody in the isolate waits.
 */
function withoutPatterns(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (keyword, value: unknown) => {
    // An object is the schema of a member of this name.
    if (keyword === "pattern") return isObject(value) ? value : undefined;
    return keyword === "patternProperties" && isObject(value) ? Object.assign({}, Object.values(value)) : value;
  });
  return JSON.parse(text) as JsonObject;
}
