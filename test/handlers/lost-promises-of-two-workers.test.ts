// In an isolate of two Workers, only the first Worker's hook saw promises that were rejected outside of calls.

import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

test("a promise that is rejected outside of calls reaches the hook of each Worker of the isolate, once", async () => {
  const listeners: ((event: { reason: unknown }) => void)[] = [];
  vi.stubGlobal("addEventListener", (_type: string, listener: (event: { reason: unknown }) => void) => {
    listeners.push(listener);
  });
  vi.resetModules();
  const { reportUnhandledRejections: hearLostPromises } = await import("../../src/handlers/unhandled-rejections.ts");
  const notifications: string[] = [];
  hearLostPromises((error) => void notifications.push(`one: ${(error as Error).message}`));
  hearLostPromises((error) => void notifications.push(`two: ${(error as Error).message}`));
  for (const listener of listeners) listener({ reason: new Error("gone") });
  const said = "a promise was rejected and not awaited: Error: gone";
  expect(notifications).toEqual([`one: ${said}`, `two: ${said}`]);
});
