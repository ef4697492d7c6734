// Owns which methods exist in each era and what the result of one looks like on the wire.
// A method that is missing from a table does not exist there: no era test stands in a method.

import type { Backend } from "./backend.ts";
import type { Call } from "./call.ts";
import type { ServerInfo } from "./definition.ts";
import { Encoded, type CallOutcome, type Complete } from "./outcome.ts";
import type { Dialect, Era } from "./era.ts";
import { ERRORS, errorCode, errorStatus, failure, type ErrorKey, type Failure, type MetLimit } from "./errors.ts";
import { errorResponse, resultResponse, type EchoId, type JsonObject, type RequestId } from "./jsonrpc.ts";
import { META } from "./meta.ts";
import { complete } from "./methods/completion.ts";
import { discover, ping } from "./methods/lifecycle.ts";
import { setLogLevel } from "./methods/logging.ts";
import { getPrompt, listPrompts } from "./methods/prompts.ts";
import { listResources, listTemplates, readResource } from "./methods/resources.ts";
import { subscribe, unsubscribe } from "./methods/subscriptions.ts";
import { callTool, listTools } from "./methods/tools.ts";

type Method = (call: Call, backend: Backend) => CallOutcome | Promise<CallOutcome>;

const SHARED: Readonly<Record<string, Method>> = {
  "tools/list": listTools,
  "tools/call": callTool,
  "resources/list": listResources,
  "resources/templates/list": listTemplates,
  "resources/read": readResource,
  "prompts/list": listPrompts,
  "prompts/get": getPrompt,
  "completion/complete": complete,
};

/** Without `initialize` and `subscriptions/listen`: http/ answers these, because it makes sessions and streams. */
const METHODS: Readonly<Record<Era, ReadonlyMap<string, Method>>> = {
  "2025": new Map(
    Object.entries({
      ...SHARED,
      ping,
      "logging/setLevel": setLogLevel,
      "resources/subscribe": subscribe,
      "resources/unsubscribe": unsubscribe,
    }),
  ),
  "2026": new Map(Object.entries({ ...SHARED, "server/discover": discover })),
};

export function methodsOf(era: Era): readonly string[] {
  return [...METHODS[era].keys()];
}

export async function dispatch(call: Call, backend: Backend): Promise<CallOutcome> {
  const method = METHODS[call.dialect.era].get(call.method);
  return method === undefined ? failure("methodNotFound") : method(call, backend);
}

/** A JSON-RPC response as text, with its HTTP status; `retryAfter` in seconds. */
export interface Answer {
  readonly json: string;
  readonly status: number;
  /** Which error it is. */
  readonly error?: ErrorKey;
  readonly retryAfter?: number;
  readonly met?: MetLimit;
  readonly challenge?: string;
  /** For whom it is held until it is read, where it is large. */
  readonly holder?: string;
}

export function encodeAnswer(id: RequestId, outcome: CallOutcome, dialect: Dialect, server: ServerInfo): Answer {
  switch (outcome.kind) {
    case "failure":
      return encodeFailure(id, outcome, dialect.era);
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
      return { json: resultResponse(id, encodeResult(outcome, dialect, server)), status: 200 };
  }
}

export function encodeFailure(id: EchoId, fault: Failure, era: Era): Answer {
  // Where no id could be read, era 2025 says null as JSON-RPC does; 2026-07-28 leaves the id out. A message whose own
  // id is null is answered with null in both eras: docs/founding-documents.md.
  const shown = id === undefined && era === "2025" ? null : id;
  const message = fault.message ?? ERRORS[fault.error].message;
  return {
    json: errorResponse(shown, fault.code ?? errorCode(fault.error, era), message, fault.data),
    status: errorStatus(fault.error, era),
    error: fault.error,
    ...(fault.retryAfter !== undefined && { retryAfter: fault.retryAfter }),
    ...(fault.met && { met: fault.met }),
    ...(fault.challenge !== undefined && { challenge: fault.challenge }),
  };
}

function encodeResult({ result, cache, meta }: Complete, dialect: Dialect, server: ServerInfo): string {
  const isEncoded = result instanceof Encoded;
  if (isEncoded && result.isStamped) return result.json;
  const written: JsonObject = isEncoded ? {} : result;
  // Only this file may write these members, so a handler cannot set them.
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta: own = meta, ...rest } = written;
  const stamps = dialect.stamps
    ? {
        resultType: "complete",
        _meta: { ...(own as JsonObject | undefined), [META.serverInfo]: server },
        ...(dialect.caching && cache && { ttlMs: cache.ttlMs, cacheScope: cache.cacheScope }),
      }
    : own !== undefined && { _meta: own };
  if (!isEncoded) return JSON.stringify({ ...stamps, ...rest });
  return stamps ? splice(result.json, stamps) : result.json;
}

/** Puts `members` in front of those of an object that is JSON already. */
function splice(json: string, members: object): string {
  const open = JSON.stringify(members).slice(0, -1);
  return json === "{}" ? `${open}}` : `${open},${json.slice(1)}`;
}
