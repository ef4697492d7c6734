// Owns the feature `usage()`: how often each tool, prompt and method of a tenant is called, counted in the isolate and
// handed to the tenant's authority in batches, each of which counts once.

import type { BuiltInFeature, CompletedCall } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import type { UsageLine } from "../deployment/record-readers.ts";
import { assertNoOptions } from "../protocol/members.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { recordedOutcomeOf, callTargetOf } from "./call-target.ts";
import { CallBatches } from "./call-batches.ts";
import { HOUR_MS, MAX_ROWS_PER_HOUR, usageStore } from "./usage-store.ts";

type CountedLine = { -readonly [member in keyof UsageLine]: UsageLine[member] };
type Counts = Map<string, CountedLine>;

/** How long what a call counted may be in the isolate alone; what ends within that time loses it. */
export const FLUSH_AFTER_MS = 10_000;

/** Counts calls of every tenant, by tool, profile and hour: docs/usage.md. */
export function usage(...options: readonly never[]): Feature {
  assertNoOptions("usage", options);
  const batches = new CallBatches<Counts>({
    createBatch: () => new Map(),
    send: (stub, batchId, counts) => createRpcClient(stub, usageStore).add(batchId, [...counts.values()]),
    afterMs: FLUSH_AFTER_MS,
  });
  const feature: BuiltInFeature = {
    name: "usage",
    onCallCompleted: (completed) => {
      batches.add(completed.requestScope, (counts) => countCall(counts, completed));
      return undefined;
    },
    usage: (stub) => ({ lines: (ask) => createRpcClient(stub, usageStore).lines(ask) }),
  };
  return feature;
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).byteLength;
}

/** Gives how full that is. */
function countCall(counts: Counts, completed: CompletedCall): number {
  const { requestScope: host, call, response: answer } = completed;
  const { kind, name, upstream } = callTargetOf(completed);
  const time = Math.floor(Date.now() / HOUR_MS);
  const profile = host.profile ?? "";
  const key = JSON.stringify([time, profile, kind, name, upstream]);
  let counted = counts.get(key);
  if (!counted) {
    counted = { time, profile, kind, name, upstream, calls: 0, errors: 0, refused: 0, bytesIn: 0, bytesOut: 0 };
    counts.set(key, counted);
  }
  const outcome = recordedOutcomeOf(completed);
  counted.calls += 1;
  counted.errors += outcome === "error" ? 1 : 0;
  counted.refused += outcome === "refused" ? 1 : 0;
  counted.bytesIn += bytesOf(singleBodyOf(host.sentText) ?? JSON.stringify(call.params));
  counted.bytesOut += bytesOf(answer.json);
  return counts.size / MAX_ROWS_PER_HOUR;
}

/** The body that came, where it is of this call alone. */
function singleBodyOf(text: string | undefined): string | undefined {
  return text?.trimStart().startsWith("{") ? text : undefined;
}
