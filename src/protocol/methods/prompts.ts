// Owns prompts/list and prompts/get: params, required arguments, and messages as each dialect knows them.
// https://modelcontextprotocol.io/specification/2026-07-28/server/prompts

import type { Backend } from "../backend.ts";
import type { Call } from "../call.ts";
import { Encoded, type CallOutcome } from "../outcome.ts";
import { failure, type Failure } from "../errors.ts";
import { isObject, type JsonObject } from "../jsonrpc.ts";
import { adaptBlock } from "./content.ts";
import { listDefinitions, type DefinitionList } from "./lists.ts";
import { invalid, isFailure, readString, readStrings } from "./params.ts";

const PROMPTS: DefinitionList = { member: "prompts", of: ({ prompts }) => prompts, adapt: (wire) => wire };

export function listPrompts(call: Call, backend: Backend): CallOutcome {
  return listDefinitions(PROMPTS, call, backend);
}

export async function getPrompt(call: Call, backend: Backend): Promise<CallOutcome> {
  const name = readString(call.params, "name");
  if (isFailure(name)) return name;
  const read = readStrings(call, "arguments");
  if (isFailure(read)) return read;
  const args = read.value;
  const prompt = backend.prompt(name);
  if (!prompt) return failure("invalidParams", `Unknown prompt: ${name}`);
  if (isFailure(prompt)) return prompt;
  const missing = missingArgument(prompt.definition.wire, args);
  if (missing) return missing;
  const outcome = await prompt.get(args, call);
  if (outcome.kind !== "complete" || outcome.result instanceof Encoded) return outcome;
  const { messages } = outcome.result;
  if (!Array.isArray(messages) || (call.dialect.audio && call.dialect.resourceLinks)) return outcome;
  const adapted = messages.map((message: unknown, index) =>
    isObject(message) ? { ...message, content: adaptBlock(message.content, call.dialect, index) } : message,
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
