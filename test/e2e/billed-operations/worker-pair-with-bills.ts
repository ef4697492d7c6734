// Two Workers of which each request has its bill: what it costs at once, and what alarms cost because of it within an
// hour after it, or another time.

import { setTimeout as wait } from "node:timers/promises";
import type { Bill } from "../../../scripts/costs/billed.ts";
import { startWorkerPair, type WorkerPair } from "../../support/worker-pair.ts";

/** How long nothing happens before everything has happened: streams collect what they hear for some tens of milliseconds. */
const QUIET_MS = 80;
const MAX_LOOKS = 200;
export const HOUR_MS = 3_600_000;

interface RecordedAnswer {
  readonly bill: Required<Bill>;
  readonly steps: readonly string[];
  readonly underWay: number;
  /** Streams that are open, or whose clients left without being missed. */
  readonly beating: number;
  readonly now: number;
}

export interface Billed {
  readonly atOnce: Bill;
  /** Of alarms. */
  readonly later: Bill;
  /** What was asked, in order. */
  readonly steps: readonly string[];
}

export interface BilledWorkers extends Pick<WorkerPair, "one" | "two" | "stop"> {
  /** What all tenants share is awake for some seconds: a request asks whichever of the directory's shards. */
  warm(): Promise<void>;
  /** Every stream that was closed by who read it is missed, and over. */
  endStreams(): Promise<void>;
  /** Moves the clock on; alarms that are due by then ring. */
  moveOn(milliseconds: number): Promise<void>;
  /** The bill of what `act` does. What is due of what was done before is not on it. */
  billOf(act: () => Promise<unknown>, laterMs?: number): Promise<Billed>;
}

export async function startBilledWorkers(): Promise<BilledWorkers> {
  const vars = { OUTBOUND_LOCAL: "http://127.0.0.1", SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
  const workers = await startWorkerPair(vars, undefined, false, { entry: "billed-worker" });
  const say = async (origin: string, change: object = {}): Promise<RecordedAnswer> => {
    const response = await fetch(`${origin}/__bill`, { method: "POST", body: JSON.stringify(change) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as RecordedAnswer;
  };
  const both = (change: object = {}) => Promise.all(workers.both.map(({ origin }) => say(origin, change)));
  const warm = async () => {
    await say(workers.one.origin, { warm: true });
  };
  await say(workers.one.origin, { begin: true });
  const settle = async () => {
    let before = "";
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const said = await both();
      const now = JSON.stringify(said.map(({ bill, underWay }) => [bill, underWay]));
      if (now === before) return;
      before = now;
      await wait(QUIET_MS);
    }
    throw new Error(`it is never quiet: ${before}`);
  };
  const endStreams = async () => {
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const said = await both({ beat: true });
      if (said.every(({ beating }) => beating === 0)) return;
      await wait(QUIET_MS);
    }
    throw new Error("a stream does not end");
  };
  const moveOn = async (milliseconds: number) => {
    await settle();
    const { now } = await say(workers.one.origin, { later: milliseconds });
    await say(workers.two.origin, { clock: now });
    await settle();
  };
  const take = async () => {
    await settle();
    const said = await both({ reset: true });
    return { bill: sum(said.map(({ bill }) => bill)), steps: said.flatMap(({ steps }) => steps) };
  };
  return {
    one: workers.one,
    two: workers.two,
    stop: () => workers.stop(),
    warm,
    endStreams,
    moveOn,
    billOf: async (act, laterMs = HOUR_MS) => {
      await take();
      await act();
      const atOnce = await take();
      await moveOn(laterMs);
      const later = await take();
      return { atOnce: atOnce.bill, later: later.bill, steps: [...atOnce.steps, "|", ...later.steps] };
    },
  };
}

/** Without what costs nothing. */
function sum(bills: readonly Required<Bill>[]): Bill {
  const [first] = bills;
  const members = Object.keys(first ?? {}) as (keyof Bill)[];
  const sums = members.map((member) => [member, bills.reduce((total, bill) => total + bill[member], 0)] as const);
  return Object.fromEntries(sums.filter(([, total]) => total > 0));
}
