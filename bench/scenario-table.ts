// What is measured of our Worker, each with its budget: the ratio to the bare Hono Worker.
import { loadEnded } from "./asking.ts";
import { loadWithJwt, loadWithLogin } from "./login.ts";
import {
  bareLoad,
  callAs,
  create,
  list2026,
  load2026,
  loadInSession,
  makeTenant,
  read2026,
  TOOL_COUNT,
  type Scenario,
  type Send,
} from "./scenarios.ts";
import type { Load } from "./measure.ts";

export const SCENARIOS: Scenario[] = [
  { name: "2026 call", budget: 1.5, prepare: async () => load2026 },
  { name: "2026 call with key, scope and limits", budget: 1.8, prepare: loadWithKey },
  { name: "2026 call with a JWT, scope and limits", budget: 1.8, prepare: loadWithJwt },
  { name: "2026 call with a token of ours, scope and limits", budget: 1.8, prepare: loadWithLogin },
  { name: "2026 call, lease ended", budget: 3.2, prepare: loadEnded },
  { name: "2026 list", prepare: async () => list2026(TOOL_COUNT) },
  { name: "bare call", prepare: async () => bareLoad },
  { name: "2025 call in a session", budget: 1.7, prepare: async (send) => loadInSession(send, "2025-11-25") },
  { name: "resource read", prepare: async () => read2026 },
];

/**
 * `quick` runs wherever it must. What a platform's call of an object costs next to a bare Hono Worker differs from machine to machine,
 * so an ended lease is judged there next to asking an object alone.
 */
export function scenariosOf(quick: boolean): Scenario[] {
  if (!quick) return SCENARIOS;
  return SCENARIOS.map(({ budget, ...one }) =>
    budget === undefined || one.prepare === loadEnded ? one : { ...one, budget },
  );
}

async function loadWithKey(send: Send): Promise<Load> {
  await makeTenant(send, "guarded", { mode: "key" });
  const { token } = await create(send, "/tenants/guarded/keys", { name: "bench", scopes: ["sums"] });
  return callAs("/mcp/guarded", token);
}
