import { describe, expect, it } from "vitest";
import type { KeyInsert } from "../../../src/tenants/object/key-methods.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const STALENESS_MS = 500;
const SLACK_MS = 100;

const keyOf = (about: Partial<KeyInsert> = {}): KeyInsert => ({
  id: "k1",
  hash: "hash of k1",
  name: "ci",
  scopes: null,
  profile: null,
  expires: null,
  ...about,
});

function made(work: (store: OpenedStore<PolicyMethods>) => void): Promise<void> {
  return withStore(policyStore, (store) => {
    const own = { maxStalenessMs: STALENESS_MS };
    store.methods.create({ own, effective: own, actor: ANN, action: "create" });
    work(store);
  });
}

function grantOf(methods: PolicyMethods, keyHash: string) {
  const answer = methods.lease({ version: null, maxStalenessMs: 1, inCode: false, keyHash });
  return answer.state === "granted" ? answer.key : answer.state;
}

describe("a key", () => {
  it("is granted as it was made, by its hash alone", async () => {
    await made(({ methods }) => {
      methods.addKey(keyOf({ scopes: ["a", "b"], profile: "p" }), ANN);
      methods.addKey(keyOf({ id: "k2", hash: "other", scopes: [] }), ANN);
      const grant = { id: "k1", name: "ci", scopes: ["a", "b"], profile: "p", expires: null };
      expect(grantOf(methods, "hash of k1")).toEqual(grant);
      expect(grantOf(methods, "other")).toMatchObject({ id: "k2", scopes: [], profile: null });
      for (const wrong of ["", "k1", "HASH OF K1", "hash of k%"]) expect(grantOf(methods, wrong)).toBeNull();
    });
  });

  it("is in force at once, and changes the version of leases", async () => {
    await made(({ methods }) => {
      grantOf(methods, "hash of k1");
      expect(methods.addKey(keyOf(), ANN)).toMatchObject({ state: "written", revision: 2, leftMs: 0 });
    });
  });

  it("is never made twice, under its id or its hash", async () => {
    await made(({ methods }) => {
      methods.addKey(keyOf(), ANN);
      expect(() => methods.addKey(keyOf({ hash: "other" }), ANN)).toThrow("UNIQUE");
      expect(() => methods.addKey(keyOf({ id: "k2" }), ANN)).toThrow("UNIQUE");
      expect(methods.keyPage({ limit: 100 })).toHaveLength(1);
      expect(methods.audit({ before: null, limit: 10 })).toHaveLength(2);
    });
  });

  it("is not made where there is no tenant any more", async () => {
    await made(({ methods }) => {
      methods.close("");
      expect(methods.addKey(keyOf(), ANN)).toEqual({ state: "absent" });
      expect(methods.keyPage({ limit: 100 })).toEqual([]);
    });
  });

  it("works until the moment it expires", async () => {
    await made(({ methods, clock }) => {
      const expires = clock.now + 1000;
      methods.addKey(keyOf({ expires }), ANN);
      clock.now = expires - 1;
      expect(grantOf(methods, "hash of k1")).toMatchObject({ expires });
      clock.now = expires;
      expect(grantOf(methods, "hash of k1")).toBeNull();
      expect(methods.keyPage({ limit: 100 })).toHaveLength(1);
    });
  });

  it("shows when it was last asked for, not when it failed to work", async () => {
    await made(({ methods, clock }) => {
      methods.addKey(keyOf({ expires: clock.now + 10 }), ANN);
      expect(methods.keyPage({ limit: 100 })[0]?.lastUsed).toBeNull();
      clock.now += 5;
      grantOf(methods, "hash of k1");
      clock.now += 5;
      grantOf(methods, "hash of k1");
      expect(methods.keyPage({ limit: 100 })[0]?.lastUsed).toBe("2026-11-21T12:00:00.005Z");
    });
  });

  it("never leaves its hash in a list or in the audit log", async () => {
    await made(({ methods }) => {
      methods.addKey(keyOf(), ANN);
      methods.rotateKey({ old: "k1", key: { id: "k2", hash: "hash of k2" }, overlapMs: 0, maxKeys: null }, ANN);
      methods.revokeKey("k2", ANN);
      const shown = JSON.stringify([methods.keyPage({ limit: 100 }), methods.audit({ before: null, limit: 10 })]);
      expect(shown).not.toContain("hash of");
    });
  });
});

describe("rotation", () => {
  it("makes a key of the same kind and lets the old one work for the overlap", async () => {
    await made(({ methods, clock }) => {
      const kind = { name: "ci", scopes: ["a"], profile: "p" };
      methods.addKey(keyOf(kind), ANN);
      const retires = clock.now + 10_000;
      const done = methods.rotateKey(
        { old: "k1", key: { id: "k2", hash: "hash of k2" }, overlapMs: 10_000, maxKeys: null },
        ANN,
      );
      expect(done).toMatchObject({ state: "written", leftMs: retires - clock.now });
      expect(grantOf(methods, "hash of k2")).toMatchObject({ id: "k2", ...kind, expires: null });
      expect(grantOf(methods, "hash of k1")).toMatchObject({ id: "k1", ...kind, expires: retires });
      clock.now = retires;
      expect(grantOf(methods, "hash of k1")).toBeNull();
      expect(grantOf(methods, "hash of k2")).toMatchObject({ id: "k2" });
    });
  });

  it("gives no key a longer life than it had", async () => {
    await made(({ methods, clock }) => {
      const expires = clock.now + 500;
      methods.addKey(keyOf({ expires }), ANN);
      methods.rotateKey({ old: "k1", key: { id: "k2", hash: "hash of k2" }, overlapMs: 10_000, maxKeys: null }, ANN);
      expect(grantOf(methods, "hash of k1")).toMatchObject({ expires });
      expect(grantOf(methods, "hash of k2")).toMatchObject({ expires });
    });
  });

  it("without overlap ends the old key as a revocation does", async () => {
    await made(({ methods }) => {
      methods.addKey(keyOf(), ANN);
      grantOf(methods, "hash of k1");
      const done = methods.rotateKey(
        { old: "k1", key: { id: "k2", hash: "hash of k2" }, overlapMs: 0, maxKeys: null },
        ANN,
      );
      expect(done).toMatchObject({ leftMs: STALENESS_MS + SLACK_MS });
      expect(grantOf(methods, "hash of k1")).toBeNull();
    });
  });

  it("with itself is refused for a key that was suspended since its request was authorized", async () => {
    await made(({ methods, clock }) => {
      methods.addKey(keyOf(), ANN);
      clock.now += 10;
      methods.suspend({ kind: "principal", name: "key k1", note: "leaked" }, ANN);
      const rotation = { old: "k1", key: { id: "k2", hash: "hash of k2" }, overlapMs: 0, maxKeys: null };
      expect(methods.rotateKey({ ...rotation, minAgeMs: 5 }, { name: "key k1" })).toEqual({ state: "suspended" });
      expect(methods.keyPage({ limit: 100 })).toMatchObject([{ id: "k1", retires: null }]);
      expect(methods.rotateKey(rotation, ANN)).toMatchObject({ state: "written" });
    });
  });

  it("of an unknown key creates no key", async () => {
    await made(({ methods }) => {
      expect(methods.rotateKey({ old: "k1", key: { id: "k2", hash: "h" }, overlapMs: 0, maxKeys: null }, ANN)).toEqual({
        state: "absent",
      });
      expect(methods.keyPage({ limit: 100 })).toEqual([]);
      expect(methods.audit({ before: null, limit: 10 })).toHaveLength(1);
    });
  });
});

describe("revocation", () => {
  it("waits for the last lease, and for nothing without one", async () => {
    await made(({ methods, clock }) => {
      methods.addKey(keyOf(), ANN);
      methods.addKey(keyOf({ id: "k2", hash: "hash of k2" }), ANN);
      expect(methods.revokeKey("k2", ANN)).toMatchObject({ state: "written", leftMs: 0 });
      grantOf(methods, "hash of k1");
      clock.now += 300;
      const done = methods.revokeKey("k1", ANN);
      expect(done).toMatchObject({ state: "written", leftMs: STALENESS_MS + SLACK_MS - 300 });
      expect(grantOf(methods, "hash of k1")).toBeNull();
      expect(methods.revokeKey("k1", ANN)).toEqual({ state: "absent" });
    });
  });
});

describe("revocation of a key that made others of itself", () => {
  const DAY_MS = 86_400_000;

  /** k1 made k2, which made k3, which made k4; k2 and k3 ended at once. */
  function madeChain({ methods, clock }: OpenedStore<PolicyMethods>): void {
    methods.addKey(keyOf(), ANN);
    for (const [at, overlapMs] of [90 * DAY_MS, 0, 0].entries()) {
      clock.now += DAY_MS + 1;
      const key = { id: `k${at + 2}`, hash: `hash of k${at + 2}` };
      methods.rotateKey(
        { old: `k${at + 1}`, key, overlapMs, maxKeys: null, minAgeMs: DAY_MS },
        { name: `key k${at + 1}` },
      );
    }
  }

  const revokesAll = (methods: PolicyMethods) => {
    const forgotten = methods.key("k2") === undefined && methods.key("k3") === undefined;
    methods.revokeKey("k1", ANN);
    return { forgotten, works: [grantOf(methods, "hash of k1"), grantOf(methods, "hash of k4")] };
  };

  it("ends the last of them, too, when those between were forgotten at their age", async () => {
    await made((store) => {
      madeChain(store);
      store.clock.now += 31 * DAY_MS;
      store.methods.addKey(keyOf({ id: "z", hash: "z" }), ANN);
      expect(revokesAll(store.methods)).toEqual({ forgotten: true, works: [null, null] });
    });
  });

  it("ends the last of them, too, when a thousand that ended later pushed out those between", async () => {
    await made((store) => {
      madeChain(store);
      const { sql, clock, methods } = store;
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
          INSERT INTO api_keys (id, hash, name, created, expires) SELECT 'x' || i, 'x' || i, 'n', '2026', ? FROM n`,
        clock.now + 1,
      );
      clock.now += 1000;
      methods.addKey(keyOf({ id: "z", hash: "z" }), ANN);
      expect(revokesAll(methods)).toEqual({ forgotten: true, works: [null, null] });
    });
  });
});

it("the audit log tells who made, rotated and revoked which key", async () => {
  await made(({ methods, clock }) => {
    const at = new Date(clock.now).toISOString();
    const first = { id: "k1", name: "ci", scopes: ["a"], profile: null, expires: null, created: at, lastUsed: null };
    methods.addKey(keyOf({ scopes: ["a"] }), { name: "ann" });
    methods.rotateKey(
      { old: "k1", key: { id: "k2", hash: "hash of k2" }, overlapMs: 1000, maxKeys: null },
      { name: "bob" },
    );
    methods.revokeKey("k1", { name: "cid" });
    const retires = clock.now + 1000;
    expect(methods.audit({ before: null, limit: 3 })).toEqual([
      {
        sequence: 4,
        at,
        actor: "cid",
        action: "key.revoke",
        target: "key k1",
        before: { ...first, retires },
        after: null,
      },
      {
        sequence: 3,
        at,
        actor: "bob",
        action: "key.rotate",
        target: "key k1",
        before: { ...first, retires: null },
        after: { id: "k2", retires },
      },
      {
        sequence: 2,
        at,
        actor: "ann",
        action: "key.create",
        target: "key k1",
        before: null,
        after: { ...first, retires: null },
      },
    ]);
  });
});

it("pages through many keys, and finds one of them", async () => {
  await made(({ methods, sql }) => {
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO api_keys (id, hash, name, created) SELECT 'x' || i, 'x' || i, 'n', '2026' FROM n`,
    );
    methods.revokeKey("x7", ANN);
    const page = { after: { created: "2026", id: "x10" }, limit: 5 };
    expect(methods.keyPage(page).map(({ id }) => id)).toEqual(["x100", "x1000", "x1001", "x1002", "x1003"]);
    expect(methods.key("x9")).toMatchObject({ id: "x9", name: "n" });
    expect(methods.key("none")).toBeUndefined();
    expect(methods.countActiveKeys()).toBe(2999);
  });
});
