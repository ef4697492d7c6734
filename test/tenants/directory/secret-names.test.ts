// Whether a private tenant has a name is not to be seen from what is asked for it: whoever is refused, with whatever and whenever,
// makes as many calls at a name that is a tenant's as at one of nobody.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import { createWorker, type Env } from "../../../src/tenantry.ts";
import { findPlacement } from "../../../src/tenants/directory/directory.ts";
import { dropSnapshot } from "../../../src/tenants/isolate/snapshot.ts";
import { adminEnv, ask, ORIGIN } from "../../support/worker/admin.ts";

const HOUR_MS = 3_600_000;
const hooks = { onError: () => {} };
const named = (what: string) => Array.from({ length: 8 }, (_, at) => `${what}-${at}`);
const WORKERS = {
  made: createWorker({ hooks }),
  declared: createWorker({
    hooks,
    tenants: Object.fromEntries(named("declared").map((id) => [id, { mode: "key" as const }])),
  }),
};

let calls = 0;

function counting(objects: object): unknown {
  return new Proxy(objects, {
    get: (target, member) => {
      if (member === "getByName") calls += 1;
      return (Reflect.get(target, member, target) as () => unknown).bind(target);
    },
  });
}

const counted = {
  ...adminEnv,
  SESSIONS: env.SESSIONS,
  HUBS: env.HUBS,
  TENANTS: counting(env.TENANTS),
  DIRECTORY: counting(env.DIRECTORY),
} as unknown as Env;

interface Visitor {
  readonly kind: keyof typeof WORKERS;
  readonly id: string;
  readonly address: string;
}

/** With how many calls to objects it was answered. */
async function come({ kind, id, address }: Visitor, token?: string) {
  calls = 0;
  const headers = {
    "content-type": "application/json",
    "cf-connecting-ip": address,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const ctx = createExecutionContext();
  const request = new Request(`${ORIGIN}/mcp/${id}`, { method: "POST", headers, body });
  const { status } = await WORKERS[kind].fetch(request, counted, ctx);
  await waitOnExecutionContext(ctx);
  return { status, calls };
}

const [{ token: one }, { token: other }] = await Promise.all([createKey(), createKey()]);
const TOKENS = { none: undefined, one, other, stranger: "nothing" };

beforeAll(async () => {
  for (const id of named("made")) {
    expect((await ask("POST", "/tenants", { json: { id, document: { mode: "key" } } })).status).toBe(201);
    await vi.waitUntil(async () => (await findPlacement(env, id)) !== null, { timeout: 15_000 });
    dropSnapshot(id);
  }
  // The first lease of one in code is asked for twice.
  for (const id of named("declared")) {
    await come({ kind: "declared", id, address: `198.51.100.${id}` });
    dropSnapshot(id);
  }
});

let place = -1;
beforeEach(() => {
  place += 1;
  const now = (Math.ceil(Date.now() / HOUR_MS) + 24 * (place + 1)) * HOUR_MS;
  vi.useFakeTimers({ toFake: ["Date"], now });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Who comes, and how many milliseconds after the one before; `spend`: so often that the address is refused from then on. */
type Step = readonly [keyof typeof TOKENS | "spend", number];

async function answersTo(visitor: Visitor, steps: readonly Step[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const [who, after] of steps) {
    vi.setSystemTime(Date.now() + after);
    if (who !== "spend") answers.push(await come(visitor, TOKENS[who]));
    else for (let times = 0; times < 100; times += 1) await come({ ...visitor, id: `spent-${place}` });
  }
  return answers;
}

const CASES: Readonly<Record<string, readonly Step[]>> = {
  "at once": [
    ["none", 0],
    ["one", 0],
    ["one", 0],
    ["other", 0],
    ["stranger", 0],
    ["other", 0],
  ],
  "lease by lease": [
    ["none", 0],
    ["none", 5100],
    ["one", 0],
    ["none", 5100],
    ["one", 0],
  ],
  "with a key in the middle of a lease": [
    ["none", 0],
    ["one", 4000],
    ["none", 2000],
    ["none", 2000],
    ["none", 2000],
  ],
  "with two keys, and again an hour later": [
    ["one", 0],
    ["other", 100],
    ["one", HOUR_MS],
    ["other", 100],
  ],
  "with two keys while another hour begins": [
    ["one", HOUR_MS - 2000],
    ["other", 100],
    ["one", 2000],
    ["other", 100],
    ["one", 3000],
    ["other", 100],
  ],
  "with two keys under the next lease": [
    ["one", 0],
    ["other", 100],
    ["one", 6000],
    ["other", 100],
    ["other", 6000],
  ],
  "from an address that is refused": [
    ["none", 0],
    ["spend", 6000],
    ["none", 0],
    ["stranger", 0],
    ["one", 0],
  ],
};

describe.each(["made", "declared"] as const)(
  "a name of nobody costs as many calls as one of a private tenant, %s",
  (kind) => {
    beforeAll(() => {
      place = -1;
    });

    it.each(Object.entries(CASES))("%s", async (_what, steps) => {
      const began = Date.now();
      const secret = await answersTo({ kind, id: `${kind}-${place}`, address: `203.0.113.${place}` }, steps);
      vi.setSystemTime(began);
      expect(await answersTo({ kind, id: `nobody-${kind}-${place}`, address: `192.0.2.${place}` }, steps)).toEqual(
        secret,
      );
    });
  },
);
