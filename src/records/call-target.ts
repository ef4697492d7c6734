// The target of a request, as it is counted and recorded: a tool or prompt by the name that its source gives it.
// Unknown names are recorded as empty. Otherwise a caller could fill the tables with invented names.

import type { CompletedCall } from "../deployment/deployment.ts";
import type { View } from "../catalog/view.ts";
import { methodsOf } from "../protocol/dispatch.ts";
import type { ErrorKey } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";

export interface CallTarget {
  readonly kind: "tool" | "prompt" | "resource" | "request";
  readonly name: string;
  /** The upstream that offers the target; empty: none. */
  readonly upstream: string;
}

const KNOWN_METHODS: ReadonlySet<string> = new Set([...methodsOf("2025"), ...methodsOf("2026")]);

export function callTargetOf({ call, requestScope: { view, context } }: CompletedCall): CallTarget {
  const { method } = call;
  // An envelope uses the upstream's name for the tool.
  const params = context.envelope ? countedParams(context.envelope.toLimitedMessage(view)) : call.params;
  if (method === "resources/read") {
    const target = view.resourcesByUri.get(String(params.uri));
    return { kind: "resource", name: "", upstream: target ? upstreamOf(view, target) : "" };
  }
  if (method !== "tools/call" && method !== "prompts/get") {
    return { kind: "request", name: KNOWN_METHODS.has(method) ? method : "", upstream: "" };
  }
  const kind = method === "tools/call" ? "tool" : "prompt";
  const { name } = params;
  const target = typeof name === "string" ? view[kind](name, Date.now()) : undefined;
  if (!target || isFailure(target)) return { kind, name: "", upstream: "" };
  return { kind, name: target.target.name, upstream: upstreamOf(view, target.target) };
}

function countedParams(message: unknown): JsonObject {
  return isObject(message) && isObject(message.params) ? message.params : {};
}

/**
 * Maps each definition of a view to its upstream. Built once per view, because views live long.
 * Bound: an entry for each definition of the view, as long as the view lives.
 */
const upstreamsByView = new WeakMap<View, ReadonlyMap<object, string>>();

function upstreamOf(view: View, definition: object): string {
  let upstreamIds = upstreamsByView.get(view);
  if (!upstreamIds) {
    const upstreams = view.sources.filter((source) => "upstream" in source);
    upstreamIds = new Map(
      upstreams.flatMap(({ id, tools, prompts, resources }) =>
        [...tools, ...prompts, ...resources].map((one): [object, string] => [one, id]),
      ),
    );
    upstreamsByView.set(view, upstreamIds);
  }
  return upstreamIds.get(definition) ?? "";
}

export type RecordedOutcome = "complete" | "error" | "refused" | "asked";

/** Errors that prevent a call from starting. */
const REFUSALS: ReadonlySet<ErrorKey> = new Set([
  "limited",
  "suspended",
  "unauthorized",
  "forbidden",
  "unknownTenant",
  "unavailable",
  "busy",
  "methodNotFound",
  "missingCapability",
]);

/** `asked`: the server requested input, and the client calls again with it. */
export function recordedOutcomeOf({ response: { error, json }, outcome }: CompletedCall): RecordedOutcome {
  if (error !== undefined) return REFUSALS.has(error) ? "refused" : "error";
  if (outcome?.kind === "inputRequired") return "asked";
  return json.includes('"isError":true') && isToolError(json) ? "error" : "complete";
}

/** The text may also appear in a tool's output, so the JSON is parsed. */
function isToolError(json: string): boolean {
  const { result } = JSON.parse(json) as { readonly result?: unknown };
  return isObject(result) && result.isError === true;
}
