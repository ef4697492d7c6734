// Whether the time of a refusal tells which tenants exist. Statistics over many fresh keys, taking turns; a breach only
// where the two are clearly apart, since every machine is noisy.

import { setTimeout as pause } from "node:timers/promises";
import { rowOf, type Attack } from "./report.ts";

const SAMPLES = 60;
const MOST_WAITS = 30;
/** Of all pairs, how many in which the one that exists took longer: 0.5 where nothing is to be seen. */
const CLEAR = 0.85;
const CLEAR_MS = 1.5;

export const timing: Attack = {
  name: "timing",
  classes: ["hidden things that influence visible answers"],
  isAlone: true,
  run: async (target) => {
    const tenant = await target.tenant({ mode: "key", maxStalenessMs: 10_000 });
    const elsewhere = await target.tenant({ mode: "key" });
    const times = { exists: [] as number[], not: [] as number[] };
    let waited = 0;
    const same = new Set<string>();
    for (let at = 0; at < SAMPLES; at += 1) {
      // One of somewhere else: well-formed, and unknown at both.
      const { token } = await target.key(elsewhere);
      for (const [kind, name] of at % 2 === 0 ? pairsOf(tenant) : pairsOf(tenant).toReversed()) {
        const { ms, status, text, headers } = await target.call(name, "tools/list", {}, { key: token });
        // So many wrong keys are refused without a look: what is refused so tells nothing, but it is not what is measured.
        if (status === 429)
          await pause((waited += 1) > MOST_WAITS ? 0 : 1000 * Number(headers.get("retry-after") ?? 1));
        if (status === 429) continue;
        times[kind].push(ms);
        same.add(`${status} ${text.replaceAll(name, "NAME")}`);
      }
    }
    const share = shareAbove(times.exists, times.not);
    const [one, two] = [medianOf(times.exists), medianOf(times.not)];
    const seen = `medians ${one.toFixed(2)} and ${two.toFixed(2)} ms; longer in ${(share * 100).toFixed(0)} % of pairs`;
    const isClear = Math.max(share, 1 - share) > CLEAR && Math.abs(one - two) > CLEAR_MS;
    const gaveWay = [...(isClear ? [seen] : []), ...(same.size > 1 ? ["the answers differ"] : [])];
    return [
      rowOf(
        "11 a fake key takes longer",
        `${times.exists.length} fresh keys at a tenant that exists and at a name that does not`,
        gaveWay,
        seen,
      ),
    ];
  },
};

const pairsOf = (tenant: string) => [["exists", tenant] as const, ["not", `${tenant}-not`] as const];

function shareAbove(ones: readonly number[], others: readonly number[]): number {
  const above = ones.reduce((sum, one) => sum + others.filter((other) => one > other).length, 0);
  return above / (ones.length * others.length);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
