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

export function dispatch(call: Call, backend: Backend): CallOutcome | Promise<CallOutcome> {
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

function encodeResult(outcome: Complete, dialect: Dialect, server: ServerInfo): string {
  const { result } = outcome;
  if (result instanceof Encoded && result.isStamped) return result.json;
  const own = result instanceof Encoded ? outcome.meta : (result._meta as JsonObject | undefined);
  const json = result instanceof Encoded ? result.json : JSON.stringify(withoutStamps(result, dialect));
  if (!dialect.stamps) return result instanceof Encoded && own ? splice(json, `"_meta":${JSON.stringify(own)}`) : json;
  const { cache } = outcome;
  const hint = dialect.caching && cache ? `,"ttlMs":${cache.ttlMs},"cacheScope":"${cache.cacheScope}"` : "";
  return splice(json, (own ? stampWith(own, server) : stampOf(server)) + hint);
}

/**
 * Takes out the members that only this file may write, so that a handler cannot set them. In dialects with stamps it
 * takes out `_meta` too: the stamp contains it.
 */
function withoutStamps(result: JsonObject, { stamps }: Dialect): JsonObject {
  const { resultType, ttlMs, cacheScope, _meta } = result;
  const isMeta = stamps && _meta !== undefined;
  if (!isMeta && resultType === undefined && ttlMs === undefined && cacheScope === undefined) return result;
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta: meta, ...rest } = result;
  return isMeta || meta === undefined ? rest : { ...rest, _meta: meta };
}

const stampsByServer = new WeakMap<ServerInfo, string>();

function stampOf(server: ServerInfo): string {
  let stamp = stampsByServer.get(server);
  if (stamp === undefined) stampsByServer.set(server, (stamp = stampWith({}, server)));
  return stamp;
}

function stampWith(meta: JsonObject, server: ServerInfo): string {
  return `"resultType":"complete","_meta":${JSON.stringify({ ...meta, [META.serverInfo]: server })}`;
}

/** Puts `members`, JSON without its braces, in front of those of an object that is JSON already. */
function splice(json: string, members: string): string {
  return json === "{}" ? `{${members}}` : `{${members},${json.slice(1)}`;
}
