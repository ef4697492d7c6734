import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { KeyRing } from "../../../src/auth/seal.ts";
import type { ClientGrant } from "../../../src/gateway/guard/access-token.ts";
import { sealStoredSession, sessionObjectName } from "../../../src/gateway/sessions/stored-session.ts";
import { MAX_SESSIONS_PER_OWNER, type SessionClaimResult } from "../../../src/gateway/sessions/upstream-object.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import { servedTenant } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const CALL_MS = 60_000;

async function freshUpstream() {
  const { id, uid: incarnation } = await servedTenant();
  const meant = { id, placement: DEFAULT_PLACEMENT, uid: incarnation };
  const name = sessionObjectName(meant, "up");
  const object = exports.UpstreamObject.getByName(name);
  /** The object's own, as the last `make` was told. */
  const ring: KeyRing[number][] = [];
  const claim = async (key = "k", owner = "ann"): Promise<SessionClaimResult> =>
    object.claim({ key, owner, callMs: CALL_MS, meant, name });
  const make = async (key = "k", owner = "ann"): Promise<string> => {
    const claimed = await claim(key, owner);
    if (claimed.state !== "make") throw new Error(`it is ${claimed.state}`);
    ring.splice(0, ring.length, ...claimed.ring);
    return claimed.tag;
  };
  /** As when nobody used anything for some minutes. */
  const timePasses = () =>
    runInDurableObject(object, (_instance, { storage: { sql } }) => {
      sql.exec("UPDATE sessions SET expires = 0");
    });
  return { object, name, ring, claim, make, timePasses };
}

interface ReceivedRequest {
  readonly method: string;
  readonly session: string | null;
  readonly authorization: string | null;
}

interface Sealing {
  readonly grant?: ClientGrant;
  readonly ring: KeyRing;
  readonly name: string;
  readonly tag: string;
  readonly key?: string;
}

/** A sealed session at a server that answers a DELETE with this status. */
function serverOf(status: number) {
  const requests: ReceivedRequest[] = [];
  const url = upstreamAt(({ method, headers }) => {
    requests.push({ method, session: headers.get("mcp-session-id"), authorization: headers.get("authorization") });
    return new Response(null, { status });
  });
  const sealed = async (id: string, { ring, name, tag, key = "k", grant }: Sealing) => {
    const session = { id, revision: "2025-11-25", hello: {}, capabilities: {} };
    const filled = { headers: { authorization: "Bearer own" }, ...(grant && { grant }) };
    return (await sealStoredSession(ring, name, { key, tag }, { session, upstream: { url }, filled })) ?? "";
  };
  return { requests, sealed };
}

const stored = (object: DurableObjectStub) =>
  runInDurableObject(object, async (_instance, { storage }) => ({
    keys: (await storage.list()).size,
    alarm: await storage.getAlarm(),
    tables: storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'sessions'").toArray().length,
  }));

describe("a session that several isolates want", () => {
  it("is made by the first, waited for by the others, and lent to all", async () => {
    const { object, ring, claim, make } = await freshUpstream();
    const tag = await make();
    expect(await claim()).toEqual({ state: "wait" });
    expect(await object.store({ key: "k", tag }, "sealed", CALL_MS)).toBe(true);
    expect(await claim()).toEqual({ state: "shared", tag, ring, sealed: "sealed", uses: 1 });
    expect(await claim()).toEqual({ state: "shared", tag, ring, sealed: "sealed", uses: 2 });
    expect(await claim("another")).toMatchObject({ state: "make" });
  });

  it("is there after the object was restarted, while it is made and when it is kept", async () => {
    const { object, claim, make } = await freshUpstream();
    const tag = await make();
    await evictDurableObject(object);
    expect(await claim()).toEqual({ state: "wait" });
    expect(await object.store({ key: "k", tag }, "sealed", CALL_MS)).toBe(true);
    await evictDurableObject(object);
    expect(await claim()).toMatchObject({ state: "shared", tag });
  });

  it("is created by another isolate if the first died, whose late session is not used", async () => {
    const { object, claim, make, timePasses } = await freshUpstream();
    const dead = await make();
    await timePasses();
    const tag = await make();
    expect(await object.store({ key: "k", tag: dead }, "late", CALL_MS)).toBe(false);
    expect(await object.store({ key: "k", tag }, "sealed", CALL_MS)).toBe(true);
    expect(await claim()).toMatchObject({ state: "shared", tag, sealed: "sealed" });
  });

  it("is neither awaited nor stored for longer than usual, even if the clock was ahead at its start", async () => {
    const { object, claim, make } = await freshUpstream();
    const aYearAhead = () =>
      runInDurableObject(object, async (_instance, { storage }) => {
        storage.sql.exec("UPDATE sessions SET expires = expires + 31536000000");
        await storage.setAlarm(Date.now() + 31_536_000_000);
      });
    await make();
    await aYearAhead();
    const tag = await make();
    await object.store({ key: "k", tag }, "sealed", CALL_MS);
    await aYearAhead();
    await evictDurableObject(object);
    expect(await claim()).toMatchObject({ state: "shared", tag });
    const { expires, alarm } = await runInDurableObject(object, async (_instance, { storage }) => ({
      ...storage.sql.exec<{ expires: number }>("SELECT expires FROM sessions").one(),
      alarm: await storage.getAlarm(),
    }));
    expect(expires).toBeLessThan(Date.now() + 4_000_000);
    expect(alarm).toBeLessThan(Date.now() + 4_000_000);
  });

  it("is created again once the upstream has forgotten it, and a late isolate does not remove the new one", async () => {
    const { object, claim, make } = await freshUpstream();
    const old = await make();
    await object.store({ key: "k", tag: old }, "old", CALL_MS);
    await object.invalidate({ key: "k", tag: old });
    const tag = await make();
    expect(await claim()).toEqual({ state: "wait" });
    await object.store({ key: "k", tag }, "new", CALL_MS);
    await object.invalidate({ key: "k", tag: old });
    expect(await object.touch({ key: "k", tag: old }, CALL_MS)).toBe(false);
    expect(await object.touch({ key: "k", tag }, CALL_MS)).toBe(true);
    expect(await claim()).toMatchObject({ state: "shared", sealed: "new" });
  });

  it("is one of the call's own where a principal has as many as it may, and not another's", async () => {
    const { object, claim, make } = await freshUpstream();
    await make();
    await runInDurableObject(object, (_instance, { storage: { sql } }) => {
      const row = "INSERT INTO sessions (tag, key, owner, expires) VALUES (?1, ?1, 'mallory', ?2)";
      for (let at = 0; at < MAX_SESSIONS_PER_OWNER; at += 1) sql.exec(row, `m${at}`, Date.now() + 1e6);
    });
    expect(await claim("new", "mallory")).toEqual({ state: "alone" });
    expect(await claim("new", "bob")).toMatchObject({ state: "make" });
  });
});

describe("an unused session", () => {
  it("is ended at the upstream with what it began with, and nothing of it is left", async () => {
    const { object, name, ring, make, timePasses } = await freshUpstream();
    const { requests, sealed } = serverOf(204);
    const tag = await make();
    await object.store({ key: "k", tag }, await sealed("s1", { ring, name, tag }), CALL_MS);
    await runDurableObjectAlarm(object);
    expect(requests).toEqual([]);
    await timePasses();
    await runDurableObjectAlarm(object);
    expect(requests).toEqual([{ method: "DELETE", session: "s1", authorization: "Bearer own" }]);
    expect(await stored(object)).toEqual({ keys: 0, alarm: null, tables: 0 });
  });

  it("is not lent any more, whether or not it was ended yet, and is ended beside the new one", async () => {
    const { object, name, ring, claim, make, timePasses } = await freshUpstream();
    const { requests, sealed } = serverOf(204);
    const old = await make();
    await object.store({ key: "k", tag: old }, await sealed("s1", { ring, name, tag: old }), CALL_MS);
    await timePasses();
    const tag = await make();
    await object.store({ key: "k", tag }, await sealed("s2", { ring, name, tag }), CALL_MS);
    await runDurableObjectAlarm(object);
    expect(requests.map(({ session }) => session)).toEqual(["s1"]);
    expect(await claim()).toMatchObject({ state: "shared", tag });
  });

  it.each([
    [404, 1],
    [405, 1],
    [401, 1],
    [503, 3],
  ])("is over where the upstream answers its end with %i, after %i requests", async (status, requests) => {
    const { object, name, ring, make, timePasses } = await freshUpstream();
    const { requests: received, sealed } = serverOf(status);
    const tag = await make();
    await object.store({ key: "k", tag }, await sealed("s1", { ring, name, tag }), CALL_MS);
    for (let round = 0; round < 5; round += 1) {
      if ((await stored(object)).tables === 0) break;
      await timePasses();
      await runDurableObjectAlarm(object);
    }
    expect(received).toHaveLength(requests);
    expect(await stored(object)).toEqual({ keys: 0, alarm: null, tables: 0 });
  });

  it("is ended with all others, however many there are", async () => {
    const { object, name, ring, make, timePasses } = await freshUpstream();
    const { requests, sealed } = serverOf(204);
    const all = Array.from({ length: 45 }, (_, at) => `s${at}`);
    for (const key of all) {
      const tag = await make(key);
      await object.store({ key, tag }, await sealed(key, { ring, name, tag, key }), CALL_MS);
    }
    await timePasses();
    while ((await stored(object)).tables > 0) await runDurableObjectAlarm(object);
    expect(requests.map(({ session }) => session ?? "").toSorted()).toEqual(all.toSorted());
  });

  it.each([
    [204, 1],
    [401, 3],
  ])(
    "is ended with its last token where the client has another secret by now; %i is the end after %i",
    async (status, requests) => {
      const { object, name, ring, make, timePasses } = await freshUpstream();
      const { requests: received, sealed } = serverOf(status);
      const tokenUrl = upstreamAt(() => Response.json({ error: "invalid_client" }, { status: 401 }));
      const grant = {
        tenant: name,
        tokenUrl,
        clientId: "c",
        clientSecret: "old",
        method: "client_secret_post",
      } as const;
      const tag = await make();
      await object.store({ key: "k", tag }, await sealed("s1", { ring, name, tag, grant }), CALL_MS);
      for (let round = 0; round < 5; round += 1) {
        if ((await stored(object)).tables === 0) break;
        await timePasses();
        await runDurableObjectAlarm(object);
      }
      const once = { method: "DELETE", session: "s1", authorization: "Bearer own" };
      expect(received).toEqual(Array.from({ length: requests }, () => once));
      expect(await stored(object)).toEqual({ keys: 0, alarm: null, tables: 0 });
    },
  );

  it("of an isolate that died before it had one leaves nothing", async () => {
    const { object, make, timePasses } = await freshUpstream();
    await make();
    expect((await stored(object)).alarm).toBeLessThanOrEqual(Date.now() + 30_000);
    await timePasses();
    await runDurableObjectAlarm(object);
    expect(await stored(object)).toEqual({ keys: 0, alarm: null, tables: 0 });
  });

  it("is dropped silently if it was sealed under another name", async () => {
    const { object, ring, make, timePasses } = await freshUpstream();
    const { requests, sealed } = serverOf(204);
    const tag = await make();
    await object.store({ key: "k", tag }, await sealed("s1", { ring, name: "another/up", tag }), CALL_MS);
    await timePasses();
    await runDurableObjectAlarm(object);
    expect(requests).toEqual([]);
    expect(await stored(object)).toEqual({ keys: 0, alarm: null, tables: 0 });
  });
});
