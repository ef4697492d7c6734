// A clock that stands still, so that leases end when a test says so, however slow the machine is.

import { onTestFinished, vi } from "vitest";
import { peekPolicy } from "../../src/tenants/cache/policy-cache.ts";

/** Until the test ends. Timers run on. */
export function stopClock(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
}

/** Moves the clock past this tenant's lease in this isolate. */
export function endLease(id: string): void {
  vi.setSystemTime(Math.max(Date.now(), peekPolicy(id)?.validUntil ?? 0) + 1);
}
