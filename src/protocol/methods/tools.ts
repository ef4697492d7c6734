// tools/list and tools/call: params, header mirrors, and results in each revision.
// https://modelcontextprotocol.io/specification/2026-07-28/server/tools

import type { RequestHandlers } from "../request-handlers.ts";
import type { McpRequest } from "../mcp-request.ts";
import { SerializedResult, type CallOutcome, type InvalidArguments, type ToolOutcome } from "../call-outcome.ts";
import type { RevisionFeatures } from "../revisions.ts";
import { failure } from "../errors.ts";
import { checkParamHeaders } from "../headers.ts";
import { isObject, type JsonObject } from "../jsonrpc.ts";
import { adaptBlocks } from "./content.ts";
import { listDefinitions, type DefinitionList } from "./lists.ts";
import { isFailure, readObject, readString } from "./params.ts";

const TOOLS: DefinitionList = {
  member: "tools",
  select: ({ tools }) => tools,
  adapt: adaptSchemas,
};

function adaptSchemas(wire: JsonObject, { structured }: RevisionFeatures): JsonObject {
  // All schemas are allowed.
  if (structured === "any") return wire;
  const { outputSchema, ...rest } = wire;
  const adapted = { ...rest, inputSchema: withObjectProperties(wire.inputSchema) };
  const keepsOutputSchema = structured === "object" && isObject(outputSchema) && outputSchema.type === "object";
  return keepsOutputSchema ? { ...adapted, outputSchema: withObjectProperties(outputSchema) } : adapted;
}

/** Before 2026-07-28 a property's schema must be an object, so `true` and `false` are written as objects. */
function withObjectProperties(schema: unknown): unknown {
  if (!isObject(schema) || !isObject(schema.properties)) return schema;
  const entries = Object.entries(schema.properties);
  if (entries.every(([, property]) => typeof property !== "boolean")) return schema;
  const objects = entries.map(([name, property]) => [
    name,
    property === true ? {} : property === false ? { not: {} } : property,
  ]);
  return { ...schema, properties: Object.fromEntries(objects) as JsonObject };
}

export function listTools(request: McpRequest, handlers: RequestHandlers): CallOutcome {
  return listDefinitions(TOOLS, request, handlers);
}

export async function callTool(request: McpRequest, handlers: RequestHandlers): Promise<CallOutcome> {
  const name = readString(request.params, "name");
  if (isFailure(name)) return name;
  const read = readObject(request, "arguments");
  if (isFailure(read)) return read;
  const args = read.value;
  const tool = handlers.tool(name);
  if (!tool) return failure("invalidParams", `Unknown tool: ${name}`);
  if (isFailure(tool)) return tool;
  if (request.revision.era === "2026" && tool.definition.paramHeaders.length > 0) {
    const fault = checkParamHeaders(tool.definition.paramHeaders, args, (header) => request.header(header));
    if (fault) return fault;
  }
  return adaptOutcome(await tool.call(args, request), request.revision);
}

function adaptOutcome(outcome: ToolOutcome, revision: RevisionFeatures): CallOutcome {
  switch (outcome.kind) {
    case "invalidArguments":
      return invalidArguments(outcome, revision);
    case "failure":
      // Era 2025 has no error for a missing capability: the model reads about it in a result.
      if (outcome.error !== "missingCapability" || revision.era === "2026") return outcome;
      return toolError(outcome.message ?? "The client lacks a capability that this tool needs");
    case "inputRequired":
      return outcome;
    case "complete":
      return adaptResult(outcome, revision);
  }
}

function adaptResult(outcome: CallOutcome & { kind: "complete" }, revision: RevisionFeatures): CallOutcome {
  const { result } = outcome;
  if (result instanceof SerializedResult) return outcome;
  const { structuredContent, ...rest } = result;
  const content = adaptBlocks(rest.content, revision);
  const keepsStructured = allowsStructured(structuredContent, revision);
  if (content === rest.content && keepsStructured) return outcome;
  return { kind: "complete", result: { ...rest, content, ...(keepsStructured ? { structuredContent } : {}) } };
}

function allowsStructured(value: unknown, { structured }: RevisionFeatures): boolean {
  return value === undefined || structured === "any" || (structured === "object" && isObject(value));
}

/** SEP-1303: from 2025-11-25 on, the model sees what was wrong with its arguments and can correct them. */
export function invalidArguments(
  { violations }: Pick<InvalidArguments, "violations">,
  revision: RevisionFeatures,
): CallOutcome {
  const text = violations.map((violation) => violation.message).join("; ");
  if (revision.invalidArguments === "result") return toolError(`Invalid arguments: ${text}`);
  const [first] = violations;
  return failure("invalidParams", `Invalid params: ${text}`, {
    ...(first ? { path: first.path, expected: first.expected, received: first.received } : {}),
    violations,
  });
}

export function toolError(text: string): CallOutcome {
  return { kind: "complete", result: { content: [{ type: "text", text }], isError: true } };
}
