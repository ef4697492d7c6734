import { describe, expect, it } from "vitest";
import { MAX_KEYS, type KeyInsert } from "../../../src/tenants/object/key-methods.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { MAX_DEPRECATED_NAMES, MAX_SUSPENSIONS, policyStore } from "../../../src/tenants/object/policy-store.ts";
import { authorityStore } from "../../../src/tenants/object/authority-store.ts";
import { withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const TENANT_ADMIN = { name: "bob", isTenantAdmin: true };
const DAY = 86_400_000;

function made(work: (store: OpenedStore<PolicyMethods>) => void | Promise<void>): Promise<void> {
  return withStore(policyStore, (store) => {
    store.methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
    return work(store);
  });
}

const keyOf = (at: number | string, about: Partial<KeyInsert> = {}): KeyInsert => ({
  id: `k${at}`,
  hash: `hash of ${at}`,
  name: "ci",
  scopes: null,
  profile: null,
  expires: null,
  ...about,
});

const idsOf = (methods: PolicyMethods) => methods.keyPage({ limit: 10_000 }).map(({ id }) => id);
const suspended = (sql: SqlStorage) =>
  sql
    .exec<{ name: string }>("SELECT name FROM suspensions ORDER BY name")
    .toArray()
    .map(({ name }) => name);

describe("keys", () => {
  it("that ended are kept for thirty days and then gone with the alarm, and their suspensions with them", async () => {
    await made(async ({ methods, clock, open, sql, alarms: wakes }) => {
      const expires = clock.now + 1000;
      methods.addKey(keyOf(1, { expires }), ANN);
      methods.addKey(keyOf(2), ANN);
      for (const name of ["key k1", "key k2"]) methods.suspend({ kind: "principal", name, note: "n" }, ANN);
      expect(wakes).toContain(expires + 30 * DAY);
      clock.now = expires + 30 * DAY - 1;
      expect(await open.alarm?.(clock.now)).toBe(expires + 30 * DAY);
      expect(idsOf(methods)).toEqual(["k1", "k2"]);
      clock.now += 1;
      await open.alarm?.(clock.now);
      expect([idsOf(methods), suspended(sql)]).toEqual([["k2"], ["key k2"]]);
      methods.revokeKey("k2", ANN);
      expect(suspended(sql)).toEqual([]);
    });
  });

  it("that were rotated without end leave the last thousand", async () => {
    await made(({ methods, clock }) => {
      methods.addKey(keyOf(0), ANN);
      for (let at = 0; at < 1005; at += 1) {
        clock.now += 1;
        const { id, hash } = keyOf(at + 1);
        methods.rotateKey({ old: `k${at}`, key: { id, hash }, overlapMs: 0, maxKeys: null }, ANN);
      }
      const left = idsOf(methods);
      expect(left).toHaveLength(1001);
      expect([left.includes("k4"), left.includes("k5"), left.includes("k1005")]).toEqual([false, true, true]);
    });
  }, 120_000);

  it("have a maximum by default", async () => {
    await made(({ methods, sql }) => {
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO api_keys (id, hash, name, created) SELECT 'x' || i, 'x' || i, 'n', '2026' FROM n`,
        MAX_KEYS,
      );
      expect(methods.addKey(keyOf(1), ANN)).toEqual({ state: "full" });
      expect(methods.revokeKey("x1", ANN)).toMatchObject({ state: "written" });
      expect(methods.addKey(keyOf(1), ANN)).toMatchObject({ state: "written" });
    });
  });
});

it("a tenant-admin's suspensions are so many at most, and an operator's are never refused", async () => {
  await made(({ methods, sql }) => {
    const suspend = (name: string, by: typeof TENANT_ADMIN | typeof ANN, note = "n") =>
      methods.suspend({ kind: "profile", name, note }, by).state;
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO suspensions (kind, name, note, since, by_operator) SELECT 'profile', 'p' || i, 'n', '2026', 0 FROM n`,
      MAX_SUSPENSIONS - 1,
    );
    expect(["a", "b", "a"].map((name) => suspend(name, TENANT_ADMIN))).toEqual(["written", "full", "unchanged"]);
    expect(suspend("a", TENANT_ADMIN, "another")).toBe("written");
    expect(suspend("b", ANN)).toBe("written");
  });
});

it("retired names are so many at most: those that would end first are gone", async () => {
  await made(({ methods, sql, clock }) => {
    const retired = (first: number, until: number) =>
      Array.from({ length: 1500 }, (_none, at) => ({
        kind: "tools" as const,
        profile: null,
        name: `t${first + at}`,
        target: "t",
        successor: "s",
        until,
      }));
    const write = (title: string, names: ReturnType<typeof retired>) =>
      methods.write({
        own: { title },
        effective: { title },
        deprecatedNames: names,
        ifRevision: null,
        actor: ANN,
        action: "a",
      });
    write("one", retired(0, clock.now + DAY));
    write("two", retired(1500, clock.now + 2 * DAY));
    const left = sql
      .exec<{ until: number; n: number }>("SELECT until, count(*) AS n FROM deprecated_names GROUP BY until")
      .toArray();
    expect(left.map(({ n }) => n)).toEqual([MAX_DEPRECATED_NAMES - 1500, 1500]);
  });
});

it("claims are deleted by the alarm when no call claims any more", async () => {
  await withStore(authorityStore, async ({ methods, open, clock, sql, alarms: wakes }) => {
    methods.claim("n", "a", clock.now + 10);
    methods.claim("n", "b", clock.now + 20);
    expect(wakes).toContain(clock.now + 11);
    clock.now += 15;
    expect(await open.alarm?.(clock.now)).toBe(clock.now + 6);
    expect(sql.exec("SELECT name FROM once_claims").toArray()).toEqual([{ name: "b" }]);
    clock.now += 6;
    expect([await open.alarm?.(clock.now), sql.exec("SELECT 1 FROM once_claims").toArray()]).toEqual([undefined, []]);
  });
});
