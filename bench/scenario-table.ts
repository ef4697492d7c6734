// What is measured of our Worker, each with its budget: the ratio to the bare Hono Worker.
import { loadWithJwt, loadWithLogin } from "./login.ts";
import {
  bareLoad,
  callAs,
  callTo,
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
import type { Exchange, Load } from "./measure.ts";

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

async function loadWithKey(send: Send): Promise<Load> {
  await makeTenant(send, "guarded", { mode: "key" });
  const { token } = await create(send, "/tenants/guarded/keys", { name: "bench", scopes: ["sums"] });
  return callAs("/mcp/guarded", token);
}

/** So many tenants, each of which is called again when its lease, of the shortest there is, has ended. */
const ENDED = 600;
const AT_ONCE = 20;
const CALLED_BEFORE = 2;

async function calledOnce(send: Send, { fault, ...wanted }: Exchange): Promise<void> {
  const wrong = fault(await send(wanted));
  if (wrong !== undefined) throw new Error(wrong);
}

async function loadEnded(send: Send): Promise<Load> {
  for (let from = 0; from < ENDED; from += AT_ONCE) {
    const made = Array.from({ length: AT_ONCE }, (_, at) =>
      makeTenant(send, `ended-${from + at}`, { mode: "open", maxStalenessMs: 50 }),
    );
    await Promise.all(made);
  }
  const load: Load = (n) => callTo(n, `ended-${n % ENDED}`);
  // A tenant's first call makes what later ones find, and costs many times as much.
  for (let n = 0; n < CALLED_BEFORE * ENDED; n += 1) await calledOnce(send, load(n));
  return load;
}
