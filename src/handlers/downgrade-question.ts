// Owns how a question reads in a revision that lacks words for it, and how the answer to that is read back. Refuses to leave
// out of a question what was asked: then it cannot be put.

import type { RevisionFeatures } from "../protocol/revisions.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Question } from "./question.ts";
import { MissingCapabilityError } from "./elicitor.ts";

interface Property extends JsonObject {
  readonly oneOf?: readonly JsonObject[];
  readonly items?: { readonly enum?: readonly unknown[]; readonly anyOf?: readonly JsonObject[] };
}

type Form = { readonly properties?: Readonly<Record<string, Property>> } | undefined;

/** The params as the dialect has them. Throws a MissingCapability where it has no words for them at all. */
export function downgradeQuestion(
  { params }: Question,
  { audio, enumTitles: choices, version: revision }: RevisionFeatures,
): JsonObject | undefined {
  if (choices || !params) return params;
  const { requestedSchema: form, messages } = params;
  if (isObject(form))
    return {
      ...params,
      requestedSchema: { ...form, properties: mapMembers((form as Form)?.properties, flattenProperty) },
    };
  if (!Array.isArray(messages)) return params;
  // One message for each of its blocks: the model reads the same.
  const single = (messages as readonly JsonObject[]).flatMap((message) =>
    [message.content].flat().map((content) => ({ ...message, content })),
  );
  if (!audio && single.some(({ content }) => (content as JsonObject | undefined)?.type === "audio"))
    throw new MissingCapabilityError("sampling", `the client's revision ${revision} knows no audio`);
  return { ...params, messages: single };
}

/** Titles as `enumNames`; several of some as a text with commas, as people write them. */
function flattenProperty({ oneOf, items, ...property }: Property): JsonObject {
  if (oneOf) return { ...property, enum: oneOf.map((one) => one.const), enumNames: oneOf.map(({ title }) => title) };
  if (property.type !== "array") return property;
  const { title, description = "" } = property;
  const names = items?.enum ?? items?.anyOf?.map((one) => one.const) ?? [];
  return { type: "string", title, description: `${String(description)} (with commas: ${names.join(", ")})`.trim() };
}

/** The result with lists where the question as its author wrote it has them. */
export function upgradeAnswer({ params }: Question, result: JsonObject): JsonObject {
  const properties = (params?.requestedSchema as Form)?.properties;
  const toList = (value: unknown, name: string) =>
    typeof value === "string" && properties?.[name]?.type === "array"
      ? value.split(",").flatMap((one) => one.trim() || [])
      : value;
  return properties ? { ...result, content: mapMembers(result.content, toList) } : result;
}

function mapMembers(members: unknown, map: (value: never, name: string) => unknown): unknown {
  if (!isObject(members)) return members;
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, map(value as never, name)]));
}
