// What the Worker's log is told of upstreams while a test runs, taken apart.

import { onTestFinished, vi } from "vitest";

/** The lines so far, each with its level; whatever else is logged goes where it always does. */
export function loggedStates(): readonly (Readonly<Record<string, unknown>> & { readonly level: string })[] {
  const lines: (Record<string, unknown> & { level: string })[] = [];
  for (const level of ["info", "warn"] as const) {
    const spy = vi.spyOn(console, level).mockImplementation((line: string) => {
      lines.push({ level, ...(JSON.parse(line) as object) });
    });
    onTestFinished(() => spy.mockRestore());
  }
  return lines;
}
