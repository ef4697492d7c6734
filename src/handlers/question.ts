// A question to a client, and the check of its answer: it must have the right shape, and a form's content must fit the
// form. The elicitors ask, and repeat a question whose answer is invalid.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { ClientCapability } from "../protocol/meta.ts";
import { compileJsonSchema } from "./json-schema.ts";

export interface Question {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params?: JsonObject;
}

/** The capability that a client must declare to get this question. */
export function capabilityOf(question: Question): ClientCapability {
  switch (question.method) {
    case "elicitation/create":
      return `elicitation.${question.params?.mode === "url" ? "url" : "form"}`;
    case "sampling/createMessage":
      return question.params?.tools === undefined ? "sampling" : "sampling.tools";
    case "roots/list":
      return "roots";
  }
}

export function isValidAnswer(question: Question, answer: unknown): answer is JsonObject {
  if (!isObject(answer)) return false;
  switch (question.method) {
    case "elicitation/create":
      return isValidElicitResult(question.params ?? {}, answer);
    case "sampling/createMessage":
      return typeof answer.model === "string" && (isObject(answer.content) || Array.isArray(answer.content));
    case "roots/list":
      return (
        Array.isArray(answer.roots) && answer.roots.every((root) => isObject(root) && typeof root.uri === "string")
      );
  }
}

function isValidElicitResult(params: JsonObject, answer: JsonObject): boolean {
  if (answer.action === "decline" || answer.action === "cancel") return true;
  if (answer.action !== "accept") return false;
  if (params.mode === "url" || !isObject(params.requestedSchema)) return true;
  return isObject(answer.content) && compileJsonSchema(params.requestedSchema)(answer.content).length === 0;
}
