// prompts/list and prompts/get: params, required arguments, and messages in each revision.
// https://modelcontextprotocol.io/specification/2026-07-28/server/prompts

import type { RequestHandlers } from "../request-handlers.ts";
import type { McpRequest } from "../mcp-request.ts";
import { SerializedResult, type CallOutcome } from "../call-outcome.ts";
import { failure, type Failure } from "../errors.ts";
import { isObject, type JsonObject } from "../jsonrpc.ts";
import { adaptBlock } from "./content.ts";
import { listDefinitions, type DefinitionList } from "./lists.ts";
import { invalid, isFailure, readString, readStrings } from "./params.ts";

const PROMPTS: DefinitionList = { member: "prompts", select: ({ prompts }) => prompts, adapt: (wire) => wire };

export function listPrompts(request: McpRequest, handlers: RequestHandlers): CallOutcome {
  return listDefinitions(PROMPTS, request, handlers);
}

export async function getPrompt(request: McpRequest, handlers: RequestHandlers): Promise<CallOutcome> {
  const name = readString(request.params, "name");
  if (isFailure(name)) return name;
  const read = readStrings(request, "arguments");
  if (isFailure(read)) return read;
  const args = read.value;
  const prompt = handlers.prompt(name);
  if (!prompt) return failure("invalidParams", `Unknown prompt: ${name}`);
  if (isFailure(prompt)) return prompt;
  const missing = missingArgument(prompt.definition.wire, args);
  if (missing) return missing;
  const outcome = await prompt.get(args, request);
  if (outcome.kind !== "complete" || outcome.result instanceof SerializedResult) return outcome;
  const { messages } = outcome.result;
  if (!Array.isArray(messages) || (request.revision.audio && request.revision.resourceLinks)) return outcome;
  const adapted = messages.map((message: unknown, index) =>
    isObject(message) ? { ...message, content: adaptBlock(message.content, request.revision, index) } : message,
  );
  return { ...outcome, result: { ...outcome.result, messages: adapted } };
}

function missingArgument(wire: JsonObject, args: Readonly<Record<string, string>>): Failure | undefined {
  if (!Array.isArray(wire.arguments)) return undefined;
  for (const argument of wire.arguments as readonly JsonObject[]) {
    const name = String(argument.name);
    if (argument.required === true && !Object.hasOwn(args, name)) return invalid(`arguments.${name}`, "is required");
  }
  return undefined;
}
