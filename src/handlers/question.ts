// A question to a client, and the check of its answer: it must have the right shape, and a form's content must fit the
// form. The elicitors ask, and repeat a question whose answer is invalid.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { ClientCapability } from "../protocol/meta.ts";
import { compileJsonSchema } from "./json-schema.ts";
import { typeRule } from "../protocol/members.ts";

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

/** The member of the answer that is wrong, and its rule; undefined if the answer fits. */
export function answerError(question: Question, answer: unknown): string | undefined {
  if (!isObject(answer)) return typeRule("an object", answer);
  switch (question.method) {
    case "elicitation/create":
      return elicitResultError(question.params ?? {}, answer);
    case "sampling/createMessage":
      if (typeof answer.model !== "string") return `model ${typeRule("a string", answer.model)}`;
      return isObject(answer.content) || Array.isArray(answer.content)
        ? undefined
        : `content ${typeRule("an object or a list", answer.content)}`;
    case "roots/list":
      if (!Array.isArray(answer.roots)) return `roots ${typeRule("a list", answer.roots)}`;
      return answer.roots.every((root) => isObject(root) && typeof root.uri === "string")
        ? undefined
        : "roots must be objects with a uri";
  }
}

function elicitResultError(params: JsonObject, { action, content }: JsonObject): string | undefined {
  if (action === "decline" || action === "cancel") return undefined;
  if (action !== "accept") return "action must be accept, decline or cancel";
  if (params.mode === "url" || !isObject(params.requestedSchema)) return undefined;
  if (!isObject(content)) return `content ${typeRule("an object", content)}`;
  return compileJsonSchema(params.requestedSchema)(content)[0]?.message;
}
