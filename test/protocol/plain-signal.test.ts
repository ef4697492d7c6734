// A signal of our own says what the platform's says, to whoever listens.

import { expect, it, vi } from "vitest";
import { PlainSignal } from "../../src/protocol/plain-signal.ts";

it("tells whoever listens, once and why", () => {
  const signal = new PlainSignal();
  const [heard, gone] = [vi.fn<() => void>(), vi.fn<() => void>()];
  signal.addEventListener("abort", heard);
  signal.addEventListener("abort", gone);
  signal.removeEventListener("abort", gone);
  expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
  signal.abort("first");
  signal.abort("second");
  expect([signal.aborted, signal.reason, heard.mock.calls.length, gone.mock.calls.length]).toEqual([
    true,
    "first",
    1,
    0,
  ]);
});

it("tells nobody who comes after the end, as the platform's", () => {
  for (const make of [() => new PlainSignal(), () => new AbortController()]) {
    const made = make();
    const signal = "signal" in made ? made.signal : made;
    const heard = vi.fn<() => void>();
    made.abort();
    signal.addEventListener("abort", heard);
    made.abort();
    expect(heard).not.toHaveBeenCalled();
  }
});
