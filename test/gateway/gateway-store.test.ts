import { describe, expect, it } from "vitest";
import { CLAIM_MS, gatewayStore, type GatewayMethods, type RefreshResult } from "../../src/gateway/gateway-store.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { loggedStates } from "./logged-states.ts";
import { freshTenant, NO_UID, withStore, type OpenedStore } from "../support/workerd/tenant.ts";

interface OpenedGatewayStore extends OpenedStore<GatewayMethods> {
  readonly due: (configs: Readonly<Record<string, string>>, revision?: number) => readonly string[];
  readonly settle: (about?: Partial<RefreshResult>) => number | null | undefined;
}

/** The tables of a tenant that exists, at revision 1. */
async function withGatewayStore(work: (store: OpenedGatewayStore) => void): Promise<void> {
  const tenant = freshTenant();
  const own = { mode: "open" } as const;
  const policy = createRpcClient(tenant.stub, policyStore);
  await policy.create({ created: NO_UID, own, effective: own, actor: { name: "ann" }, action: "create" });
  await withStore(
    gatewayStore,
    (store) => {
      const { methods } = store;
      work({
        ...store,
        due: (configs, revision = 1) => {
          const upstreams = Object.entries(configs).map(([id, configHash]) => ({ id, configHash }));
          return methods.claimDue({ revision, upstreams }).claimed;
        },
        settle: (about) =>
          methods.completeRefresh({ id: "a", configHash: "1", why: null, afterMs: 60_000, jitter: 0, ...about }),
      });
    },
    { tenant },
  );
}

describe("an upstream", () => {
  it("is claimed by the first who asks, and by another only when the claim has run out", () =>
    withGatewayStore(({ due, clock }) => {
      expect(due({ a: "1", b: "1" })).toEqual(["a", "b"]);
      expect(due({ a: "1", b: "1" })).toEqual([]);
      clock.now += CLAIM_MS;
      expect(due({ a: "1", b: "1" })).toEqual(["a", "b"]);
    }));

  it("is claimed by the first who asks, though the clock moves meanwhile", () =>
    withGatewayStore(({ due, clock }) => {
      let { now } = clock;
      Object.defineProperty(clock, "now", { get: () => (now += 1) });
      expect(due({ a: "1", b: "1" })).toEqual(["a", "b"]);
    }));

  it("is read again when it is due", () =>
    withGatewayStore(({ due, settle, clock, methods }) => {
      due({ a: "1" });
      expect(settle()).toBeNull();
      const { nextAt: next } = methods.claimDue({ revision: 1, upstreams: [{ id: "a", configHash: "1" }] });
      expect(next).toBe(clock.now + 60_000);
      clock.now += 59_999;
      expect(due({ a: "1" })).toEqual([]);
      clock.now += 1;
      expect(due({ a: "1" })).toEqual(["a"]);
    }));

  it("is locked for an operator before it is due, unless a refresh runs, and the audit log has that", () =>
    withGatewayStore(({ due, settle, methods, sql }) => {
      const claim = (configHash: string, revision = 1) =>
        methods.tryClaim({ revision, upstreams: [{ id: "a", configHash }] }, "a", { name: "bob" });
      expect(claim("1")).toBe(true);
      expect(claim("1")).toBe(false);
      expect(due({ a: "1" })).toEqual([]);
      settle();
      expect(due({ a: "1" })).toEqual([]);
      expect(claim("1")).toBe(true);
      expect(methods.getRefreshStates()).toMatchObject([{ id: "a", configHash: "1" }]);
      expect(claim("2", 2)).toBe(true);
      expect(claim("1", 1)).toBe(false);
      const recorded = sql.exec("SELECT action, target FROM audit WHERE actor = 'bob'").toArray();
      expect(recorded).toEqual(Array.from({ length: 3 }, () => ({ action: "upstream.refresh", target: "upstream a" })));
    }));

  it("is tried later and later while it cannot be read, never sooner than it asks, and keeps since when", () =>
    withGatewayStore(({ due, settle, clock }) => {
      const began = clock.now;
      const waits: number[] = [];
      for (let failures = 0; failures < 12; failures += 1) {
        due({ a: "1" });
        expect(settle({ why: "away", afterMs: 0 })).toBe(began);
        const failed = clock.now;
        while (due({ a: "1" }).length === 0) clock.now += 1000;
        waits.push((clock.now - failed) / 1000);
      }
      expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
      expect(waits.at(-1)).toBe(600);
      settle({ why: "busy", afterMs: 3_000_000 });
      clock.now += 2_999_999;
      expect(due({ a: "1" })).toEqual([]);
      clock.now += 1;
      expect(due({ a: "1" })).toEqual(["a"]);
      expect(settle()).toBeNull();
    }));

  it("is tried at once after a secret was set, and soon again if that failed", () =>
    withGatewayStore(({ due, settle, clock, sql }) => {
      const failAt = () => {
        while (due({ a: "1" }).length === 0) clock.now += 1000;
        settle({ why: "401", afterMs: 0 });
      };
      for (let failures = 0; failures < 12; failures += 1) failAt();
      clock.now += 6000;
      expect(due({ a: "1" })).toEqual([]);
      const setAt = new Date(clock.now).toISOString();
      sql.exec("INSERT INTO secrets (name, sealed, updated) VALUES ('KEY', '', ?)", setAt);
      sql.exec("UPDATE tenant SET revision = 2");
      expect(due({ a: "1" }, 1)).toEqual([]);
      expect(due({ a: "1" }, 2)).toEqual(["a"]);
      clock.now += 100;
      // It was read with the old one.
      settle({ why: "401", afterMs: 0 });
      expect(due({ a: "1" }, 2)).toEqual([]);
      clock.now += 5000;
      expect(due({ a: "1" }, 2)).toEqual(["a"]);
      settle();
      clock.now += 6000;
      expect(due({ a: "1" }, 2)).toEqual([]);
    }));

  it("is read again within an hour, however long it asks to be left alone", () =>
    withGatewayStore(({ due, settle, clock }) => {
      due({ a: "1" });
      settle({ why: "busy", afterMs: 999_999_999_000 });
      clock.now += 3_600_000;
      expect(due({ a: "1" })).toEqual(["a"]);
    }));

  it("is read at once after a new configuration, and a refresh with the old one is ignored", () =>
    withGatewayStore(({ due, settle }) => {
      due({ a: "1" });
      expect(due({ a: "2" }, 2)).toEqual(["a"]);
      expect(settle({ why: "away" })).toBeNull();
      expect(due({ a: "1" }, 1)).toEqual([]);
      expect(due({ a: "2" }, 2)).toEqual([]);
    }));

  it("is read again at once where a late reading of an older configuration was written", () =>
    withGatewayStore(({ due, settle }) => {
      due({ a: "1" });
      expect(due({ a: "2" }, 2)).toEqual(["a"]);
      settle({ configHash: "2" });
      expect(due({ a: "2" }, 2)).toEqual([]);
      expect(settle({ configHash: "1" })).toBeNull();
      expect(due({ a: "2" }, 2)).toEqual(["a"]);
    }));

  it("is read soon when it says that it has changed, but not all the time", () =>
    withGatewayStore(({ due, settle, methods, clock }) => {
      due({ a: "1" });
      settle();
      methods.markStale("a");
      expect(due({ a: "1" })).toEqual([]);
      clock.now += 5000;
      expect(due({ a: "1" })).toEqual(["a"]);
    }));

  it("is read again soon when it says while it is read that it has changed", () =>
    withGatewayStore(({ due, settle, methods, clock }) => {
      due({ a: "1" });
      settle();
      clock.now += 60_000;
      expect(due({ a: "1" })).toEqual(["a"]);
      clock.now += 1000;
      methods.markStale("a");
      expect(due({ a: "1" })).toEqual([]);
      settle();
      clock.now += 4999;
      expect(due({ a: "1" })).toEqual([]);
      clock.now += 1;
      expect(due({ a: "1" })).toEqual(["a"]);
      settle();
      clock.now += 59_999;
      expect(due({ a: "1" })).toEqual([]);
    }));

  it("is claimed with no more others than the isolate can read", () =>
    withGatewayStore(({ methods }) => {
      const upstreams = ["a", "b", "c"].map((id) => ({ id, configHash: "1" }));
      const due = (most: number) => methods.claimDue({ revision: 1, upstreams, limit: most }).claimed;
      expect([due(2), due(2), due(2)]).toEqual([["a", "b"], ["c"], []]);
    }));

  it("stays claimed until it is written down why it could not be read", () =>
    withGatewayStore(({ due, settle, methods, clock }) => {
      due({ a: "1" });
      const began = clock.now;
      expect(methods.recordFailure({ id: "a", configHash: "1" })).toBe(began);
      clock.now += 20_000;
      expect(due({ a: "1" })).toEqual([]);
      expect(settle({ why: "away", afterMs: 0 })).toBe(began);
      expect(methods.recordFailure({ id: "a", configHash: "0" })).toBeNull();
    }));

  it("is read for two deployments in turn where they configure it differently, not all the time", () =>
    withGatewayStore(({ due, settle, clock }) => {
      let reads = 0;
      for (const end = clock.now + 120_000; clock.now < end; clock.now += 500) {
        for (const configHash of ["1", "2"]) {
          if (due({ a: configHash }).length === 0) continue;
          reads += 1;
          settle({ configHash });
        }
      }
      expect(reads).toBeGreaterThan(1);
      expect(reads).toBeLessThan(12);
    }));

  for (const [when, begin] of [
    ["before it was read", () => {}],
    ["while it was read", (store: OpenedGatewayStore) => void store.due({ a: "1" })],
    [
      "after it was read",
      (store: OpenedGatewayStore) => {
        store.due({ a: "1" });
        store.settle();
      },
    ],
    [
      "after it could not be read",
      (store: OpenedGatewayStore) => {
        store.due({ a: "1" });
        store.settle({ why: "away" });
      },
    ],
  ] as const) {
    it(`is read soon though the clock that was a day ahead ${when} is right again`, () =>
      withGatewayStore((store) => {
        const { due, clock, methods } = store;
        clock.now += 86_400_000;
        methods.claimDue({ revision: 1, upstreams: [{ id: "a", configHash: "1" }], limit: 0 });
        begin(store);
        clock.now -= 86_400_000;
        expect(due({ a: "1" })).toEqual(["a"]);
      }));
  }
});

describe("the log", () => {
  const AWAY = { why: "away", afterMs: 0 };
  const HALF = { missing: "1 definition is left out" };

  it("has one line when an upstream cannot be read, one when it can again, and none while nothing changes", () =>
    withGatewayStore(({ due, settle, clock }) => {
      const lines = loggedStates();
      const readAs = (about: Partial<RefreshResult>) => {
        while (due({ a: "1" }).length === 0) clock.now += 1000;
        settle(about);
      };
      for (const about of [{}, {}]) readAs(about);
      expect(lines).toEqual([]);
      const failed = clock.now + 60_000;
      for (const about of [AWAY, { ...AWAY, why: "still away" }, {}, {}, HALF, HALF, AWAY, {}]) readAs(about);
      const messages = lines.map(({ level, was, state, why }) => [level, was, state, why]);
      expect(messages).toEqual([
        ["warn", "fresh", "lastGood", "away"],
        ["info", "lastGood", "fresh", null],
        ["warn", "fresh", "degraded", "1 definition is left out"],
        ["warn", "degraded", "lastGood", "away"],
        ["info", "lastGood", "fresh", null],
      ]);
      const since = new Date(failed).toISOString();
      expect(lines.slice(0, 2)).toMatchObject([{ since }, { since }]);
      expect(lines[0]).toMatchObject({ event: "upstream.state", upstream: "a", tenant: expect.any(String) as string });
    }));

  it("has a line for an upstream that never could be read, and for the configuration that mended it", () =>
    withGatewayStore(({ due, settle }) => {
      const lines = loggedStates();
      due({ a: "1" });
      settle(AWAY);
      due({ a: "2" }, 2);
      settle({ ...AWAY, configHash: "1" });
      settle({ configHash: "2" });
      expect(lines.map(({ was, state }) => [was, state])).toEqual([
        [null, "unread"],
        ["unread", "fresh"],
      ]);
    }));
});

describe("a URI", () => {
  it("belongs to the upstream that listed it first, until that lists it no more or is gone", () =>
    withGatewayStore(({ methods, due }) => {
      const own = (id: string, ...uris: string[]) => methods.claimUris({ id, configHash: "1", uris });
      due({ a: "1", b: "1" });
      expect(own("a", "x://1", "x://2")).toEqual([]);
      expect(own("b", "x://2", "x://3")).toEqual([["x://2", "a"]]);
      expect(own("a", "x://1")).toEqual([]);
      expect(own("b", "x://2", "x://3")).toEqual([]);
      expect(own("a", "x://1", "x://2")).toEqual([["x://2", "b"]]);
      due({ a: "1" }, 2);
      expect(own("a", "x://1", "x://2", "x://3")).toEqual([]);
    }));

  it("is not given to an upstream that was configured anew, or removed, while it was read", () =>
    withGatewayStore(({ methods, due }) => {
      due({ a: "1", b: "1" });
      due({ a: "2", c: "1" }, 2);
      for (const id of ["a", "b"]) expect(methods.claimUris({ id, configHash: "1", uris: ["x://1"] }), id).toBeNull();
      expect(methods.claimUris({ id: "c", configHash: "1", uris: ["x://1"] })).toEqual([]);
    }));
});
