// Owns the trail of one request: what is noted of it on its way, and the one event that is told when it was answered, off its
// path. Refuses what a client sent beyond names that its own view has.

import type { Hooks } from "../../calls/call-host.ts";
import type { Bindings, Trail, TrailVisit } from "../../deployment/deployment.ts";
import type { Call } from "../../protocol/call.ts";
import type { Answer } from "../../protocol/dispatch.ts";
import { faultPlaceOf, type FaultPlace } from "../../telemetry/fault-line.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import { countedBindings } from "../../telemetry/counted-bindings.ts";
import { weightOf, type RequestEvent } from "../../telemetry/request-event.ts";
import { traceIn, type TraceContext } from "../../telemetry/trace-context.ts";
import { withNamespaces } from "../../tenants/directory/namespaces.ts";
import { toldOf } from "./told-request.ts";

/** Where a trail leads. */
export interface TrailEnd {
  /** From 0 to 1. */
  readonly sample: number;
  tell(event: RequestEvent): void;
  fault(error: unknown, at: FaultPlace, visit: TrailVisit | undefined): void;
}

interface Came {
  readonly request: Request;
  readonly env: Bindings;
  waitUntil(work: Promise<unknown>): void;
}

export class RequestTrail implements Trail {
  readonly env: Bindings;
  readonly hooks: Hooks;
  readonly #came: Came;
  readonly #end: TrailEnd;
  readonly #began = Date.now();
  #visit: TrailVisit | undefined;
  #call: Call | undefined;
  #messages = 0;
  #outcome: string | undefined;
  #bytesOut = 0;
  #asked = false;
  #objectCalls = 0;
  #kvReads = 0;
  #faults = 0;
  #sockets = 0;
  /** Set when there is a response, and taken when its event was told. */
  #answered: { readonly status: number; readonly isStream: boolean } | undefined;
  #isTold = false;

  constructor(came: Came, hooks: Hooks, end: TrailEnd) {
    this.#came = came;
    this.#end = end;
    this.env = this.#counted(came.env);
    this.hooks = {
      ...hooks,
      onError: (error, event, place) => {
        const at = faultPlaceOf(event, place ?? this.#visit?.place);
        this.#faults += 1;
        end.fault(error, at, this.#visit);
        hooks.onError?.(error, event, at);
      },
    };
  }

  visited(visit: TrailVisit): void {
    this.#visit = visit;
  }

  trace(meta: unknown): TraceContext | undefined {
    const { headers } = this.#came.request;
    return traceIn(meta, (name) => headers.get(name));
  }

  ran(call: Call, { json, error }: Answer): void {
    this.#messages += 1;
    this.#call = call;
    this.#bytesOut += json.length;
    // Of several, what went wrong first.
    const outcome = error ?? (isToolError(call, json) ? "toolError" : "complete");
    if (this.#outcome === undefined || this.#outcome === "complete") this.#outcome = outcome;
  }

  over(): void {
    if (this.#answered) this.#tell();
  }

  answered(response: Response | undefined, error: string | undefined): void {
    const isStream = response?.headers.get("content-type") === "text/event-stream";
    this.#answered = { status: response?.status ?? 503, isStream };
    this.#outcome = error ?? this.#outcome;
    if (isStream) COUNTERS.add("streams");
    // The answer of a call that streams is yet to come.
    if (!this.#visit?.isBusy) this.#tell();
  }

  #tell(): void {
    const { status, isStream } = this.#answered ?? { status: 0, isStream: false };
    if (this.#isTold) return;
    this.#isTold = true;
    const outcome = this.#outcome ?? outcomeOfStatus(status, isStream);
    const policy: RequestEvent["policy"] = this.#visit?.host ? (this.#asked ? "fetched" : "cached") : "none";
    count(outcome, policy);
    const weight = weightOf(outcome, this.#faults, { sample: this.#end.sample, chance: Math.random() });
    if (weight === 0) return;
    const noted = {
      at: new Date(this.#began).toISOString(),
      ms: Date.now() - this.#began,
      status,
      outcome,
      policy,
      weight,
      messages: this.#messages,
      objectCalls: this.#objectCalls,
      kvReads: this.#kvReads,
      bytesOut: this.#bytesOut,
      errors: this.#faults,
    };
    // The event is made off the path: whoever asked has their answer.
    const { request } = this.#came;
    const making = toldOf(noted, { request, visit: this.#visit, call: this.#call });
    this.#came.waitUntil(making.then((event) => this.#end.tell(event)));
  }

  #counted(env: Bindings): Bindings {
    return countedBindings(withNamespaces(env), {
      called: (method) => {
        this.#objectCalls += 1;
        if (method === "policy.lease") this.#asked = true;
        // A stream whose socket is lost opens another, long after it was answered.
        if (method !== "fetch") return;
        this.#sockets += 1;
        if (this.#isTold && this.#sockets > 1) COUNTERS.add("reconnections");
      },
      overloaded: () => COUNTERS.add("overloads"),
      read: (isMissing) => {
        this.#kvReads += 1;
        if (isMissing) COUNTERS.add("kvMisses");
      },
    });
  }
}

/** What a tool says went wrong is a result. Its JSON is not parsed again: no other one has this member. */
function isToolError({ method }: Call, json: string): boolean {
  return method === "tools/call" && json.includes('"isError":true');
}

function outcomeOfStatus(status: number, isStream: boolean): string {
  if (status >= 400) return `http${status}`;
  return isStream ? "stream" : "complete";
}

const SERVED = new Set(["complete", "stream", "toolError"]);

function count(outcome: string, policy: RequestEvent["policy"]): void {
  COUNTERS.add("requests");
  if (policy !== "none") COUNTERS.add(policy === "fetched" ? "policyFetches" : "policyCacheHits");
  if (!SERVED.has(outcome)) COUNTERS.refuse(outcome);
}
