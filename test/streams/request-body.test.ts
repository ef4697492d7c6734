// How much of a request's body is taken in, how fast it has to come, and what it counts as held meanwhile.

import { describe, expect, it, vi } from "vitest";
import { RequestBody, type MinByteRate } from "../../src/streams/request-body.ts";
import {
  MemoryBudget,
  MAX_RESERVED_BYTES,
  STALE_AFTER_MS,
  SMALL_BYTES,
} from "../../src/tenants/cache/memory-budget.ts";

const MIB = 1024 * 1024;
const PACE: MinByteRate = { stallMs: 200, graceMs: 300, bytesPerSecond: 1024 };
const PATIENT: MinByteRate = { stallMs: 60_000, graceMs: 60_000, bytesPerSecond: 1 };

interface Sent {
  readonly size: number;
  readonly piece?: number;
  readonly everyMs?: number;
  /** After `size` bytes nothing comes any more. */
  readonly stalls?: boolean;
  /** As the headers say; nothing when absent. */
  readonly declared?: number;
}

function send({ size, piece = 16 * 1024, everyMs = 0, stalls = false, declared }: Sent, signal?: AbortSignal) {
  const sent = { bytes: 0, cancelled: false };
  const source = {
    type: "bytes",
    pull: async (controller: ReadableByteStreamController) => {
      if (everyMs > 0) await scheduler.wait(everyMs);
      const bytes = Math.min(piece, size - sent.bytes);
      if (bytes > 0) {
        sent.bytes += bytes;
        controller.enqueue(new Uint8Array(bytes).fill(sent.bytes % 128));
      } else if (stalls) await new Promise<void>(() => {});
      else controller.close();
    },
    cancel: () => {
      sent.cancelled = true;
    },
  } as const;
  const body = new ReadableStream(source as unknown as UnderlyingSource<Uint8Array>, { highWaterMark: 0 });
  const headers = declared === undefined ? {} : { "content-length": String(declared) };
  const init = { method: "POST", body, headers, ...(signal ? { signal } : {}) };
  return { request: new Request("https://mcp.example.com/", init), sent };
}

/** An invocation that lasts as long as what it keeps. */
const LASTING = { waitUntil: () => {} };

function reading(sending: Sent, pace = PATIENT, invocation: typeof LASTING | undefined = LASTING) {
  const held = new MemoryBudget();
  const { request, sent } = send(sending);
  return { body: new RequestBody(request, pace, held.createReservation(), invocation), sent, held };
}

describe("a body", () => {
  it.each([0, 1, 1000, SMALL_BYTES, SMALL_BYTES + 1, 3 * MIB])("of %d bytes is there as it was sent", async (size) => {
    for (const declared of [undefined, size]) {
      for (const piece of [size / 3 + 1, 100_000]) {
        const { body, held } = reading({
          size,
          piece: Math.floor(piece),
          ...(declared === undefined ? {} : { declared }),
        });
        expect(await body.read(4 * MIB)).toBe("whole");
        expect(body.bytes.byteLength).toBe(size);
        expect(held.total).toBeGreaterThanOrEqual(size);
        expect(held.total).toBeLessThanOrEqual(2 * size + 100_000);
        body.release();
        expect(held.total).toBe(0);
      }
    }
  });

  it("is not begun when its headers say that it is too large", async () => {
    const { body, sent, held } = reading({ size: 2 * MIB, declared: 2 * MIB });
    expect(await body.read(MIB)).toBe("more");
    expect([sent, held.total]).toEqual([{ bytes: 0, cancelled: true }, 0]);
  });

  it("is given up as soon as it is too large, when its headers say nothing", async () => {
    const { body, sent, held } = reading({ size: 40 * MIB });
    expect(await body.read(MIB)).toBe("more");
    expect(sent.bytes).toBeLessThan(MIB + SMALL_BYTES);
    expect([sent.cancelled, held.total]).toEqual([true, 0]);
  });
});

describe("a body whose client leaves, as the signal of its request says", () => {
  it("is not whole: what came of it is not all that was to come, and nothing would be stored in its place", async () => {
    const leaving = new AbortController();
    const held = new MemoryBudget();
    const { request } = send({ size: 1000, stalls: true }, leaving.signal);
    const body = new RequestBody(request, PATIENT, held.createReservation());
    const read = body.read(MIB);
    await vi.waitFor(() => {
      expect(held.total).toBe(1000);
    });
    leaving.abort();
    expect(await read.catch(() => "left")).not.toBe("whole");
    expect([held.total, body.bytes.byteLength]).toEqual([0, 0]);
  });
});

describe("the text of a body", () => {
  const textOf = async (
    bytes: readonly number[],
    declared: number | undefined,
    invocation: typeof LASTING | undefined,
  ) => {
    const headers = declared === undefined ? {} : { "content-length": String(declared) };
    const request = new Request("https://mcp.example.com/", { method: "POST", body: new Uint8Array(bytes), headers });
    const body = new RequestBody(request, PATIENT, new MemoryBudget().createReservation(), invocation);
    expect(await body.read(MIB)).toBe("whole");
    return body.text;
  };
  const WAYS = [
    ["at once", LASTING],
    ["piece by piece", undefined],
  ] as const;

  it.each(["", "abc", "äö€😀", "\uFFFD", "a\uFFFD😀\uFFFD"])("%j is as it was sent", async (text) => {
    const bytes = [...new TextEncoder().encode(text)];
    for (const [way, invocation] of WAYS) expect(await textOf(bytes, bytes.length, invocation), way).toBe(text);
    // An application that writes other headers than bodies.
    for (const declared of [bytes.length + 9, 1])
      expect(await textOf(bytes, declared, undefined), String(declared)).toBe(text);
    expect(await textOf(bytes, bytes.length + 9, LASTING)).toBe(text);
  });

  it.each([
    ["a byte that begins nothing", [0xff]],
    ["a continuation without a beginning", [0x61, 0x80, 0x62]],
    ["a character of two bytes cut", [0xc3, 0x22]],
    ["a character of three bytes cut after one", [0xe2, 0x22]],
    ["a character of three bytes cut after two", [0xe2, 0x82, 0x22]],
    ["a character of four bytes cut after one", [0xf0, 0x22]],
    ["a character of four bytes cut after two", [0xf0, 0x9f, 0x22]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a longer form than needed", [0xc0, 0xaf]],
    ["a number that is too high", [0xf5, 0x80, 0x80, 0x80]],
    ["a replaced character beside such a byte", [0xef, 0xbf, 0xbd, 0xff]],
  ])("is not there for %s", async (_what, bytes) => {
    for (const [way, invocation] of WAYS) expect(await textOf(bytes, bytes.length, invocation), way).toBeUndefined();
  });

  it("has a replaced character for one of four bytes cut after three, where it is read at once", async () => {
    const bytes = [0x61, 0xf0, 0x9f, 0x98, 0x62];
    expect(await textOf(bytes, bytes.length, LASTING)).toBe("a\uFFFDb");
    expect(await textOf(bytes, bytes.length, undefined)).toBeUndefined();
  });
});

describe("a length that an application has written which passes requests on", () => {
  it.each([10, 0, Number.NaN, -5])("of %d says nothing of what comes", async (declared) => {
    const many = reading({ size: 3 * MIB, declared });
    expect(await many.body.read(MIB)).toBe("more");
    expect([many.held.total, many.body.bytes.byteLength]).toEqual([0, 0]);
    const some = reading({ size: 100_000, declared });
    expect(await some.body.read(MIB)).toBe("whole");
    expect(some.body.bytes.byteLength).toBe(100_000);
    expect(some.held.total).toBeGreaterThanOrEqual(100_000);
    some.body.release();
    expect(some.held.total).toBe(0);
  });
});

describe("a client that is slow", () => {
  it.each([
    ["nothing at all", { size: 0, stalls: true, declared: 100 }],
    ["nothing more than a beginning", { size: 100_000, stalls: true, declared: 200_000 }],
    ["a beginning, in chunks", { size: 10, stalls: true }],
    ["bytes one by one, too slowly in all", { size: 1000, piece: 1, everyMs: 20, declared: 100_000 }],
  ])("and sends %s is given up", async (_what, sending) => {
    for (const invocation of [LASTING, undefined]) {
      const { body, held } = reading(sending, PACE, invocation);
      expect(await body.read(MIB)).toBe("tooSlow");
      expect(held.total).toBe(0);
    }
  });

  it("and sends nothing of many small bodies is given up with all of them", async () => {
    const many = Array.from({ length: 100 }, () => reading({ size: 0, stalls: true, declared: 100 }, PACE));
    const states = await Promise.all(many.map(({ body }) => body.read(MIB)));
    expect(new Set(states)).toEqual(new Set(["tooSlow"]));
    expect(many.map(({ held }) => held.total)).toEqual(many.map(() => 0));
  });

  it.each([10, 100_000])("and sends nothing is given up by the next client, with %d bytes", async (size) => {
    const { body, held } = reading({ size: 0, stalls: true, declared: 100 }, { ...PACE, stallMs: 10_000 });
    const state = body.read(MIB);
    expect(held.total).toBe(100);
    const now = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 10_000);
    const next = reading({ size, declared: size });
    const nextState = next.body.read(MIB);
    expect(held.total).toBe(0);
    now.mockRestore();
    expect([await state, await nextState, body.bytes.byteLength]).toEqual(["tooSlow", "whole", 0]);
  });

  it("and sends a small body too late is held no longer", async () => {
    const { body, held } = reading({ size: 100, everyMs: PACE.stallMs * 3, declared: 100 }, PACE);
    expect(await body.read(MIB)).toBe("tooSlow");
    expect(held.total).toBe(0);
    await scheduler.wait(PACE.stallMs * 3);
    expect([held.total, body.bytes.byteLength]).toEqual([0, 0]);
  });

  it("has all the time in which enough comes", async () => {
    const { body } = reading({ size: 4096, piece: 256, everyMs: 30, declared: 100_000 }, PACE);
    expect(await body.read(MIB)).toBe("whole");
    expect(body.bytes.byteLength).toBe(4096);
  });
});

describe("what an isolate holds", () => {
  it("is bounded: one body too many is refused, and what is small is taken all the same", async () => {
    const held = new MemoryBudget();
    const take = (size: number) => {
      const body = new RequestBody(send({ size, piece: MIB }).request, PATIENT, held.createReservation());
      return body.read(MAX_RESERVED_BYTES).then((state) => ({ state, body }));
    };
    const large = held.createReservation();
    expect(large.resize(MAX_RESERVED_BYTES - MIB)).toBe(true);
    expect((await take(2 * MIB)).state).toBe("noRoom");
    expect((await take(SMALL_BYTES)).state).toBe("whole");
    large.release();
    expect((await take(2 * MIB)).state).toBe("whole");
  });

  it("is shared: nobody holds more than they leave free, so there is room for the next one", () => {
    for (const piece of [SMALL_BYTES, 4 * MIB]) {
      const held = new MemoryBudget();
      const greedy = ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"];
      let taken = 0;
      for (const address of greedy) while (held.createReservation(address).resize(piece)) taken += 1;
      expect(taken).toBeGreaterThan(10);
      const next = held.createReservation("203.0.113.5");
      expect(next.resize(MIB), `after pieces of ${piece}`).toBe(true);
      expect(held.createReservation(greedy[0]).resize(piece)).toBe(false);
      next.release();
      expect(held.createReservation(greedy[0]).resize(piece)).toBe(false);
    }
  });

  it("is let go by address, too", () => {
    const held = new MemoryBudget();
    for (let round = 0; round < 100; round += 1) {
      const share = held.createReservation("203.0.113.1");
      expect(share.resize(MAX_RESERVED_BYTES / 2)).toBe(true);
      expect(held.createReservation("203.0.113.1").resize(MIB)).toBe(false);
      share.release();
    }
    expect(held.total).toBe(0);
  });

  it.each([
    ["ASCII", "x".repeat(1000), 2],
    ["ASCII, larger than most", "x".repeat(SMALL_BYTES + 1), 2],
    ["a character beyond Latin-1", `${"x".repeat(1000)}😀`, 4],
    ["a character beyond Latin-1, larger than most", `${"x".repeat(SMALL_BYTES)}😀`, 4],
    ["an escaped one", `${"x".repeat(1000)}\\u20ac`, 4],
  ])("counts text with what is parsed of it: %s", async (_what, text, times) => {
    const held = new MemoryBudget();
    const request = new Request("https://mcp.example.com/", { method: "POST", body: text });
    const body = new RequestBody(request, PATIENT, held.createReservation(), LASTING);
    expect(await body.read(MIB)).toBe("whole");
    expect(body.reserveParsed(320)).toBe(true);
    expect(held.total).toBe(times * text.length + 320);
    expect(body.text).toBe(text);
    body.release();
    expect(held.total).toBe(0);
  });

  it("is forgotten in the end where the clock was set back", () => {
    const held = new MemoryBudget();
    const [gone, mine] = [held.createReservation(), held.createReservation()];
    expect(gone.resize(MAX_RESERVED_BYTES)).toBe(true);
    gone.lastUsed += 3_600_000;
    expect(mine.resize(MIB)).toBe(false);
    gone.lastUsed -= STALE_AFTER_MS + 1;
    expect(mine.resize(MIB)).toBe(true);
  });

  it("does not count what nobody touched for so long that its invocation must be gone", () => {
    const held = new MemoryBudget();
    const [gone, mine] = [held.createReservation(), held.createReservation()];
    expect(gone.resize(MAX_RESERVED_BYTES)).toBe(true);
    expect(mine.resize(MIB)).toBe(false);
    gone.lastUsed -= STALE_AFTER_MS + 1;
    expect(mine.resize(MIB)).toBe(true);
    gone.release();
    expect(held.total).toBe(MIB);
  });
});
