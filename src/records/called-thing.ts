// Owns what a request called, in the words in which it is counted and recorded: a tool or prompt by the name that its
// source gives it. Refuses names that nobody gave: whoever makes them up would fill the tables with them.

import type { HeardCall } from "../deployment/deployment.ts";
import type { View } from "../content/serve/view.ts";
import { methodsOf } from "../protocol/dispatch.ts";
import type { ErrorKey } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";

export interface CalledThing {
  readonly kind: "tool" | "prompt" | "resource" | "request";
  readonly name: string;
  /** The upstream that it is of; empty: none. */
  readonly upstream: string;
}

const KNOWN: ReadonlySet<string> = new Set([...methodsOf("2025"), ...methodsOf("2026")]);

export function calledThing({ call, host: { view, visit } }: HeardCall): CalledThing {
  const { method } = call;
  // A wrapped body names the tool as its upstream does.
  const params = visit.unwrapped ? countedParams(visit.unwrapped.counted(view)) : call.params;
  if (method === "resources/read") {
    const found = view.resourcesByUri.get(String(params.uri));
    return { kind: "resource", name: "", upstream: found ? upstreamOf(view, found) : "" };
  }
  if (method !== "tools/call" && method !== "prompts/get") {
    return { kind: "request", name: KNOWN.has(method) ? method : "", upstream: "" };
  }
  const kind = method === "tools/call" ? "tool" : "prompt";
  const { name } = params;
  const found = typeof name === "string" ? view[kind](name, Date.now()) : undefined;
  if (!found || isFailure(found)) return { kind, name: "", upstream: "" };
  return { kind, name: found.target.name, upstream: upstreamOf(view, found.target) };
}

function countedParams(message: unknown): JsonObject {
  return isObject(message) && isObject(message.params) ? message.params : {};
}

/**
 * By view: which of its sources that are upstreams each thing is of. Made once, because views last.
 * Bound: an entry for each definition of the view, as long as that.
 */
const owners = new WeakMap<View, ReadonlyMap<object, string>>();

function upstreamOf(view: View, thing: object): string {
  let known = owners.get(view);
  if (!known) {
    const upstreams = view.sources.filter((source) => "upstream" in source);
    known = new Map(
      upstreams.flatMap(({ id, tools, prompts, resources }) =>
        [...tools, ...prompts, ...resources].map((one): [object, string] => [one, id]),
      ),
    );
    owners.set(view, known);
  }
  return known.get(thing) ?? "";
}

export type CalledOutcome = "complete" | "error" | "refused" | "asked";

/** What keeps a call from being begun. */
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

/** `asked`: the client was asked something, and calls again with the answer. */
export function calledOutcome({ answer: { error, json }, outcome }: HeardCall): CalledOutcome {
  if (error !== undefined) return REFUSALS.has(error) ? "refused" : "error";
  if (outcome?.kind === "inputRequired") return "asked";
  return json.includes('"isError":true') && saysError(json) ? "error" : "complete";
}

/** The words may stand in what a tool gave, too. */
function saysError(json: string): boolean {
  const { result } = JSON.parse(json) as { readonly result?: unknown };
  return isObject(result) && result.isError === true;
}
