// Rewrites a question for a protocol revision that lacks some of its features, and converts the answer back. No part of
// a question is dropped: a question that cannot be rewritten fails.

import type { RevisionFeatures } from "../protocol/revisions.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Question } from "./question.ts";
import { MissingCapabilityError } from "./elicitor.ts";

interface Property extends JsonObject {
  readonly oneOf?: readonly JsonObject[];
  readonly items?: { readonly enum?: readonly unknown[]; readonly anyOf?: readonly JsonObject[] };
}

type Form = { readonly properties?: Readonly<Record<string, Property>> } | undefined;

/**
 * The params in the form of the client's revision. Throws a MissingCapabilityError if the revision cannot express them.
 */
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
  // One message per block. The model reads the same content.
  const single = (messages as readonly JsonObject[]).flatMap((message) =>
    [message.content].flat().map((content) => ({ ...message, content })),
  );
  if (!audio && single.some(({ content }) => (content as JsonObject | undefined)?.type === "audio"))
    throw new MissingCapabilityError("sampling", `the client's revision ${revision} does not support audio`);
  return { ...params, messages: single };
}

/** Writes titles as `enumNames`. A multiple choice becomes a text with commas between the values. */
function flattenProperty({ oneOf, items, ...property }: Property): JsonObject {
  if (oneOf) return { ...property, enum: oneOf.map((one) => one.const), enumNames: oneOf.map(({ title }) => title) };
  if (property.type !== "array") return property;
  const { title, description = "" } = property;
  const names = items?.enum ?? items?.anyOf?.map((one) => one.const) ?? [];
  return { type: "string", title, description: `${String(description)} (with commas: ${names.join(", ")})`.trim() };
}

/** The result with lists where the author's question has lists. */
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
