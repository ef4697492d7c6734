// The possible outcomes of a call: a result, a question, arguments that break a schema, or a failure.

import type { Failure } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";

/** In milliseconds. https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
export interface CacheHint {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

export const UNCACHED: CacheHint = { ttlMs: 0, cacheScope: "private" };

/** A result that is already JSON. */
export class SerializedResult {
  readonly json: string;
  /** Whether the result already has the members that its revision adds to results, so that it is sent unchanged. */
  readonly isFinal: boolean;

  constructor(json: string, isFinal = false) {
    this.json = json;
    this.isFinal = isFinal;
  }
}

export interface Complete {
  readonly kind: "complete";
  readonly result: JsonObject | SerializedResult;
  readonly cache?: CacheHint;
  /** `_meta` for a `SerializedResult` that has none. Any other result carries its own. */
  readonly meta?: JsonObject | undefined;
}

export interface Violation {
  readonly path: string;
  readonly expected: string;
  readonly received: string;
  readonly message: string;
}

/** Arguments that break a tool's input schema; the revision decides whether that is an error or a result. */
export interface InvalidArguments {
  readonly kind: "invalidArguments";
  readonly violations: readonly Violation[];
}

/** Era 2026 only: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr */
export interface InputRequired {
  readonly kind: "inputRequired";
  readonly inputRequests?: Readonly<Record<string, JsonObject>>;
  readonly requestState: string;
}

export type CallOutcome = Complete | InputRequired | Failure;

/** The outcome of a tool before it is adapted to the client's revision. Other calls never have invalid arguments. */
export type ToolOutcome = CallOutcome | InvalidArguments;
