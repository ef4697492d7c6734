// Owns what counts as an answer to a question: the right shape, and for a form, content that fits the form.
// A client that sends anything else is asked again.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { compileJsonSchema } from "./json-schema.ts";
import type { Question } from "./questions.ts";

export function isUsableAnswer(question: Question, answer: unknown): answer is JsonObject {
  if (!isObject(answer)) return false;
  switch (question.method) {
    case "elicitation/create":
      return isElicitation(question.params ?? {}, answer);
    case "sampling/createMessage":
      return typeof answer.model === "string" && (isObject(answer.content) || Array.isArray(answer.content));
    case "roots/list":
      return (
        Array.isArray(answer.roots) && answer.roots.every((root) => isObject(root) && typeof root.uri === "string")
      );
  }
}

function isElicitation(params: JsonObject, answer: JsonObject): boolean {
  if (answer.action === "decline" || answer.action === "cancel") return true;
  if (answer.action !== "accept") return false;
  if (params.mode === "url" || !isObject(params.requestedSchema)) return true;
  return isObject(answer.content) && compileJsonSchema(params.requestedSchema)(answer.content).length === 0;
}
