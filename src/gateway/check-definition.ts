// Owns whether one definition of an upstream can be listed. Many clients refuse a whole list for one that is not as it
// must be, so each is judged alone. Pure. Refuses to judge what a description says.

import { subschemasOf } from "../handlers/schema-shape.ts";
import { hasDuplicateMembers } from "../mcp-client/json-text.ts";
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
const MAX_GATEWAYS = 3;

/** The names that a definition had on its way here, the nearest first. */
export function previousNames({ _meta }: JsonObject): readonly unknown[] {
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
const isBoolean: Check = (value) => typeof value === "boolean";
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string);
export const arrayOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** An object in which these members, where they are there, are what they must be. */
export const objectWith =
  (members: Readonly<Record<string, Check>>, required?: string): Check =>
  (value) =>
    isObject(value) &&
    (required === undefined || Object.hasOwn(value, required)) &&
    Object.entries(members).every(([name, check]) => !Object.hasOwn(value, name) || check(value[name]));

/** What optional members are, wherever they stand. */
const OPTIONAL_MEMBERS: Readonly<Record<string, Check>> = {
  title: isText,
  description: isText,
  mimeType: isText,
  size: Number.isSafeInteger,
  annotations: objectWith({
    title: isText,
    readOnlyHint: isBoolean,
    destructiveHint: isBoolean,
    idempotentHint: isBoolean,
    openWorldHint: isBoolean,
    audience: arrayOf(oneOf("user", "assistant")),
    priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
    lastModified: isText,
  }),
  _meta: isObject,
  execution: objectWith({ taskSupport: oneOf("forbidden", "optional", "required") }),
  icons: arrayOf(
    objectWith({ src: isText, mimeType: isText, sizes: arrayOf(isText), theme: oneOf("light", "dark") }, "src"),
  ),
};

const isArgumentList = arrayOf(
  objectWith({ name: isText, title: isText, description: isText, required: isBoolean }, "name"),
);

/** Whoever approves or flags one must have read what a client reads in it. */
export function findTextError(text: string, wire: unknown): string | undefined {
  if (text.length > MAX_DEFINITION_CHARACTERS) return "is larger than a definition may be";
  return hasDuplicateMembers(text, JSON.stringify(wire)) ? "says a member twice" : undefined;
}

/** What is wrong with a definition; undefined: nothing. */
export function findDefinitionError(kind: ListedKind, wire: unknown): string | undefined {
  if (!isObject(wire)) return "is no object";
  const { name } = wire;
  if (typeof name !== "string" || name === "") return "has no name";
  if (name.length > MAX_NAME_CHARACTERS) return `has a name of more than ${MAX_NAME_CHARACTERS} characters`;
  for (const [member, isRight] of Object.entries(OPTIONAL_MEMBERS)) {
    if (Object.hasOwn(wire, member) && !isRight(wire[member])) return `${member} is not what it must be`;
  }
  return KIND_CHECKS[kind](wire);
}

/** Why the definition may have come in a circle; undefined: it has not. */
export function findLoopError(wire: JsonObject): string | undefined {
  const isLong = previousNames(wire).length > MAX_GATEWAYS;
  return isLong ? `comes through more than ${MAX_GATEWAYS} gateways in a row` : undefined;
}

const KIND_CHECKS: Readonly<Record<ListedKind, (wire: JsonObject) => string | undefined>> = {
  tools: ({ inputSchema, outputSchema }) => {
    if (!isObject(inputSchema) || inputSchema.type !== "object") return "inputSchema is no schema of type object";
    if (outputSchema !== undefined && !isObject(outputSchema)) return "outputSchema is no schema";
    const mirrored = collectParamHeaders(inputSchema);
    if ("broken" in mirrored) return `inputSchema: ${mirrored.broken}`;
    return (
      findSchemaError("inputSchema", inputSchema) ?? (outputSchema && findSchemaError("outputSchema", outputSchema))
    );
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

function findSchemaError(member: string, schema: JsonObject): string | undefined {
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
