// Stored calls whose run meets an authority that is away for a moment: nothing of them is lost, and nothing is done twice.

import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, defineTool, type AppUser, type Feature, type SourceTool } from "../../src/tenantry.ts";
import { ANY_UID } from "../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../src/tenants/directory/placement.ts";
import { tenantStubOf } from "../../src/tenants/directory/tenant-stubs.ts";
import { evictPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { authorityAway, readerOf, sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";
import { freshSession, later, newCall, recordOf, rowsIn } from "../support/workerd/session.ts";

it("a run during an outage of the tenant's object starts again, and brings the result", async () => {
  const tenant = await servedTenant();
  const session = freshSession();
  const call = { id: 1, method: "tools/call", params: { name: "lab_list", arguments: { prefix: "none://" } } };
  const away = await authorityAway(tenant);
  const record = recordOf({ tenant: tenant.id, created: tenant.created, call: { ...call, params: call.params } });
  await session.start(newCall("aaaaaaaaaaaaaaaa", { record }), later());
  await expect.poll(away.requestCount, { timeout: 10_000 }).toBeGreaterThan(3);
  away.back();
  await expect
    .poll(
      async () => {
        await runDurableObjectAlarm(session);
        return (await rowsIn(session, "SELECT part FROM events WHERE seq > 0"))
          .map(({ part }) => String(part))
          .join("");
      },
      { timeout: 10_000 },
    )
    .toContain('"result"');
}, 120_000);

describe("a stored call of an app's user, without the app's authentication", () => {
  const call = { id: 1, method: "tools/call", params: { name: "lab_list", arguments: { prefix: "none://" } } };
  const answerTo = async (record: object): Promise<string> => {
    const session = freshSession();
    const stored = { ...(JSON.parse(recordOf()) as object), call, principal: "app 7", ...record };
    await session.start(newCall("aaaaaaaaaaaaaaaa", { record: JSON.stringify(stored) }), later());
    const rows = async () => {
      await runDurableObjectAlarm(session);
      return (await rowsIn(session, "SELECT part FROM events WHERE seq > 0")).map(({ part }) => String(part)).join("");
    };
    await expect.poll(rows, { timeout: 10_000 }).toContain('"jsonrpc"');
    return rows();
  };

  it("runs as the user whom the app authenticated at the call", async () => {
    const { id, created } = await servedTenant({ mode: "key" });
    expect(await answerTo({ tenant: id, created, user: { tenant: id, id: "7" } })).toContain('"result"');
  });

  it.each<[string, AppUser]>([
    ["whose word has ended", { id: "7", expires: 1 }],
    ["of no tenant", { id: "7" }],
    ["of another tenant", { id: "7", tenant: "another" }],
  ])("is refused for one %s", async (_what, user) => {
    const { id, created } = await servedTenant({ mode: "key" });
    expect(await answerTo({ tenant: id, created, user: { ...(user.expires && { tenant: id }), ...user } })).toContain(
      "Invalid credential",
    );
  });

  it("is refused where no app says who calls any more", async () => {
    const { id } = await servedTenant();
    const mount = "/plain";
    createWorker({ path: mount, tenants: {} });
    expect(await answerTo({ tenant: id, mount, user: { tenant: id, id: "7" } })).toContain("Invalid credential");
  });

  it("is refused while they are suspended", async () => {
    const { id, created, stub } = await servedTenant();
    await createRpcClient(stub, policyStore).suspend(
      { kind: "principal", name: "app 7", note: "Unpaid" },
      { name: "ann", isTenantAdmin: false },
    );
    expect(await answerTo({ tenant: id, created, user: { tenant: id, id: "7" } })).toContain("Suspended: Unpaid");
    expect(await answerTo({ tenant: id, created, user: { tenant: id, id: "8" }, principal: "app 8" })).toContain(
      '"result"',
    );
  });

  it("is not that of the tenant which has the name now", async () => {
    const { id } = await servedTenant();
    const user = { tenant: id, id: "7" };
    expect(await answerTo({ tenant: id, created: "2020-01-01T00:00:00.000Z", user })).not.toContain('"result"');
  });
});

describe("a stored call of a tenant while the author's function fails", () => {
  const MOUNT = "/told";
  const state = { requestCount: 0, isBroken: false, ran: 0, isGone: false };
  createWorker({
    path: MOUNT,
    tenants: () => {
      state.requestCount += 1;
      if (state.isBroken) throw new Error("no database");
      return state.isGone ? undefined : {};
    },
    tools: [
      defineTool({
        name: "once",
        description: "Counts.",
        handler: () => {
          state.ran += 1;
          return "ran";
        },
      }),
    ],
    hooks: { onError: () => {} },
  });
  const call = { id: 1, method: "tools/call", params: { name: "once", arguments: {} } };
  let names = 0;
  const begin = async (repeatable: boolean) => {
    Object.assign(state, { requestCount: 0, isBroken: true, ran: 0, isGone: false });
    names += 1;
    const tenant = `told-${names}`;
    const created = await createRpcClient(
      tenantStubOf(env, { id: tenant, uid: ANY_UID, placement: DEFAULT_PLACEMENT }),
      policyStore,
    ).tenantUid(true);
    const about = { mount: MOUNT, tenant, created, call };
    const record = JSON.stringify({ ...(JSON.parse(recordOf()) as object), ...about });
    const fallback = JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32603, message: "the run was lost" } });
    const session = freshSession();
    await session.start(newCall("aaaaaaaaaaaaaaaa", { record, repeatable, fallback }), later());
    return async () => {
      await runDurableObjectAlarm(session);
      return (await rowsIn(session, "SELECT part FROM events WHERE seq > 0")).map(({ part }) => String(part)).join("");
    };
  };

  it.each([true, false])(
    "runs once the function works again, whether or not the call may be repeated: %s",
    async (may) => {
      const said = await begin(may);
      await expect.poll(() => state.requestCount, { timeout: 10_000 }).toBeGreaterThan(3);
      state.isBroken = false;
      await expect.poll(said, { timeout: 10_000 }).toContain("ran");
      expect(state.ran).toBe(1);
    },
  );

  it("reports the failing function if that lasts, and not a lost call", async () => {
    const said = await begin(false);
    await expect.poll(said, { timeout: 20_000 }).toContain('"jsonrpc"');
    expect(await said()).toContain("this tenant cannot be served now");
    expect(await said()).not.toContain("lost");
    expect(state.ran).toBe(0);
  }, 120_000);

  it("ends with a refusal where there is no such tenant any more", async () => {
    const said = await begin(true);
    Object.assign(state, { isBroken: false, isGone: true });
    await expect.poll(said, { timeout: 10_000 }).toContain('"error"');
    expect(await said()).toContain("Not found");
    expect(state.ran).toBe(0);
  });
});

/** Pays once, after it asked. Its calls may not run twice. */
function payFeature() {
  let runs = 0;
  const pay: SourceTool = {
    name: "pay",
    wire: { name: "pay", inputSchema: { type: "object" } },
    paramHeaders: [],
    repeatable: false,
    call: async (_args, call) => {
      runs += 1;
      const params = { message: "Pay?", requestedSchema: { type: "object", properties: {} } };
      const said = await call.clientRequester?.request(
        [{ name: "q", digest: "d", method: "elicitation/create", params }],
        {},
      );
      return { kind: "complete", result: { content: [{ type: "text", text: said === undefined ? "left" : "paid" }] } };
    },
  };
  const nothing = { prompts: [], resources: [], templates: [] };
  const feature: Feature = {
    name: "pay",
    sources: () => [{ id: "pay", state: { kind: "fresh" }, tools: [pay], ...nothing }],
  };
  return { feature, runs: () => runs };
}

it.each([
  ["there", 0],
  ["away for a moment", 2],
])(
  "an answer reaches the one run of a call that may not run twice, with the authority %s",
  async (_where, failures) => {
    const tenant = await servedTenant();
    const { feature, runs } = payFeature();
    const worker = createWorker({ tenants: {}, features: [feature], hooks: { onError: () => {} } });
    const known = new Set((await listDurableObjectIds(env.SESSIONS_TO_LIST)).map(String));
    const headers = await sessionAt(worker, tenant.id, { elicitation: {} });
    const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "pay", arguments: {} } };
    const stream = readerOf(await sendTo(worker, tenant.id, { message, headers }));
    const asked = /q-[0-9a-f]{16}-1\.1/.exec(await stream.until("1.1"))?.[0] ?? "";
    const [id] = (await listDurableObjectIds(env.SESSIONS_TO_LIST)).filter((one) => !known.has(String(one)));
    // A person takes longer to answer than a lease lasts.
    evictPolicy(tenant.id);
    const away = failures > 0 ? await authorityAway(tenant) : undefined;
    const object = exports.SessionObject.get(id as DurableObjectId);
    await object.answer(asked, JSON.stringify({ result: { action: "accept", content: {} } }));
    if (away) await expect.poll(away.requestCount, { timeout: 10_000 }).toBeGreaterThanOrEqual(failures);
    away?.back();
    expect(await stream.until('"id":7')).toContain("paid");
    expect(runs()).toBe(1);
    await stream.cancel();
  },
  120_000,
);

it("a stored call gets its event id even if its log cannot be shown yet", async () => {
  const tenant = await servedTenant();
  const slow = defineTool({ name: "slow", description: "Takes its time.", resumable: true, handler: () => "done" });
  const worker = createWorker({ tenants: {}, tools: [slow], hooks: { onError: () => {} } });
  const headers = await sessionAt(worker, tenant.id);
  const known = new Set((await listDurableObjectIds(env.SESSIONS_TO_LIST)).map(String));
  const message = { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "slow", arguments: {} } };
  const reset = () => Promise.reject(new Error("Durable Object reset because its code was updated."));
  /** The session's object with every socket to it failing. */
  const socketless = (name: string) =>
    new Proxy(exports.SessionObject.getByName(name), {
      get: (target, member) => (member === "fetch" ? reset : (Reflect.get(target, member) as unknown)),
    });
  const at = { ...env, SessionObject: { getByName: socketless } as unknown as typeof exports.SessionObject };
  const text = await (await sendTo(worker, tenant.id, { message, headers, at })).text();
  expect(text).toMatch(/^id: [0-9a-f]{16}-0$/m);
  const [id] = (await listDurableObjectIds(env.SESSIONS_TO_LIST)).filter((one) => !known.has(String(one)));
  const rows = await runInDurableObject(
    exports.SessionObject.get(id as DurableObjectId),
    (_instance: unknown, { storage }) => storage.sql.exec("SELECT count(*) AS calls FROM calls").toArray(),
  );
  expect(rows).toEqual([{ calls: 1 }]);
});
