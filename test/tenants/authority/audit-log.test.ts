// The audit log: what is kept of an entry, and reading it page by page.

import { describe, expect, it } from "vitest";
import { auditPage, recordAudit } from "../../../src/tenants/authority/audit-log.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { onBench } from "../../support/worker/tenant.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

function filled(entries: number, work: (sql: SqlStorage) => void): Promise<void> {
  return onBench(policyTables, ({ sql }) => {
    for (let entry = 1; entry <= entries; entry += 1) {
      recordAudit({ sql, now: () => NOW + entry }, { name: "ann" }, ["do", `thing ${entry}`], {
        before: null,
        after: entry,
      });
    }
    work(sql);
  });
}

describe("an entry", () => {
  it.each<[unknown, unknown]>([
    [null, { a: [1, { b: "ü😀\u0000" }] }],
    [{ a: undefined }, "text"],
    [undefined, undefined],
    [0, false],
  ])("keeps %j and %j as they were", async (before, after) => {
    await onBench(policyTables, ({ sql }) => {
      recordAudit({ sql, now: () => NOW }, { name: "O'Hara; --" }, ["do", "it"], { before, after });
      expect(auditPage(sql, null, 10)).toEqual([
        {
          sequence: 1,
          at: "2026-11-21T12:00:00.000Z",
          actor: "O'Hara; --",
          action: "do",
          target: "it",
          before: before === undefined ? null : (JSON.parse(JSON.stringify(before)) as unknown),
          after: after === undefined ? null : after,
        },
      ]);
    });
  });

  it("never gets the number of another, though that is gone", async () => {
    await filled(2, (sql) => {
      sql.exec("DELETE FROM audit");
      recordAudit({ sql, now: () => NOW }, { name: "ann" }, ["do", "it"], { before: null, after: null });
      expect(auditPage(sql, null, 10).map(({ sequence }) => sequence)).toEqual([3]);
    });
  });
});

describe("a page", () => {
  it("is the newest first, and the next begins before its last", async () => {
    await filled(5, (sql) => {
      const numbers = (before: number | null, limit: number) =>
        auditPage(sql, before, limit).map(({ sequence }) => sequence);
      expect(numbers(null, 2)).toEqual([5, 4]);
      expect(numbers(4, 2)).toEqual([3, 2]);
      expect(numbers(2, 2)).toEqual([1]);
      expect(numbers(1, 2)).toEqual([]);
    });
  });

  it.each([
    [0, 1],
    [-5, 1],
    [1000, 100],
  ])("of %i has %i entries", async (limit, expected) => {
    await filled(120, (sql) => {
      expect(auditPage(sql, null, limit)).toHaveLength(expected);
    });
  });
});
