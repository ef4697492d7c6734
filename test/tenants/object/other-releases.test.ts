// The Worker, its objects and what clients hold may be of two releases. What the other release sends is understood, or
// refused so that a retry succeeds.

import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { openReplayState } from "../../../src/handlers/request-state.ts";
import { seal } from "../../../src/auth/seal.ts";
import { parseEventId } from "../../../src/endpoint/event-ids.ts";
import { parseSessionId } from "../../../src/sessions/session-id.ts";
import { ANY_UID } from "../../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { migrate, createRpcClient, type Store } from "../../../src/tenants/object/store.ts";
import { isTransientError } from "../../../src/tenants/cache/retry-if-idempotent.ts";
import { callOf } from "../../support/workerd/calls.ts";
import { freshTenant, inside, NO_UID } from "../../support/workerd/tenant.ts";
import { callOn } from "../../support/workerd/object-calls.ts";

const ASK = { version: null, maxStalenessMs: 5000, inCode: false, keyHash: null };
const BIRTH = { created: NO_UID, own: {}, effective: {}, actor: { name: "ann" }, action: "create" };
const ring = [{ id: "one", secret: crypto.getRandomValues(new Uint8Array(32)) }];

async function refusalOf(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}

describe("an object that a Worker of a later release calls", () => {
  it("refuses for a while a method that its code does not have", async () => {
    const tenant = freshTenant();
    await createRpcClient(tenant.stub, policyStore).create(BIRTH);
    expect(isTransientError(await refusalOf(() => callOn(tenant.object, "policy.leaseBySeason", ANY_UID, ASK)))).toBe(
      true,
    );
    const hub = exports.HubObject.getByName("releases") as unknown as { sing(): Promise<void> };
    expect(isTransientError(await refusalOf(() => hub.sing()))).toBe(true);
  });

  it("ignores unknown members of a request", async () => {
    const tenant = freshTenant();
    const policy = createRpcClient(tenant.stub, policyStore);
    await policy.create({ ...BIRTH, planted: "by a later release" } as typeof BIRTH);
    expect(await policy.lease({ ...ASK, planted: 1 } as typeof ASK)).toMatchObject({ state: "granted" });
  });

  it("does not take a mistake of the code for that", async () => {
    const tenant = freshTenant();
    expect(isTransientError(await refusalOf(() => callOn(tenant.object, "policy.create", ANY_UID)))).toBe(false);
  });
});

describe("tables that a later release made", () => {
  const STEPS = ["CREATE TABLE steps (name TEXT)", "ALTER TABLE steps ADD COLUMN said TEXT"];
  const domain = (about: Partial<Store>) => ({ name: "steps", migrations: STEPS, ...about });
  const earlier = domain({ migrations: STEPS.slice(0, 1) });

  it("are used if their additions can be ignored, and the log says so", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    await inside(freshTenant(), ({ storage: { sql } }) => {
      migrate(sql, [domain({})]);
      migrate(sql, [earlier]);
      sql.exec("INSERT INTO steps (name) VALUES ('one')");
    });
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("steps: migration 2"));
    warned.mockRestore();
  });

  it("are not touched by code that is older than their oldest reader", async () => {
    await inside(freshTenant(), ({ storage: { sql } }) => {
      migrate(sql, [domain({ oldestReader: 2 })]);
      expect(() => {
        migrate(sql, [earlier]);
      }).toThrow("of another release");
      migrate(sql, [domain({ oldestReader: 2 })]);
    });
  });

  it("refuse calls for a while, and the alarm that waits for the later release stays", async () => {
    const tenant = freshTenant();
    await createRpcClient(tenant.stub, policyStore).create(BIRTH);
    await inside(tenant, async ({ storage }) => {
      storage.sql.exec("UPDATE schema SET version = 1000, oldest = 1000 WHERE name = 'policy'");
      await storage.setAlarm(Date.now() + 3_600_000);
    });
    await evictDurableObject(tenant.object);
    expect(isTransientError(await refusalOf(() => createRpcClient(tenant.stub, policyStore).lease(ASK)))).toBe(true);
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
    expect(logged).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("alarm tables"), expect.any(Error));
    logged.mockRestore();
    expect(await inside(tenant, ({ storage }) => storage.getAlarm())).toBeGreaterThan(Date.now());
  });
});

describe("an id of a later release", () => {
  it("a session id in another form is refused, so the client starts another", async () => {
    const owner = { tenant: "acme", profile: null, principal: "anonymous", ring };
    const id = await seal(ring, "session acme", JSON.stringify([1000, { all: "different" }]));
    expect(await parseSessionId(owner, id)).toBeUndefined();
  });

  it("a call in another form is to be sent again", async () => {
    const state = await seal(ring, "requestState", JSON.stringify({ format: 2, progress: {} }));
    const call = callOf({ params: { name: "add", arguments: {}, requestState: state } });
    expect(await openReplayState({ tenant: "acme", profile: null, principal: "anonymous", ring }, call)).toMatchObject({
      error: "invalidParams",
      message: expect.stringContaining("from another release; send the request again"),
    });
  });

  it("a stream goes on as one that may have missed everything", async () => {
    const id = await seal(ring, "event", "1.2.t.p.r.more");
    expect(await parseEventId(ring, `n.${id}`)).toMatchObject({ versions: { definitions: -1, content: -1 } });
  });
});
