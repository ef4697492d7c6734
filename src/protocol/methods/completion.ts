// completion/complete: params, and the protocol's limit of 100 values.
// https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion

import type { RequestHandlers, CompletionRef } from "../request-handlers.ts";
import type { CompletionQuery } from "../source.ts";
import type { McpRequest } from "../mcp-request.ts";
import type { CallOutcome } from "../call-outcome.ts";
import type { Failure } from "../errors.ts";
import { isObject } from "../jsonrpc.ts";
import { invalid, isFailure, readObject, readString, readStrings, type ReadValue } from "./params.ts";

const MAX_VALUES = 100;

export async function completeValue(request: McpRequest, handlers: RequestHandlers): Promise<CallOutcome> {
  const completion = parseCompletion(request);
  if (isFailure(completion)) return completion;
  const values = await handlers.complete(completion.ref, completion.query, request);
  if ("kind" in values) return values;
  return {
    kind: "complete",
    result: {
      completion: {
        values: values.slice(0, MAX_VALUES),
        total: values.length,
        hasMore: values.length > MAX_VALUES,
      },
    },
  };
}

interface Completion {
  readonly ref: CompletionRef;
  readonly query: CompletionQuery;
}

export function parseCompletion(request: McpRequest): Completion | Failure {
  const { params } = request;
  const ref = parseRef(params.ref);
  if (isFailure(ref)) return ref;
  if (!isObject(params.argument)) return invalid("argument", "must be an object");
  const name = readString(params.argument, "name");
  if (isFailure(name)) return invalid("argument.name", "must be a string");
  const value = params.argument.value === null ? "" : readString(params.argument, "value");
  if (isFailure(value)) return invalid("argument.value", "must be a string");
  const context = readContext(request);
  if (isFailure(context)) return context;
  return { ref, query: { name, value, known: context.value } };
}

function readContext(request: McpRequest): ReadValue<Record<string, string>> | Failure {
  const context = readObject(request, "context");
  if (isFailure(context)) return context;
  const read = readStrings({ params: context.value, revision: request.revision }, "arguments");
  return isFailure(read) ? invalid("context.arguments", "must be an object of strings") : read;
}

function parseRef(ref: unknown): CompletionRef | Failure {
  if (!isObject(ref)) return invalid("ref", "must be an object");
  if (ref.type === "ref/prompt" && typeof ref.name === "string") return { type: "prompt", name: ref.name };
  if (ref.type === "ref/resource" && typeof ref.uri === "string") return { type: "resource", uri: ref.uri };
  return invalid("ref", "must be a ref/prompt with a name or a ref/resource with a uri");
}
