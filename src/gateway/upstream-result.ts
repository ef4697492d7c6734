// Checks the result of an era 2026 upstream: it must be complete, or ask questions that this client can answer.

import { capabilityOf } from "../handlers/question.ts";
import { getMembers, withMember } from "../mcp-client/json-text.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { requiredCapabilities, type ClientCapability } from "../protocol/meta.ts";
import { supportsQuestion, normalizeQuestion } from "./forward-question.ts";

const RESULT_MEMBERS: ReadonlySet<string> = new Set(["resultType", "inputRequests", "requestState"]);

interface ResultContext {
  readonly call: Pick<McpRequest, "revision" | "capabilities">;
  readonly server: string;
}

/** `state` is the upstream's `requestState`, which the client must not see in the clear. */
export interface UpstreamResult {
  readonly json: string;
  readonly state?: string;
}

/**
 * Returns the result for the client. Returns a failure for an undeclared result type, or for questions that this client
 * cannot be asked. https://modelcontextprotocol.io/specification/2026-07-28/basic#resulttype
 */
export function parseUpstreamResult(json: string, context: ResultContext): UpstreamResult | Failure {
  const { call, server } = context;
  const members = getMembers(RESULT_MEMBERS, json);
  if (!members)
    return failure("faultyServer", `${server}: the result has resultType, inputRequests or requestState twice`, {
      server,
      fault: "result",
    });
  const text = members.get("resultType");
  // Servers of earlier revisions omit `resultType`.
  if (text === undefined) return { json: withMember(json, "resultType", '"complete"') };
  const type: unknown = JSON.parse(text);
  if (type === "complete") return { json };
  if (type !== "input_required") {
    const message = `${server}: the result has the type ${text.slice(0, 64)}, which the client did not request`;
    return failure("faultyServer", message, { server, fault: "resultType" });
  }
  if (call.revision.era === "2025") {
    const message = `${server} asks a question that only a client of 2026-07-28 can answer`;
    return failure("faultyServer", message, { server });
  }
  return parseInputRequired(json, context);
}

function parseInputRequired(json: string, { call, server }: ResultContext): UpstreamResult | Failure {
  const result = JSON.parse(json) as JsonObject;
  const { inputRequests: requests = {}, requestState: state } = result;
  if (!isObject(requests))
    return failure("faultyServer", `${server}: inputRequests is not an object`, { server, fault: "result" });
  if (state !== undefined && typeof state !== "string")
    return failure("faultyServer", `${server}: requestState is not a string`, { server, fault: "result" });
  const questions = new Map<string, unknown>();
  const missing = new Set<ClientCapability>();
  let isStandard = true;
  for (const [name, one] of Object.entries(requests)) {
    const { method, params } = isObject(one) ? one : {};
    const question = normalizeQuestion(method, isObject(params) ? params : {})?.question;
    if (!question) {
      const message = `${server} asks a question with the unknown method ${typeof method === "string" ? method.slice(0, 64) : typeof method}`;
      return failure("faultyServer", message, { server });
    }
    const capability = capabilityOf(question);
    if (!supportsQuestion(call, capability)) missing.add(capability);
    isStandard &&= question.method === method;
    questions.set(name, question.method === method ? one : question);
  }
  if (missing.size > 0) {
    const data = { server, requiredCapabilities: requiredCapabilities(...missing) };
    return failure(
      "missingCapability",
      `${server}: this client does not support ${[...missing].join(", ")}: use a client that does`,
      data,
    );
  }
  const questionsJson = isStandard ? json : JSON.stringify({ ...result, inputRequests: Object.fromEntries(questions) });
  return { json: questionsJson, ...(state !== undefined && { state }) };
}
