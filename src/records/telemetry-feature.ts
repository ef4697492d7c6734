// Owns the feature `telemetry()` as a Worker's author imports it: an event for each request, or for some, where they are to go.
// Refuses to keep one waiting: what takes the events may fail, and nobody who calls hears of it.

import type { Bindings, BuiltInFeature } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { assertKnownKeys } from "../protocol/members.ts";
import { dataPointOf, parseSampleRate, type DataPoint, type RequestEvent } from "../telemetry/request-event.ts";
import { recordError } from "../endpoint/telemetry/record-errors.ts";
import { RequestRecorder } from "../endpoint/telemetry/request-recorder.ts";

export interface TelemetryOptions {
  /**
   * Which part of the requests that went as expected is told of, from 0 to 1: 0.01 is one of a hundred. Errors always. The
   * variable `TELEMETRY_SAMPLE` goes before it; all of them when neither is there.
   */
  readonly sample?: number;
  /** Takes the events, in the place of the binding `TELEMETRY`; called after the answer. */
  readonly to?: (event: RequestEvent) => void | Promise<void>;
}

interface TelemetryEnv {
  /** A dataset of Workers Analytics Engine; without it, and without `to`, events go nowhere. */
  readonly TELEMETRY?: { writeDataPoint(point: DataPoint): void };
  readonly TELEMETRY_SAMPLE?: string;
}

/** Events, errors that are found again, counters and traces: `docs/telemetry.md`. */
export function telemetry(options: TelemetryOptions = {}): Feature {
  assertKnownKeys("telemetry", options, "sample to");
  const { sample: defaultSample = 1, to } = options;
  if (typeof defaultSample !== "number" || parseSampleRate(defaultSample) === undefined) {
    throw new TypeError("telemetry: sample is a number from 0 to 1");
  }
  if (to !== undefined && typeof to !== "function") throw new TypeError("telemetry: to is a function");
  const feature: BuiltInFeature = {
    name: "telemetry",
    observe: (invocation, hooks) => {
      const { TELEMETRY, TELEMETRY_SAMPLE } = invocation.env as Bindings & TelemetryEnv;
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
