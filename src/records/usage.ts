// The feature `usage()`. Each isolate counts calls and sends the counts to the tenant object in batches, each of which
// counts once.

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

/** How long a count may exist only in the isolate. An isolate that ends within that time loses it. */
export const FLUSH_AFTER_MS = 10_000;

/** Counts calls of every tenant by tool, prompt or method, profile and hour. See `node_modules/tenantry/docs/usage.md`. */
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
    usage: (stub) => ({ lines: (query) => createRpcClient(stub, usageStore).lines(query) }),
  };
  return feature;
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).byteLength;
}

/** Returns the fill level of the batch. */
function countCall(counts: Counts, completed: CompletedCall): number {
  const { requestScope, call, response } = completed;
  const { kind, name, upstream } = callTargetOf(completed);
  const time = Math.floor(Date.now() / HOUR_MS);
  const profile = requestScope.profile ?? "";
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
  counted.bytesIn += bytesOf(singleBodyOf(requestScope.sentText) ?? JSON.stringify(call.params));
  counted.bytesOut += bytesOf(response.json);
  return counts.size / MAX_ROWS_PER_HOUR;
}

/** The request body, if it contains only this call. */
function singleBodyOf(text: string | undefined): string | undefined {
  return text?.trimStart().startsWith("{") ? text : undefined;
}
