// Owns the feature `usage()`: how often each tool, prompt and method of a tenant is called, counted in the isolate and
// handed to the tenant's authority in batches, each of which counts once.

import type { BuiltInFeature, HeardCall } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import type { UsageLine } from "../deployment/record-readers.ts";
import { refuseOptions } from "../protocol/members.ts";
import { remote } from "../tenants/authority/tables.ts";
import { calledOutcome, calledThing } from "./called-thing.ts";
import { CallBatches } from "./call-batches.ts";
import { HOUR_MS, MOST_THINGS, usageTables } from "./usage-tables.ts";

type Counted = { -readonly [member in keyof UsageLine]: UsageLine[member] };
type Counts = Map<string, Counted>;

/** How long what a call counted may be in the isolate alone; what ends within that time loses it. */
export const HANDED_OVER_MS = 10_000;

/** Counts calls of every tenant, by tool, profile and hour: docs/usage.md. */
export function usage(...options: readonly never[]): Feature {
  refuseOptions("usage", options);
  const batches = new CallBatches<Counts>({
    make: () => new Map(),
    send: (stub, number, counts) => remote(stub, usageTables).add(number, [...counts.values()]),
    afterMs: HANDED_OVER_MS,
  });
  const feature: BuiltInFeature = {
    name: "usage",
    heard: (heard) => {
      batches.note(heard.host, (counts) => count(counts, heard));
      return undefined;
    },
    usage: (stub) => ({ lines: (ask) => remote(stub, usageTables).lines(ask) }),
  };
  return feature;
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).byteLength;
}

/** Gives how full that is. */
function count(counts: Counts, heard: HeardCall): number {
  const { host, call, answer } = heard;
  const { kind, name, upstream } = calledThing(heard);
  const time = Math.floor(Date.now() / HOUR_MS);
  const profile = host.profile ?? "";
  const key = JSON.stringify([time, profile, kind, name, upstream]);
  let counted = counts.get(key);
  if (!counted) {
    counted = { time, profile, kind, name, upstream, calls: 0, errors: 0, refused: 0, bytesIn: 0, bytesOut: 0 };
    counts.set(key, counted);
  }
  const outcome = calledOutcome(heard);
  counted.calls += 1;
  counted.errors += outcome === "error" ? 1 : 0;
  counted.refused += outcome === "refused" ? 1 : 0;
  counted.bytesIn += bytesOf(sentOf(host.sentText) ?? JSON.stringify(call.params));
  counted.bytesOut += bytesOf(answer.json);
  return counts.size / MOST_THINGS;
}

/** The body that came, where it is of this call alone. */
function sentOf(text: string | undefined): string | undefined {
  return text?.trimStart().startsWith("{") ? text : undefined;
}
