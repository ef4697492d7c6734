// logging/setLevel of era 2025. Era 2026 replaces it with a member of each request's _meta, without a method.
// https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging

import type { McpRequest } from "../mcp-request.ts";
import type { CallOutcome } from "../call-outcome.ts";
import { failure } from "../errors.ts";
import { isLogLevel } from "../meta.ts";
import { invalid } from "./params.ts";

export async function setLogLevel(request: McpRequest): Promise<CallOutcome> {
  const { level } = request.params;
  if (!isLogLevel(level)) return invalid("level", "is not a log level");
  if (!request.session) return failure("sessionRequired", "logging/setLevel needs a session: send initialize first");
  await request.session.setLogLevel(level);
  return { kind: "complete", result: {} };
}
