// Records one request, and emits its event in the background when the request is answered.

import type { Hooks } from "../../handlers/request-scope.ts";
import type { UntypedEnv, RequestTelemetry, ObservedContext } from "../../deployment/deployment.ts";
import type { McpRequest } from "../../protocol/mcp-request.ts";
import type { EncodedResponse } from "../../protocol/dispatch.ts";
import { errorContextOf, type ErrorContext } from "../../telemetry/error-line.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import { instrumentBindings } from "../../telemetry/instrument-bindings.ts";
import { weightOf, type RequestEvent } from "../../telemetry/request-event.ts";
import { readTrace, type TraceContext } from "../../telemetry/trace-context.ts";
import { withNamespaces } from "../../tenants/directory/namespaces.ts";
import { buildRequestEvent } from "./request-event-builder.ts";

/** Where a recorder sends its results. */
export interface TelemetrySink {
  /** From 0 to 1. */
  readonly sample: number;
  emit(event: RequestEvent): void;
  recordError(error: unknown, at: ErrorContext, context: ObservedContext | undefined): void;
}

interface ObservedInvocation {
  readonly request: Request;
  readonly env: UntypedEnv;
  waitUntil(work: Promise<unknown>): void;
}

export class RequestRecorder implements RequestTelemetry {
  readonly env: UntypedEnv;
  readonly hooks: Hooks;
  readonly #invocation: ObservedInvocation;
  readonly #telemetrySink: TelemetrySink;
  readonly #startTime = Date.now();
  #context: ObservedContext | undefined;
  #call: McpRequest | undefined;
  #messages = 0;
  #outcome: string | undefined;
  #bytesOut = 0;
  #leaseRequested = false;
  #objectCalls = 0;
  #kvReads = 0;
  #errorCount = 0;
  #sockets = 0;
  /** Set when there is a response. */
  #answered: { readonly status: number; readonly isStream: boolean } | undefined;
  #isEmitted = false;

  constructor(invocation: ObservedInvocation, hooks: Hooks, telemetrySink: TelemetrySink) {
    this.#invocation = invocation;
    this.#telemetrySink = telemetrySink;
    this.env = this.#instrument(invocation.env);
    this.hooks = {
      ...hooks,
      onError: (error, event, errorContext) => {
        const fullContext = errorContextOf(event, errorContext ?? this.#context?.errorContext);
        this.#errorCount += 1;
        telemetrySink.recordError(error, fullContext, this.#context);
        hooks.onError?.(error, event, fullContext);
      },
    };
  }

  setContext(context: ObservedContext): void {
    this.#context = context;
  }

  trace(meta: unknown): TraceContext | undefined {
    const { headers } = this.#invocation.request;
    return readTrace(meta, (name) => headers.get(name));
  }

  recordCall(call: McpRequest, { json, error }: EncodedResponse): void {
    this.#messages += 1;
    this.#call = call;
    this.#bytesOut += json.length;
    // The first error wins if there are several messages.
    const outcome = error ?? (isToolError(call, json) ? "toolError" : "complete");
    if (this.#outcome === undefined || this.#outcome === "complete") this.#outcome = outcome;
  }

  recordDone(): void {
    if (this.#answered) this.#emit();
  }

  recordResponse(response: Response | undefined, error: string | undefined): void {
    const isStream = response?.headers.get("content-type") === "text/event-stream";
    this.#answered = { status: response?.status ?? 503, isStream };
    this.#outcome = error ?? this.#outcome;
    if (isStream) COUNTERS.add("streams");
    // The response of a streamed call is yet to come.
    if (!this.#context?.isBusy) this.#emit();
  }

  #emit(): void {
    const { status, isStream } = this.#answered ?? { status: 0, isStream: false };
    if (this.#isEmitted) return;
    this.#isEmitted = true;
    const outcome = this.#outcome ?? outcomeOfStatus(status, isStream);
    const policy: RequestEvent["policy"] = this.#context?.requestScope
      ? this.#leaseRequested
        ? "fetched"
        : "cached"
      : "none";
    countRequest(outcome, policy);
    const weight = weightOf(outcome, this.#errorCount, { sample: this.#telemetrySink.sample, chance: Math.random() });
    if (weight === 0) return;
    const measurements = {
      at: new Date(this.#startTime).toISOString(),
      ms: Date.now() - this.#startTime,
      status,
      outcome,
      policy,
      weight,
      messages: this.#messages,
      objectCalls: this.#objectCalls,
      kvReads: this.#kvReads,
      bytesOut: this.#bytesOut,
      errors: this.#errorCount,
    };
    // The event is built in the background: the response is already on its way.
    const { request } = this.#invocation;
    const building = buildRequestEvent(measurements, { request, context: this.#context, call: this.#call });
    this.#invocation.waitUntil(building.then((event) => this.#telemetrySink.emit(event)));
  }

  #instrument(env: UntypedEnv): UntypedEnv {
    return instrumentBindings(withNamespaces(env), {
      onObjectCall: (method) => {
        this.#objectCalls += 1;
        if (method === "policy.lease") this.#leaseRequested = true;
        // A stream that loses its socket opens another, long after its response.
        if (method !== "fetch") return;
        this.#sockets += 1;
        if (this.#isEmitted && this.#sockets > 1) COUNTERS.add("reconnections");
      },
      onOverload: () => COUNTERS.add("overloads"),
      onKvRead: (isMissing) => {
        this.#kvReads += 1;
        if (isMissing) COUNTERS.add("kvMisses");
      },
    });
  }
}

/** Tool errors are results. The JSON is not parsed again: no other member of a result contains this text. */
function isToolError({ method }: McpRequest, json: string): boolean {
  return method === "tools/call" && json.includes('"isError":true');
}

function outcomeOfStatus(status: number, isStream: boolean): string {
  if (status >= 400) return `http${status}`;
  return isStream ? "stream" : "complete";
}

const SUCCESS_OUTCOMES = new Set(["complete", "stream", "toolError"]);

function countRequest(outcome: string, policy: RequestEvent["policy"]): void {
  COUNTERS.add("requests");
  if (policy !== "none") COUNTERS.add(policy === "fetched" ? "policyFetches" : "policyCacheHits");
  if (!SUCCESS_OUTCOMES.has(outcome)) COUNTERS.countRejection(outcome);
}
