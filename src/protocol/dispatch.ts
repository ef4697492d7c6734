// The methods of each era, and the encoding of their results. A method that is missing from an era's table does not
// exist there, so no method checks the era.

import type { RequestHandlers } from "./request-handlers.ts";
import type { McpRequest } from "./mcp-request.ts";
import type { ServerInfo } from "./definition.ts";
import { SerializedResult, type CallOutcome, type Complete } from "./call-outcome.ts";
import type { RevisionFeatures, Era } from "./revisions.ts";
import { ERRORS, errorCode, errorStatus, failure, type ErrorKey, type Failure, type ExceededLimit } from "./errors.ts";
import { errorResponse, resultResponse, type EchoId, type JsonObject, type MessageId } from "./jsonrpc.ts";
import { META } from "./meta.ts";
import { completeValue } from "./methods/completion.ts";
import { discover, ping } from "./methods/lifecycle.ts";
import { setLogLevel } from "./methods/logging.ts";
import { getPrompt, listPrompts } from "./methods/prompts.ts";
import { listResources, listTemplates, readResource } from "./methods/resources.ts";
import { subscribe, unsubscribe } from "./methods/subscriptions.ts";
import { callTool, listTools } from "./methods/tools.ts";

type Method = (request: McpRequest, handlers: RequestHandlers) => CallOutcome | Promise<CallOutcome>;

const SHARED_METHODS: Readonly<Record<string, Method>> = {
  "tools/list": listTools,
  "tools/call": callTool,
  "resources/list": listResources,
  "resources/templates/list": listTemplates,
  "resources/read": readResource,
  "prompts/list": listPrompts,
  "prompts/get": getPrompt,
  "completion/complete": completeValue,
};

/**
 * Without `initialize` and `subscriptions/listen`: src/endpoint answers them, because they create sessions and streams.
 */
const METHODS: Readonly<Record<Era, ReadonlyMap<string, Method>>> = {
  "2025": new Map(
    Object.entries({
      ...SHARED_METHODS,
      ping,
      "logging/setLevel": setLogLevel,
      "resources/subscribe": subscribe,
      "resources/unsubscribe": unsubscribe,
    }),
  ),
  "2026": new Map(Object.entries({ ...SHARED_METHODS, "server/discover": discover })),
};

export function methodsOf(era: Era): readonly string[] {
  return [...METHODS[era].keys()];
}

export async function dispatch(request: McpRequest, handlers: RequestHandlers): Promise<CallOutcome> {
  const method = METHODS[request.revision.era].get(request.method);
  return method === undefined ? failure("methodNotFound") : method(request, handlers);
}

/** A JSON-RPC response as text, with its HTTP status; `retryAfter` in seconds. */
export interface EncodedResponse {
  readonly json: string;
  readonly status: number;
  /** The error's key, if the response is an error. */
  readonly error?: ErrorKey;
  readonly retryAfter?: number;
  readonly exceeded?: ExceededLimit;
  readonly challenge?: string;
  /** The address whose memory budget a large response counts against until it is read. */
  readonly clientAddress?: string;
}

export function encodeOutcome(
  id: MessageId,
  outcome: CallOutcome,
  revision: RevisionFeatures,
  server: ServerInfo,
): EncodedResponse {
  switch (outcome.kind) {
    case "failure":
      return encodeFailure(id, outcome, revision.era);
    case "inputRequired": {
      const { inputRequests, requestState } = outcome;
      const result = {
        resultType: "input_required",
        ...(inputRequests === undefined ? {} : { inputRequests }),
        requestState,
        _meta: { [META.serverInfo]: server },
      };
      return { json: resultResponse(id, JSON.stringify(result)), status: 200 };
    }
    case "complete":
      return { json: resultResponse(id, encodeResult(outcome, revision, server)), status: 200 };
  }
}

export function encodeFailure(id: EchoId, failureToEncode: Failure, era: Era): EncodedResponse {
  // If no id could be read, era 2025 uses null, as JSON-RPC does, and 2026-07-28 omits the id. A message whose own id
  // is null is answered with null in both eras, as the founding documents ask.
  const echoedId = id === undefined && era === "2025" ? null : id;
  const message = failureToEncode.message ?? ERRORS[failureToEncode.error].message;
  return {
    json: errorResponse(
      echoedId,
      failureToEncode.code ?? errorCode(failureToEncode.error, era),
      message,
      failureToEncode.data,
    ),
    status: errorStatus(failureToEncode.error, era),
    error: failureToEncode.error,
    ...(failureToEncode.retryAfter !== undefined && { retryAfter: failureToEncode.retryAfter }),
    ...(failureToEncode.exceeded && { exceeded: failureToEncode.exceeded }),
    ...(failureToEncode.challenge !== undefined && { challenge: failureToEncode.challenge }),
  };
}

function encodeResult({ result, cache, meta }: Complete, revision: RevisionFeatures, server: ServerInfo): string {
  const isEncoded = result instanceof SerializedResult;
  if (isEncoded && result.isFinal) return result.json;
  const members: JsonObject = isEncoded ? {} : result;
  // Only this file may set these members, so a handler cannot set them.
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta: ownMeta = meta, ...rest } = members;
  const resultMeta = revision.resultMeta
    ? {
        resultType: "complete",
        _meta: { ...(ownMeta as JsonObject | undefined), [META.serverInfo]: server },
        ...(revision.caching && cache && { ttlMs: cache.ttlMs, cacheScope: cache.cacheScope }),
      }
    : ownMeta !== undefined && { _meta: ownMeta };
  if (!isEncoded) return JSON.stringify({ ...resultMeta, ...rest });
  return resultMeta ? splice(result.json, resultMeta) : result.json;
}

/** Inserts `members` before those of an object that is already JSON. */
function splice(json: string, members: object): string {
  const open = JSON.stringify(members).slice(0, -1);
  return json === "{}" ? `${open}}` : `${open},${json.slice(1)}`;
}
