// How what was noted of calls is handed over: once, and by few asks, however many wait for it.

import { describe, expect, it } from "vitest";
import { CallBatches, type BatchNumber } from "../../src/records/call-batches.ts";

/** Batches of texts, which somebody takes after some milliseconds. */
function handing(takesMs: number, fails = 0) {
  const sent: BatchNumber[] = [];
  const taken = new Map<number, readonly string[]>();
  const batches = new CallBatches<string[]>({
    make: () => [],
    send: async (_stub, number, batch) => {
      sent.push(number);
      const isLost = sent.length <= fails;
      await scheduler.wait(takesMs);
      if (isLost) throw new Error("it was reset");
      taken.set(number.sequence, batch);
    },
    afterMs: 60_000,
  });
  const host = {
    tenant: "acme",
    meant: { incarnation: "one", wire: 1 },
    stub: () => ({}) as never,
    waitUntil: () => {},
    onError: () => {},
  };
  const note = (text: string) => {
    batches.note(host as never, (batch) => {
      batch.push(text);
      return 0;
    });
  };
  return { sent, taken, note, flush: () => batches.flush(host as never) };
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

  it("send again what nobody has acknowledged, under its number", async () => {
    const { sent, taken, note, flush } = handing(1, 1);
    note("one");
    await expect(flush()).rejects.toThrow("it was reset");
    note("two");
    await flush();
    expect(sent.map(({ sequence }) => sequence)).toEqual([1, 1, 2]);
    expect([...taken]).toEqual([
      [1, ["one"]],
      [2, ["two"]],
    ]);
  });
});
