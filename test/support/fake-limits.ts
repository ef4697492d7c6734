// The limits of a tenant of the admin API's double: one of a minute, one of a day, and what its document says.

import type { Infer, LimitsShape } from "../../src/admin/contract.ts";
import type { Limits } from "../../src/tenants/document/tenant-document.ts";

const MET = "2026-11-21T10:00:00.000Z";

export function shownLimits(own: Limits = {}): Infer<typeof LimitsShape> {
  const about = { unit: "a minute", about: "calls", raisedBy: "tenant", used: 3, met: MET } as const;
  const { exact = false, ...numbers } = own;
  const items = Object.entries({ toolCalls: 1200, ...numbers }).map(([name, value]) => {
    return { ...about, name, value, setBy: name in own ? ("tenant" as const) : ("default" as const) };
  });
  return { exact, items: [...items, { ...about, name: "dailyToolCalls", value: null, setBy: "default" }] };
}

/** undefined: without it. */
export function withLimit(own: Limits = {}, name: string, value: number | undefined): Limits {
  const left = Object.entries(own).filter(([one]) => one !== name);
  return Object.fromEntries(value === undefined ? left : [...left, [name, value]]) as Limits;
}
