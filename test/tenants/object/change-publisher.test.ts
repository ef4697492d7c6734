import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChangeMethods } from "../../../src/tenants/object/change-rpc.ts";
import { createChangeDomain } from "../../../src/tenants/object/change-store.ts";
import { hubName, type ChangeEvent, type ChangeLog } from "../../../src/tenants/object/changes.ts";
import { changeEvent, listenAt, waysToHubs, type Ways } from "../../support/workerd/hubs.ts";
import { freshTenant, withStore, type OpenedStore, type FreshTenant } from "../../support/workerd/tenant.ts";

interface Announcing extends OpenedStore<ChangeMethods> {
  readonly tenant: FreshTenant;
  readonly log: ChangeLog;
  readonly ways: Ways;
  readonly ring: () => Promise<number | undefined>;
}

function announcing(
  work: (store: Announcing) => Promise<void>,
  { shards = 1, tenant = freshTenant() }: { readonly shards?: number; readonly tenant?: FreshTenant } = {},
): Promise<void> {
  const ways = waysToHubs(shards);
  const { store: tables, log } = createChangeDomain("definitions");
  return withStore(
    tables,
    (store) => work({ ...store, tenant, log, ways, ring: async () => store.open.alarm?.(store.clock.now) }),
    { tenant, env: ways.env },
  );
}

const event = (about: Partial<ChangeEvent>) => changeEvent({ log: "definitions", ...about });

const RETRY_MS = 1000;
describe("without listeners", () => {
  it("sends nothing, and records changes for the next listener", async () => {
    await announcing(async ({ methods, log, ways, alarms: wakes }) => {
      log.updated("note:a", true);
      log.announced(["tools"]);
      log.policy(2, 0, { principal: "ann" });
      await methods.flush();
      expect([ways.sent, wakes]).toEqual([[], []]);
      expect(methods.listen(0)).toMatchObject({ version: 4, updated: ["note:a"], announced: ["tools"], policy: true });
    });
  });

  it("records a scheduled change at its time, and still sends nothing", async () => {
    await announcing(async ({ methods, log, ways, clock, ring }) => {
      log.policy(2, clock.now + 500);
      clock.now += 500;
      expect(await ring()).toBeUndefined();
      expect(ways.sent).toEqual([]);
      expect(methods.listen(0)).toMatchObject({ version: 1, policy: true, due: false });
    });
  });

  it("stops sending when a hub reports no listener, and starts again with the next one", async () => {
    await announcing(async ({ methods, log, ways, tenant }) => {
      methods.listen(null);
      log.updated("note:a", false);
      await methods.flush();
      log.updated("note:b", false);
      await methods.flush();
      expect(ways.sent).toHaveLength(1);
      const listener = await listenAt(tenant.id);
      expect(methods.listen(1)).toMatchObject({ version: 2, updated: ["note:b"] });
      log.updated("note:c", false);
      expect(await listener.next()).toEqual(event({ version: 3, after: 2, updated: ["note:c"] }));
    });
  });

  it("forgets closes that wait, so that none reaches a later listener", async () => {
    await announcing(async ({ methods, log, ways, clock, tenant }) => {
      methods.listen(null);
      const release = ways.hold();
      log.policy(2, clock.now + 500, { principal: "key a" });
      log.policy(3, clock.now + 500, {});
      const sending = methods.flush();
      release();
      await sending;
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      log.updated("note:b", false);
      expect(await listener.next()).toMatchObject({ updated: ["note:b"], close: null });
    });
  });

  it("keeps a listener who came while the hub reported none", async () => {
    await announcing(async ({ methods, log, ways, tenant }) => {
      methods.listen(null);
      const release = ways.hold();
      log.updated("note:a", false);
      const sending = methods.flush();
      methods.listen(null);
      release();
      await sending;
      const listener = await listenAt(tenant.id);
      log.updated("note:b", false);
      expect(await listener.next()).toMatchObject({ updated: ["note:b"] });
    });
  });
});

describe("a change", () => {
  it("is sent after its commit, and says which version it follows", async () => {
    await announcing(async ({ methods, log, tenant }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      log.updated("note:a", true);
      expect(await listener.next()).toEqual(event({ version: 2, after: 0, updated: ["note:a"], listed: ["note:a"] }));
      log.announced(["tools", "prompts"]);
      expect(await listener.next()).toEqual(event({ version: 4, after: 2, announced: ["tools", "prompts"] }));
    });
  });

  it("is not sent when its work is rolled back, nor does it take a version", async () => {
    await announcing(async ({ methods, ways, sql, tenant }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      sql.exec(
        "CREATE TRIGGER broken BEFORE INSERT ON changes WHEN NEW.name = 'note:broken' BEGIN SELECT RAISE(ABORT, 'no'); END",
      );
      expect(() => {
        methods.announce([], ["note:a", "note:broken"]);
      }).toThrow("no");
      await methods.flush();
      expect(ways.sent).toEqual([]);
      methods.announce(["tools"], []);
      expect(await listener.next()).toEqual(event({ version: 1, announced: ["tools"] }));
    });
  });

  it("waits for the one before it: a burst becomes one event, in which the last is not missing", async () => {
    await announcing(async ({ methods, log, ways, tenant }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      const release = ways.hold();
      log.updated("note:first", false);
      const sending = methods.flush();
      for (const name of ["b", "a", "b", "c"]) log.updated(`note:${name}`, false);
      release();
      await sending;
      expect(await listener.next()).toEqual(event({ version: 1, updated: ["note:first"] }));
      expect(await listener.next()).toEqual(event({ version: 5, after: 1, updated: ["note:a", "note:b", "note:c"] }));
      expect(ways.sent).toHaveLength(2);
    });
  });

  it("is at the hub when `flush` settles, also one that came while another was on its way", async () => {
    await announcing(async ({ methods, log, ways, tenant }) => {
      await listenAt(tenant.id);
      methods.listen(null);
      for (const name of ["a", "b", "c"]) {
        log.updated(`note:${name}`, false);
        const flushed = methods.flush();
        log.updated(`note:${name}2`, false);
        await flushed;
        expect(ways.sent.at(-1)?.event.updated).toContain(`note:${name}2`);
      }
    });
  });
});

describe("a sending that failed", () => {
  it("is tried again by the alarm until it arrives, with what changed since", async () => {
    await announcing(async ({ methods, log, ways, tenant, clock, alarms: wakes, ring }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      ways.cut.add(tenant.id);
      log.updated("note:a", false);
      await methods.flush();
      expect(new Set(wakes)).toEqual(new Set([clock.now + RETRY_MS]));
      clock.now += RETRY_MS;
      expect(await ring()).toBe(clock.now + RETRY_MS);
      log.updated("note:b", false);
      await methods.flush();
      ways.cut.clear();
      clock.now += RETRY_MS;
      expect(await ring()).toBeUndefined();
      expect(await listener.next()).toEqual(event({ version: 2, updated: ["note:a", "note:b"] }));
    });
  });

  it("is tried again where a hub never answers", async () => {
    const setTimer = setTimeout;
    vi.stubGlobal("setTimeout", (run: () => void, ms = 0) => setTimer(run, ms >= 1000 ? ms / 100 : ms));
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
    await announcing(async ({ methods, log, ways, tenant, ring }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      ways.hold();
      log.updated("note:a", false);
      await methods.flush();
      ways.hold()();
      expect(await ring()).toBeUndefined();
      expect(await listener.next()).toEqual(event({ version: 1, updated: ["note:a"] }));
    });
  });

  it("to one of several hubs is repeated to all, and every hub gets everything", async () => {
    const shards = 3;
    await announcing(
      async ({ methods, log, ways, tenant, ring }) => {
        const listeners = await Promise.all([0, 1, 2].map((shard) => listenAt(tenant.id, {}, shard)));
        methods.listen(null);
        ways.cut.add(hubName(tenant.id, 1));
        log.updated("note:a", false);
        await methods.flush();
        log.updated("note:b", false);
        await methods.flush();
        ways.cut.clear();
        await ring();
        for (const listener of listeners) {
          const heard = await listener.until((message) => "updated" in message && message.updated.includes("note:b"));
          expect(heard.at(-1)).toEqual(event({ version: 2, updated: ["note:a", "note:b"] }));
        }
      },
      { shards },
    );
  });

  it("goes to a hub with streams, though another one has none", async () => {
    await announcing(
      async ({ methods, log, tenant }) => {
        const listener = await listenAt(tenant.id, {}, 1);
        methods.listen(null);
        for (const name of ["a", "b"]) {
          log.updated(`note:${name}`, false);
          expect(await listener.next()).toMatchObject({ updated: [`note:${name}`] });
        }
      },
      { shards: 2 },
    );
  });

  it("is made up for by the next instance, when its own ended between commit and sending", async () => {
    const tenant = freshTenant();
    await announcing(
      async ({ methods, log, ways }) => {
        methods.listen(null);
        ways.cut.add(tenant.id);
        log.updated("note:a", false);
        await methods.flush();
      },
      { tenant },
    );
    await announcing(
      async ({ alarms: wakes, clock, ring }) => {
        const listener = await listenAt(tenant.id);
        expect(wakes).toEqual([clock.now]);
        await ring();
        expect(await listener.next()).toEqual(event({ version: 1, updated: ["note:a"] }));
      },
      { tenant },
    );
    await announcing(
      async ({ alarms: wakes }) => {
        expect(wakes).toEqual([]);
      },
      { tenant },
    );
  });

  it("for longer than the change record shows every stream that it missed something", async () => {
    await announcing(async ({ methods, log, ways, tenant, ring }) => {
      const listener = await listenAt(tenant.id);
      const { version: known } = methods.listen(null);
      ways.cut.add(tenant.id);
      for (let at = 0; at < 12_000; at += 1) log.updated(`note:${at}`, false);
      await methods.flush();
      ways.cut.clear();
      await ring();
      const change = (await listener.next()) as ChangeEvent;
      expect(change.after).toBeGreaterThan(known);
      expect(methods.listen(known).all).toBe(true);
      log.updated("note:on", false);
      expect(await listener.next()).toEqual(event({ version: 12_001, after: 12_000, updated: ["note:on"] }));
    });
  });
});

describe("a change of policy", () => {
  it("is checked at once and announced when it is in force, not before", async () => {
    await announcing(async ({ methods, log, ways, tenant, clock, alarms: wakes, ring }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      const effectiveAt = clock.now + 5100;
      log.policy(7, effectiveAt);
      expect(await listener.next()).toEqual(event({ check: 7, due: true }));
      expect(wakes).toEqual([effectiveAt, clock.now + RETRY_MS]);
      expect(methods.listen(0)).toMatchObject({ version: 0, policy: false, due: true });
      clock.now = effectiveAt - 1;
      expect(await ring()).toBe(effectiveAt);
      log.updated("note:a", false);
      expect(await listener.next()).toEqual(event({ version: 1, updated: ["note:a"], due: true }));
      clock.now = effectiveAt;
      expect(await ring()).toBeUndefined();
      expect(await listener.next()).toEqual(event({ version: 2, after: 1, policy: true }));
      expect(methods.listen(0)).toMatchObject({ policy: true, due: false });
      expect(ways.sent).toHaveLength(3);
    });
  });

  it("that is in force at once is announced and checked at once", async () => {
    await announcing(async ({ methods, log, tenant, clock, alarms: wakes }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      log.policy(7, clock.now);
      expect(await listener.next()).toEqual(event({ version: 1, policy: true, check: 7 }));
      // Asked for with the commit: this instance might have ended before it was sent.
      expect(wakes).toEqual([clock.now + RETRY_MS]);
    });
  });

  it("waits for its own time when several come one after another", async () => {
    await announcing(async ({ methods, log, tenant, clock, ring }) => {
      const listener = await listenAt(tenant.id);
      methods.listen(null);
      const start = clock.now;
      log.policy(1, start + 100);
      log.policy(2, start + 300);
      expect([await listener.next(), await listener.next()]).toEqual([
        event({ check: 1, due: true }),
        event({ check: 2, due: true }),
      ]);
      clock.now = start + 100;
      expect(await ring()).toBe(start + 300);
      expect(await listener.next()).toEqual(event({ version: 1, policy: true, due: true }));
      expect(methods.listen(0).due).toBe(true);
      clock.now = start + 300;
      expect(await ring()).toBeUndefined();
      expect(await listener.next()).toEqual(event({ version: 2, after: 1, policy: true }));
    });
  });

  it("is announced by the instance that runs when it comes into force", async () => {
    const tenant = freshTenant();
    let effectiveAt = 0;
    await announcing(
      async ({ methods, log, clock }) => {
        await listenAt(tenant.id);
        methods.listen(null);
        effectiveAt = clock.now + 1000;
        log.policy(1, effectiveAt);
        await methods.flush();
      },
      { tenant },
    );
    await announcing(
      async ({ clock, ring }) => {
        const listener = await listenAt(tenant.id);
        clock.now = effectiveAt;
        await ring();
        expect(await listener.next()).toEqual(event({ version: 1, policy: true }));
      },
      { tenant },
    );
  });

  it("ends the streams of withdrawn principals, also if the first try failed", async () => {
    await announcing(async ({ methods, log, ways, tenant, clock, ring }) => {
      const ann = await listenAt(tenant.id, { principal: "ann" });
      const bob = await listenAt(tenant.id, { principal: "bob" });
      methods.listen(null);
      ways.cut.add(tenant.id);
      log.policy(3, clock.now + 1000, { principal: "ann" });
      log.policy(4, clock.now + 1000);
      await methods.flush();
      ways.cut.clear();
      await ring();
      expect(await ann.ended).toBe(4001);
      const close = { principal: "ann" };
      expect([await bob.next(), await bob.next()]).toEqual([
        event({ check: 3, due: true, close }),
        event({ check: 4, due: true }),
      ]);
    });
  });
});
