// The feature `telemetry()`: emits an event for each request, or for a sample of them. Emitting never delays a
// response, and its failures never reach the caller.

import type { UntypedEnv, BuiltInFeature } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { assertKnownKeys } from "../protocol/members.ts";
import { dataPointOf, parseSampleRate, type DataPoint, type RequestEvent } from "../telemetry/request-event.ts";
import { recordError } from "../endpoint/telemetry/record-errors.ts";
import { RequestRecorder } from "../endpoint/telemetry/request-recorder.ts";

export interface TelemetryOptions {
  /**
   * The fraction of ordinary requests to report, from 0 to 1: 0.01 reports one in a hundred. 1 by default. Requests with
   * an error are always reported, except refusals that anyone can cause, such as 401 or an unknown tenant. The variable
   * `TELEMETRY_SAMPLE` overrides it.
   */
  readonly sample?: number;
  /** Receives the events instead of the binding `TELEMETRY`. Called after the response. */
  readonly to?: (event: RequestEvent) => void | Promise<void>;
}

interface TelemetryEnv {
  /** A dataset of Workers Analytics Engine. Without it, and without `to`, events are dropped. */
  readonly TELEMETRY?: { writeDataPoint(point: DataPoint): void };
  readonly TELEMETRY_SAMPLE?: string;
}

/** Emits an event for each request, and records errors by request id, counters and traces. See `node_modules/tenantry/docs/telemetry.md`. */
export function telemetry(options: TelemetryOptions = {}): Feature {
  assertKnownKeys("telemetry", options, "sample to");
  const { sample: defaultSample = 1, to } = options;
  if (typeof defaultSample !== "number" || parseSampleRate(defaultSample) === undefined) {
    throw new TypeError("telemetry: sample must be a number from 0 to 1");
  }
  if (to !== undefined && typeof to !== "function") throw new TypeError("telemetry: to must be a function");
  const feature: BuiltInFeature = {
    name: "telemetry",
    observe: (invocation, hooks) => {
      const { TELEMETRY, TELEMETRY_SAMPLE } = invocation.env as UntypedEnv & TelemetryEnv;
      const sample =
        TELEMETRY_SAMPLE === undefined ? defaultSample : (parseSampleRate(TELEMETRY_SAMPLE) ?? defaultSample);
      const emit = async (event: RequestEvent) => (to ? to(event) : TELEMETRY?.writeDataPoint(dataPointOf(event)));
      return new RequestRecorder(invocation, hooks, {
        sample,
        emit: (event) => {
          invocation.waitUntil(
            emit(event).catch((error: unknown) => hooks.onError?.(error, undefined, { method: "telemetry" })),
          );
        },
        recordError: (error, errorContext, context) =>
          invocation.waitUntil(recordError(error, errorContext, { env: invocation.env, context })),
      });
    },
  };
  return feature;
}
