// After 20,000 callers of one day, keys and addresses shared one row: somebody with as many addresses, a third of a
// /48, used up the calls of a new key.

import { expect, it } from "vitest";
import { limitStore } from "../../../src/limits/limit-store.ts";
import { withStore } from "../../support/workerd/tenant.ts";

const MOST_CALLERS = 20_000;
const DAY = "2026-11-28";
const most = 50;

it("a crowd of addresses leaves keys and people the calls of their day", async () => {
  await withStore(limitStore, ({ methods, clock, sql }) => {
    clock.now = Date.parse(`${DAY}T12:00:00Z`);
    const served = (caller: string) => {
      let calls = 0;
      while (methods.take([{ caller, most }]).isTaken) calls += 1;
      return calls;
    };
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO daily_calls (caller, day, used) SELECT 'address ' || i, '${DAY}', 1 FROM n`,
      MOST_CALLERS,
    );
    expect(served("address new")).toBe(most);
    // One row for all addresses after them.
    expect(served("address newer")).toBe(0);
    expect(served("address 1")).toBe(most - 1);
    for (const caller of ["key 0123456789", "key 9876543210", "oauth https://a.example 1", "app ada"]) {
      expect(served(caller), caller).toBe(most);
    }
  });
});

it("callers of an earlier day take no room from those of today", async () => {
  await withStore(limitStore, ({ methods, clock, sql }) => {
    clock.now = Date.parse("2026-11-29T12:00:00Z");
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO daily_calls (caller, day, used) SELECT 'address ' || i, '${DAY}', 1 FROM n`,
      MOST_CALLERS - 1,
    );
    for (const caller of ["address new", "address newer", "address newest"]) {
      expect(methods.count([{ caller, most, calls: most - 1 }]).used).toEqual([most - 1]);
    }
  });
});
