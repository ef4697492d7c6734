// How a conversation starts in each era: initialize, server/discover, ping, and the capabilities declared there.

import { omitUndefined } from "../members.ts";
import type { RequestHandlers, Definitions } from "../request-handlers.ts";
import type { McpRequest } from "../mcp-request.ts";
import type { CallOutcome } from "../call-outcome.ts";
import { negotiate, VERSION_2026, type Negotiation } from "../revisions.ts";
import type { Failure } from "../errors.ts";
import { isObject, type JsonObject } from "../jsonrpc.ts";
import { invalid } from "./params.ts";

/** The capabilities of every view, whatever it lists: exactly what this server implements. */
const SERVER_CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};

function serverCapabilities({ extensions }: Definitions): JsonObject {
  return extensions ? { ...SERVER_CAPABILITIES, extensions } : SERVER_CAPABILITIES;
}

export interface Initialized {
  readonly kind: "initialized";
  readonly negotiation: Negotiation;
  readonly capabilities: JsonObject;
  readonly result: JsonObject;
}

export function initialize(params: JsonObject, { definitions }: RequestHandlers): Initialized | Failure {
  const requested = params.protocolVersion;
  if (typeof requested !== "string") return invalid("protocolVersion", "must be a string");
  const negotiation = negotiate(requested);
  return {
    kind: "initialized",
    negotiation,
    capabilities: isObject(params.capabilities) ? params.capabilities : {},
    result: {
      protocolVersion: negotiation.version,
      capabilities: serverCapabilities(definitions),
      serverInfo: definitions.server,
      ...omitUndefined({ instructions: definitions.instructions }),
    },
  };
}

export function discover(_call: McpRequest, { definitions }: RequestHandlers): CallOutcome {
  return {
    kind: "complete",
    result: {
      supportedVersions: [VERSION_2026],
      capabilities: serverCapabilities(definitions),
      ...omitUndefined({ instructions: definitions.instructions }),
    },
    cache: definitions.cache,
  };
}

/** Later revisions require an empty result, so only early and unofficial clients get the time, in milliseconds. */
export function ping(request: McpRequest): CallOutcome {
  const timestamp = request.now();
  if (request.session?.isUnknownRevision) return { kind: "complete", result: { timestamp } };
  return { kind: "complete", result: request.revision.ping === "timestampInMeta" ? { _meta: { timestamp } } : {} };
}
