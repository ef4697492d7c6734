// Whether one upstream definition is well-formed enough to list. Many clients reject a whole list for one malformed
// definition, so each is checked alone. Descriptions are not judged here.

import { subschemasOf } from "../handlers/schema-shape.ts";
import { hasDuplicateMembers } from "../mcp-client/json-text.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { collectParamHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { parseUri } from "../protocol/uri.ts";
import { parseUriTemplate } from "../protocol/uri-template.ts";

const MAX_NAME_CHARACTERS = 256;
const MAX_DEFINITION_CHARACTERS = 256 * 1024;

/** The member that identifies a definition in requests. */
export const KEY_OF: Readonly<Record<ListedKind, "name" | "uri" | "uriTemplate">> = {
  tools: "name",
  prompts: "name",
  resources: "uri",
  resourceTemplates: "uriTemplate",
};

/**
 * The `_meta` key of a definition that is listed under another name than its upstream's. Its value is the upstream's
 * name. If the upstream is itself a gateway, the value is a list: that name, the name behind it, and so on.
 */
export const NAME_KEY = "tenantry/name";
/**
 * How many gateways in a row a definition may pass through. Two gateways that list each other would otherwise grow
 * without end.
 */
const MAX_GATEWAYS = 3;

/** Earlier names of a definition, the nearest first. */
export function previousNames({ _meta }: JsonObject): readonly unknown[] {
  const names = isObject(_meta) ? _meta[NAME_KEY] : undefined;
  if (Array.isArray(names)) return names;
  return names === undefined ? [] : [names];
}

/** Whether a stored definition can be served. The full check ran when it was read. */
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
/** Checks an object's members where they are present. */
export const objectWith =
  (members: Readonly<Record<string, Check>>, required?: string): Check =>
  (value) =>
    isObject(value) &&
    (required === undefined || Object.hasOwn(value, required)) &&
    Object.entries(members).every(([name, check]) => !Object.hasOwn(value, name) || check(value[name]));

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

/** A duplicate member could show a client other text than a reviewer or the flag check has read. */
export function findTextError(text: string, wire: unknown): string | undefined {
  if (text.length > MAX_DEFINITION_CHARACTERS) return `is longer than ${MAX_DEFINITION_CHARACTERS} characters`;
  return hasDuplicateMembers(text, JSON.stringify(wire)) ? "has a field twice" : undefined;
}

export function findDefinitionError(kind: ListedKind, wire: unknown): string | undefined {
  if (!isObject(wire)) return "is not an object";
  const { name } = wire;
  if (typeof name !== "string" || name === "") return "has no name";
  if (name.length > MAX_NAME_CHARACTERS) return `has a name of more than ${MAX_NAME_CHARACTERS} characters`;
  for (const [member, isRight] of Object.entries(OPTIONAL_MEMBERS)) {
    if (Object.hasOwn(wire, member) && !isRight(wire[member])) return `the value of ${member} is invalid`;
  }
  return KIND_CHECKS[kind](wire);
}

/** An error if the definition may have come in a loop of gateways, or undefined. */
export function findLoopError(wire: JsonObject): string | undefined {
  const isLong = previousNames(wire).length > MAX_GATEWAYS;
  return isLong ? `comes through more than ${MAX_GATEWAYS} gateways in a row` : undefined;
}

const KIND_CHECKS: Readonly<Record<ListedKind, (wire: JsonObject) => string | undefined>> = {
  tools: ({ inputSchema, outputSchema }) => {
    if (!isObject(inputSchema) || inputSchema.type !== "object") return "inputSchema must be a schema of type object";
    if (outputSchema !== undefined && !isObject(outputSchema)) return "outputSchema must be a schema";
    const mirrored = collectParamHeaders(inputSchema);
    if ("broken" in mirrored) return `inputSchema: ${mirrored.broken}`;
    return (
      findSchemaError("inputSchema", inputSchema) ?? (outputSchema && findSchemaError("outputSchema", outputSchema))
    );
  },
  prompts: ({ arguments: declared = [] }) =>
    isArgumentList(declared) ? undefined : "arguments must be a list of objects with a name",
  resources: ({ uri }) => {
    const parsed = typeof uri === "string" ? parseUri(uri) : { broken: "must be a string" };
    return "broken" in parsed ? `uri: ${parsed.broken}` : undefined;
  },
  resourceTemplates: ({ uriTemplate }) => {
    const parsed = typeof uriTemplate === "string" ? parseUriTemplate(uriTemplate) : { broken: "must be a string" };
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
 * Drops patterns: many use the syntax of other languages, and a client ignores one it cannot use. Parsing is expensive
 * too: character classes take about a second per megabyte and block the isolate.
 */
function withoutPatterns(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (keyword, value: unknown) => {
    // An object here is the schema of a property named "pattern".
    if (keyword === "pattern") return isObject(value) ? value : undefined;
    return keyword === "patternProperties" && isObject(value) ? Object.assign({}, Object.values(value)) : value;
  });
  return JSON.parse(text) as JsonObject;
}
