import { describe, expect, it } from "vitest";
import { RESULT_LIFETIME_MS, resultStore } from "../../../src/gateway/budget/result-store.ts";
import { withStore } from "../../support/workerd/tenant.ts";

const MIB = 1024 * 1024;
const bodyOf = (bytes: number, first = 1) => {
  const body = new Uint8Array(bytes).fill(7);
  body[0] = first;
  return body;
};
const resultOf = (id: string, body = bodyOf(10), owner = "ann", principal = owner) => ({
  id,
  owner,
  principal,
  tool: "go",
  body,
});

describe("a result that is kept", () => {
  it("is its owner's alone, piece by piece as it was", () =>
    withStore(resultStore, ({ methods }) => {
      const body = crypto.getRandomValues(new Uint8Array(60_000));
      const long = new Uint8Array(2.5 * MIB);
      for (let at = 0; at + body.length <= long.length; at += body.length) long.set(body, at);
      methods.put(resultOf("a", long));
      const taken = methods.get("a", "ann");
      expect(taken?.tool).toBe("go");
      expect(taken?.body.byteLength).toBe(long.byteLength);
      expect(taken?.body.every((byte, at) => byte === long[at])).toBe(true);
      expect(methods.get("a", "bob")).toBeUndefined();
      expect(methods.get("b", "ann")).toBeUndefined();
    }));

  it("ends with its time, and an alarm takes it away", () =>
    withStore(resultStore, async ({ methods, open, clock, alarms: wakes, sql }) => {
      const until = methods.put(resultOf("a")) ?? 0;
      expect(until - clock.now).toBeGreaterThanOrEqual(RESULT_LIFETIME_MS);
      expect(until - clock.now).toBeLessThan(RESULT_LIFETIME_MS + 60_000);
      expect(wakes).toEqual([until]);
      expect(await open.alarm?.(until - 1)).toBe(until);
      clock.now = until;
      expect(methods.get("a", "ann")).toBeUndefined();
      expect(await open.alarm?.(until)).toBeUndefined();
      expect(sql.exec("SELECT count(*) AS count FROM results").one()).toEqual({ count: 0 });
    }));

  it("makes room: an owner has 20, and 4 MiB", () =>
    withStore(resultStore, ({ methods }) => {
      const held = (ids: readonly string[]) => ids.filter((id) => methods.get(id, "ann") !== undefined);
      const many = Array.from({ length: 25 }, (_, at) => `n${at}`);
      methods.put(resultOf("other", bodyOf(10), "bob"));
      for (const id of many) methods.put(resultOf(id));
      expect(held(many)).toEqual(many.slice(5));
      for (const id of ["x", "y", "z"]) methods.put(resultOf(id, bodyOf(1.5 * MIB)));
      expect(held([...many, "x", "y", "z"])).toEqual(["y", "z"]);
      expect(methods.get("other", "bob")).toBeDefined();
    }));

  it("makes room: what a principal has in all its profiles counts together", () =>
    withStore(resultStore, ({ methods, sql }) => {
      methods.put(resultOf("first", bodyOf(4 * MIB), "bob"));
      for (let at = 0; at < 5; at += 1) methods.put(resultOf(`r${at}`, bodyOf(4 * MIB), `ann in ${at}`, "ann"));
      expect(sql.exec("SELECT DISTINCT id FROM results ORDER BY id").toArray()).toEqual([
        { id: "first" },
        { id: "r4" },
      ]);
      for (let at = 0; at < 60; at += 1) methods.put(resultOf(`s${at}`, bodyOf(10), `ann in ${at % 7}`, "ann"));
      expect(sql.exec("SELECT count(*) AS count FROM results WHERE principal = 'ann'").one()).toEqual({ count: 20 });
      expect(methods.get("first", "bob")).toBeDefined();
    }));

  it("makes room: callers without a credential have a quarter together, and take no place of one who has a credential", () =>
    withStore(resultStore, ({ methods, sql }) => {
      methods.put(resultOf("first", bodyOf(10), "ann"));
      for (let at = 0; at < 260; at += 1) methods.put(resultOf(`a${at}`, bodyOf(10), `address ${at}`));
      const held = "SELECT count(*) AS count FROM results WHERE principal LIKE 'address %'";
      expect(sql.exec(held).one()).toEqual({ count: 250 });
      for (let at = 0; at < 6; at += 1) methods.put(resultOf(`b${at}`, bodyOf(4 * MIB), `address ${at}`));
      const bytes = "SELECT sum(bytes) AS bytes FROM results WHERE principal LIKE 'address %'";
      expect(Number(sql.exec(bytes).one()["bytes"])).toBeLessThanOrEqual(16 * MIB);
      expect(methods.get("first", "ann")).toBeDefined();
    }));

  it("tells its length to its owner alone", () =>
    withStore(resultStore, ({ methods }) => {
      methods.put(resultOf("a", bodyOf(2.5 * MIB)));
      expect(methods.getInfo("a", "ann")).toEqual({ tool: "go", bytes: 2.5 * MIB });
      expect([methods.getInfo("a", "bob"), methods.getInfo("b", "ann")]).toEqual([undefined, undefined]);
    }));

  it("is refused where it is longer than all that its owner may have", () =>
    withStore(resultStore, ({ methods }) => {
      methods.put(resultOf("a"));
      expect(methods.put(resultOf("b", bodyOf(4 * MIB + 1)))).toBeNull();
      expect(methods.get("a", "ann")).toBeDefined();
    }));

  it("makes room: a tenant has 64 MiB for all principals", () =>
    withStore(resultStore, ({ methods, sql }) => {
      for (let at = 0; at < 20; at += 1) methods.put(resultOf(`r${at}`, bodyOf(4 * MIB), `owner ${at}`));
      const { bytes } = sql.exec<{ bytes: number }>("SELECT sum(bytes) AS bytes FROM results").one();
      expect(bytes).toBe(64 * MIB);
      expect(methods.get("r3", "owner 3")).toBeUndefined();
      expect(methods.get("r4", "owner 4")).toBeDefined();
    }));
});
