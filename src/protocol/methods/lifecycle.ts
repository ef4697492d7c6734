// Owns how a conversation starts in each era: initialize, server/discover, ping, and the capabilities declared there.

import { given } from "../members.ts";
import type { Backend, Definitions } from "../backend.ts";
import type { Call } from "../call.ts";
import type { CallOutcome } from "../outcome.ts";
import { negotiate, REVISION_2026, type Negotiated } from "../era.ts";
import type { Failure } from "../errors.ts";
import { isObject, type JsonObject } from "../jsonrpc.ts";
import { invalid } from "./params.ts";

/** The capabilities that every view declares, whatever it lists: exactly what this server serves. */
const SERVED: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};

function servedBy({ extensions }: Definitions): JsonObject {
  return extensions ? { ...SERVED, extensions } : SERVED;
}

export interface Initialized {
  readonly kind: "initialized";
  readonly negotiated: Negotiated;
  readonly capabilities: JsonObject;
  readonly result: JsonObject;
}

export function initialize(params: JsonObject, { definitions }: Backend): Initialized | Failure {
  const requested = params.protocolVersion;
  if (typeof requested !== "string") return invalid("protocolVersion", "must be a string");
  const negotiated = negotiate(requested);
  return {
    kind: "initialized",
    negotiated,
    capabilities: isObject(params.capabilities) ? params.capabilities : {},
    result: {
      protocolVersion: negotiated.answered,
      capabilities: servedBy(definitions),
      serverInfo: definitions.server,
      ...given({ instructions: definitions.instructions }),
    },
  };
}

export function discover(_call: Call, { definitions }: Backend): CallOutcome {
  return {
    kind: "complete",
    result: {
      supportedVersions: [REVISION_2026],
      capabilities: servedBy(definitions),
      ...given({ instructions: definitions.instructions }),
    },
    cache: definitions.cache,
  };
}

/** Later revisions demand an empty result, so only early and unofficial clients are told the time, in milliseconds. */
export function ping(call: Call): CallOutcome {
  const timestamp = call.now();
  if (call.session?.unofficial) return { kind: "complete", result: { timestamp } };
  return { kind: "complete", result: call.dialect.ping === "timestampInMeta" ? { _meta: { timestamp } } : {} };
}
