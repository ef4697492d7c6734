// How what was noted of calls is handed over: once, and by few asks, however many wait for it.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AppError } from "../../src/protocol/app-error.ts";
import { CallBatches, type BatchId, type BatchHost } from "../../src/records/call-batches.ts";
import { GAUGES } from "../../src/telemetry/gauges.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

function hostOf(more: Partial<BatchHost> = {}): BatchHost {
  const { id, stub } = freshTenant();
  const tenantRef = { id, placement: { jurisdiction: null, region: null }, uid: "one" };
  return { tenant: id, tenantRef, stub: () => stub, waitUntil: () => {}, onError: () => {}, ...more };
}

/** Batches of texts, which somebody takes after some milliseconds. */
function handing(takesMs: number) {
  const sent: BatchId[] = [];
  const taken = new Map<number, readonly string[]>();
  const batches = new CallBatches<string[]>({
    createBatch: () => [],
    send: async (_stub, number, batch) => {
      sent.push(number);
      await scheduler.wait(takesMs);
      taken.set(number.sequence, batch);
    },
    afterMs: 60_000,
  });
  const host = hostOf();
  const note = (text: string) => {
    batches.add(host, (batch) => {
      batch.push(text);
      return 0;
    });
  };
  return { sent, taken, note, flush: () => batches.flush(host) };
}

describe("many who wait until theirs is taken", () => {
  it("make few asks, and each finds its own taken", async () => {
    const { sent, taken, note, flush } = handing(60);
    const each = Array.from({ length: 40 }, async (_, at) => {
      await scheduler.wait(at);
      note(`call-${at}`);
      await flush();
      expect([...taken.values()].flat()).toContain(`call-${at}`);
    });
    await Promise.all(each);
    expect([...taken.values()].flat().length).toBe(40);
    expect(sent.length).toBeLessThan(8);
  });
});

/** What failed is sent again after up to two seconds, by chance. */
beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0.005);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("what an isolate noted of calls", () => {
  interface Given {
    readonly sent: [number: { sequence: number }, batch: string[]][];
    readonly batches: CallBatches<string[]>;
    readonly host: BatchHost;
    readonly work: Promise<unknown>[];
    readonly errors: unknown[];
    fails: number;
  }
  const given = (): Given => {
    const work: Promise<unknown>[] = [];
    const errors: unknown[] = [];
    const about: Given = {
      sent: [],
      work,
      errors,
      fails: 0,
      batches: new CallBatches<string[]>({
        createBatch: () => [],
        send: async (_stub, number, batch) => {
          about.sent.push([number, [...batch]]);
          if (about.fails-- > 0) throw new Error("the object was reset");
        },
        afterMs: 20,
      }),
      host: hostOf({
        waitUntil: (one) => {
          work.push(one);
        },
        onError: (error) => errors.push(error),
      }),
    };
    return about;
  };
  const note = ({ batches, host }: Given, text: string) => batches.add(host, (batch) => batch.push(text) / 100);

  it("goes to the object in one batch for many calls", async () => {
    const about = given();
    for (let at = 0; at < 50; at += 1) note(about, "x");
    expect([about.sent.length, about.work.length]).toEqual([0, 1]);
    await Promise.all(about.work);
    expect(about.sent.map(([, { length }]) => length)).toEqual([50]);
  });

  it("is sent again under its number until it is acknowledged, and what came since under the next", async () => {
    const about = given();
    about.fails = 3;
    note(about, "first");
    await Promise.all(about.work);
    expect(about.errors.length).toBe(1);
    note(about, "second");
    await Promise.all(about.work);
    const numbers = about.sent.map(([{ sequence }, batch]) => [sequence, ...batch]);
    expect(numbers).toEqual([...Array.from({ length: 4 }, () => [1, "first"]), [2, "second"]]);
  });

  it("is bounded while the object is away, which is tried now and then and not at each call", async () => {
    const about = given();
    about.fails = Infinity;
    for (let at = 0; at < 5_000; at += 1) note(about, "x");
    // The first call's, that of the first full batch, and one for what came after that.
    expect(about.work.length).toBe(3);
    await Promise.all(about.work);
    for (let at = 0; at < 5_000; at += 1) note(about, "x");
    await Promise.all(about.work);
    expect(about.sent.length).toBeLessThanOrEqual(5 * 3);
    about.fails = 0;
    about.sent.length = 0;
    await about.batches.flush(about.host);
    expect(about.sent.map(([{ sequence }, { length }]) => [sequence, length])).toEqual([
      [1, 100],
      [2, 800],
    ]);
    expect(about.errors.map(String).at(-1)).toContain("9100 calls were not recorded");
  });

  it("is acknowledged when a flush ends, also where another flush sends it", async () => {
    const { host } = given();
    const taken: number[] = [];
    const answers: (() => void)[] = [];
    let isAway = true;
    const batches = new CallBatches<string[]>({
      createBatch: () => [],
      send: async (_stub, { sequence }) => {
        if (isAway) throw new Error("the object was reset");
        await new Promise<void>((resolve) => answers.push(resolve));
        taken.push(sequence);
      },
      afterMs: 60_000,
    });
    const flushed = async (text: string) => {
      batches.add(host, (batch) => batch.push(text) / 100);
      await batches.flush(host);
      return [...taken];
    };
    await expect(flushed("not acknowledged")).rejects.toThrow("reset");
    isAway = false;
    const both = [flushed("one"), flushed("other")];
    const known = await Promise.all(
      both.map(async (one) => {
        for (;;) {
          answers.shift()?.();
          const answered = await Promise.race([one, scheduler.wait(1)]);
          if (answered) return answered;
        }
      }),
    );
    for (const one of known) expect(one).toContain(2);
  });

  it("counts as backlog until it is taken, or its tenant is gone", async () => {
    const before = GAUGES.backlog;
    const waiting = () => GAUGES.backlog - before;
    const about = given();
    for (let at = 0; at < 50; at += 1) note(about, "x");
    expect(waiting()).toBe(50);
    await Promise.all(about.work);
    expect(waiting()).toBe(0);
    about.fails = 3;
    note(about, "not taken");
    await Promise.all(about.work);
    expect(waiting()).toBe(1);
    note(about, "later");
    expect(waiting()).toBe(2);
    await Promise.all(about.work);
    expect(waiting()).toBe(0);
    const { host } = given();
    const gone = new CallBatches<string[]>({
      createBatch: () => [],
      send: () => Promise.reject(new AppError("unknownTenant")),
      afterMs: 1,
    });
    const work: Promise<unknown>[] = [];
    gone.add({ ...host, waitUntil: (one: Promise<unknown>) => work.push(one) }, (batch) => batch.push("x") / 100);
    expect(waiting()).toBe(1);
    await Promise.all(work);
    expect(waiting()).toBe(0);
  });

  it("is sent at once when the batch is full", async () => {
    const about = given();
    for (let at = 0; at < 100; at += 1) note(about, "x");
    expect(about.work.length).toBe(2);
    await Promise.all(about.work);
    expect(about.sent.map(([, { length }]) => length)).toEqual([100]);
  });
});
