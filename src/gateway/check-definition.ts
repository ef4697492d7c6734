// Owns whether one definition of an upstream can be listed. Many clients refuse a whole list for one that is not as it
// must be, so each is judged alone. Pure. Refuses to judge what a description says.

import { subschemasOf } from "../calls/schema-shape.ts";
import { collectParamHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { parseUri } from "../protocol/uri.ts";
import { parseUriTemplate } from "../protocol/uri-template.ts";

/** As the member of a list's result is called. */
export type ListedKind = "tools" | "prompts" | "resources" | "resourceTemplates";

const MAX_NAME_CHARACTERS = 256;
export const MAX_DEFINITION_CHARACTERS = 256 * 1024;

/** The member by which a definition is asked for. */
export const KEY_OF: Readonly<Record<ListedKind, "name" | "uri" | "uriTemplate">> = {
  tools: "name",
  prompts: "name",
  resources: "uri",
  resourceTemplates: "uriTemplate",
};

/** What optional members are, wherever they stand. */
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  title: isText,
  description: isText,
  mimeType: isText,
  size: (value) => typeof value === "number",
  annotations: isObject,
  _meta: isObject,
  execution: isObject,
  icons: (value) => Array.isArray(value) && value.every((icon) => isObject(icon) && isText(icon.src)),
};

function isText(value: unknown): boolean {
  return typeof value === "string";
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

const FAULTS: Readonly<Record<ListedKind, (wire: JsonObject) => string | undefined>> = {
  tools: ({ inputSchema, outputSchema }) => {
    if (!isObject(inputSchema) || inputSchema.type !== "object") return "inputSchema is no schema of type object";
    if (outputSchema !== undefined && !isObject(outputSchema)) return "outputSchema is no schema";
    const mirrored = collectParamHeaders(inputSchema);
    if ("broken" in mirrored) return `inputSchema: ${mirrored.broken}`;
    return faultOfSchema("inputSchema", inputSchema) ?? (outputSchema && faultOfSchema("outputSchema", outputSchema));
  },
  prompts: ({ arguments: declared = [] }) => {
    const isRight =
      Array.isArray(declared) &&
      declared.every(
        (argument) =>
          isObject(argument) &&
          isText(argument.name) &&
          ["undefined", "boolean"].includes(typeof argument.required) &&
          ["undefined", "string"].includes(typeof argument.description),
      );
    return isRight ? undefined : "arguments is no list of named arguments";
  },
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
    subschemasOf(schema);
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Patterns of other languages abound. A client that cannot use one leaves it out.
    return /(?:^|\.)pattern(?:Properties)?: /.test(error.message) ? undefined : `${member}.${error.message}`;
  }
}
