import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ResponseBudget } from "../../../src/gateway/guard/response-budget.ts";
import { MESSAGE_MIN_RATE, RequestBody } from "../../../src/streams/request-body.ts";
import {
  MEMORY_BUDGET,
  MemoryBudget,
  MAX_RESERVED_BYTES,
  STALE_AFTER_MS,
} from "../../../src/tenants/cache/memory-budget.ts";

const MIB = 1024 * 1024;
/** As long as a call may take at an upstream, and longer than a person thinks. */
const LONG_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Who holds something for as long as a call takes, and what ends that. */
const HOLDERS: Readonly<Record<string, () => Promise<() => void>>> = {
  "the body of a request that is worked on": async () => {
    const request = new Request("https://mcp.example.com/mcp/a", { method: "POST", body: new Uint8Array(2 * MIB) });
    const body = new RequestBody(request, MESSAGE_MIN_RATE);
    expect(await body.read(4 * MIB)).toBe("whole");
    return () => body.release();
  },
  "what an upstream has said of an answer": async () => {
    const room = new ResponseBudget("acme");
    room.reserve(2 * MIB);
    return () => room.release();
  },
};

it.each(Object.entries(HOLDERS))("%s counts for however long that takes", async (_what, hold) => {
  // What other files have left is forgotten first.
  await vi.advanceTimersByTimeAsync(LONG_MS);
  MEMORY_BUDGET.fits(MAX_RESERVED_BYTES + 1);
  const before = MEMORY_BUDGET.total;
  const release = await hold();
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(MEMORY_BUDGET.fits(MAX_RESERVED_BYTES - before)).toBe(false);
  expect(MEMORY_BUDGET.total).toBeGreaterThanOrEqual(before + 2 * MIB);
  release();
  expect(MEMORY_BUDGET.total).toBe(before);
});

it("a reservation of an ended invocation expires after a while", async () => {
  const all = new MemoryBudget();
  const [gone, here] = [all.createReservation(), all.createReservation()];
  gone.resize(40 * MIB);
  // The platform takes its timers with it.
  vi.clearAllTimers();
  here.resize(10 * MIB);
  await vi.advanceTimersByTimeAsync(STALE_AFTER_MS / 2);
  expect(all.fits(20 * MIB)).toBe(false);
  await vi.advanceTimersByTimeAsync(STALE_AFTER_MS);
  expect(all.fits(20 * MIB)).toBe(true);
  expect(all.total).toBe(10 * MIB);
  here.release();
  expect(vi.getTimerCount()).toBe(0);
});

it("a small reservation has no timer", () => {
  const share = new MemoryBudget().createReservation();
  share.resize(60_000);
  expect(vi.getTimerCount()).toBe(0);
});

it("a timer ends by itself where what it is for was released elsewhere", async () => {
  const share = new MemoryBudget().createReservation();
  share.resize(MIB);
  const { clearInterval: clear } = globalThis;
  globalThis.clearInterval = () => {};
  share.release();
  globalThis.clearInterval = clear;
  await vi.advanceTimersByTimeAsync(STALE_AFTER_MS);
  expect(vi.getTimerCount()).toBe(0);
});
