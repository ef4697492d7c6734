import { describe, expect, it } from "vitest";
import {
  AUDIT_BYTES,
  AUDIT_DAYS,
  AUDIT_ENTRIES,
  auditPage,
  countFittingEntries,
  pruneAudit,
  recordAudit,
} from "../../../src/tenants/object/audit-log.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { withStore } from "../../support/workerd/tenant.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

const hostAt = (sql: SqlStorage, time: number, env: object = {}) => ({
  sql,
  env,
  now: () => time,
  scheduleAlarm: () => {},
});

function filled(entries: number, work: (sql: SqlStorage) => void): Promise<void> {
  return withStore(policyStore, ({ sql }) => {
    for (let entry = 1; entry <= entries; entry += 1) {
      recordAudit(hostAt(sql, NOW + entry), { name: "ann" }, ["do", `thing ${entry}`], {
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
    await withStore(policyStore, ({ sql }) => {
      recordAudit(hostAt(sql, NOW), { name: "O'Hara; --" }, ["do", "it"], { before, after });
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
      recordAudit(hostAt(sql, NOW), { name: "ann" }, ["do", "it"], { before: null, after: null });
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

describe("a page of large entries", () => {
  it.each([1_000_000, 400_000, 900_001])("is as much as can be sent at once: %i characters each", async (size) => {
    await withStore(policyStore, ({ sql }) => {
      for (let write = 0; write < 30; write += 1) {
        const change = { before: null, after: write === 7 ? "small" : "x".repeat(size) };
        recordAudit(hostAt(sql, NOW + write), { name: "ann" }, ["do", "it"], change);
      }
      const seen: number[] = [];
      for (let before: number | null = null; before === null || before > 1;) {
        const given = auditPage(sql, before, 100);
        const page = given.slice(0, countFittingEntries(given));
        expect(JSON.stringify(given).length).toBeLessThan(8_000_000);
        expect(page.length === given.length).toBe(page.at(-1)?.sequence === 1);
        seen.push(...page.map(({ sequence }) => sequence));
        before = seen.at(-1) ?? 0;
      }
      expect(seen).toEqual(Array.from({ length: 30 }, (_none, at) => 30 - at));
    });
  });

  it("has fewer documents of empty lists, which take much more memory than their characters", async () => {
    await withStore(policyStore, ({ sql }) => {
      const lists = Array.from({ length: 20_000 }, () => []);
      for (let write = 0; write < 30; write += 1) {
        recordAudit(hostAt(sql, NOW + write), { name: "ann" }, ["do", "it"], { before: { lists }, after: { lists } });
      }
      const given = auditPage(sql, null, 100);
      expect(given.length).toBeLessThan(15);
      expect(countFittingEntries(given)).toBe(given.length - 1);
    });
  });

  it("is one entry, however large", async () => {
    await withStore(policyStore, ({ sql }) => {
      const large = "x".repeat(900_000);
      const change = { before: { large }, after: Array.from({ length: 1 }, () => large) };
      recordAudit(hostAt(sql, NOW), { name: "ann" }, ["do", "it"], change);
      const given = auditPage(sql, null, 100);
      expect([given.length, countFittingEntries(given)]).toEqual([1, 1]);
    });
  });
});

const DAY = 86_400_000;
const CHANGE = { before: null, after: { text: "x" } };

function writeAt(sql: SqlStorage, times: readonly number[], env: object = {}, change: typeof CHANGE = CHANGE): void {
  for (const time of times) recordAudit(hostAt(sql, time, env), { name: "ann" }, ["do", "it"], change);
}

const keptBytes = (sql: SqlStorage) => sql.exec<{ bytes: number }>("SELECT bytes FROM audit_totals").one().bytes;
const bytesOf = (sql: SqlStorage) =>
  sql.exec<{ bytes: number }>("SELECT sum(octet_length(before) + octet_length(after)) AS bytes FROM audit").one().bytes;
const daysAfter = (days: number) => NOW + days * DAY;

describe("retention", () => {
  it("ends with its days, and the oldest entry that is left says how many went, from when to when", async () => {
    await withStore(policyStore, ({ sql }) => {
      writeAt(sql, [0, 1, 2, AUDIT_DAYS + 1.5].map(daysAfter));
      const [, oldest, ...more] = auditPage(sql, null, 10);
      expect(more).toMatchObject([{ sequence: 2, actor: "code", action: "audit.prune", after: null }]);
      expect(more[0]?.before).toEqual({
        entries: 2,
        from: new Date(NOW).toISOString(),
        to: new Date(daysAfter(1)).toISOString(),
      });
      expect(oldest).toMatchObject({ sequence: 3, action: "do" });
      writeAt(sql, [daysAfter(AUDIT_DAYS + 3)]);
      expect(auditPage(sql, null, 10).at(-1)).toMatchObject({ sequence: 3, before: { entries: 3 } });
      expect(keptBytes(sql)).toBe(bytesOf(sql));
    });
  });

  it("is what the Worker says, within bounds", async () => {
    for (const [days, left] of [
      ["30", 2],
      ["1", 2],
      ["90", 3],
      ["none", 3],
    ] as const) {
      await withStore(policyStore, ({ sql }) => {
        writeAt(sql, [0, 20, 40].map(daysAfter), { AUDIT_DAYS: days });
        // With thirty days the first is gone, and is what says so.
        expect([days, auditPage(sql, null, 10).filter(({ action }) => action === "do").length]).toEqual([days, left]);
      });
    }
  });

  it("is never more than so many; a few go at each write", async () => {
    await withStore(policyStore, ({ sql }) => {
      writeAt(sql, [NOW]);
      sql.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'audit'", AUDIT_ENTRIES - 1);
      writeAt(sql, [NOW + 1]);
      expect(auditPage(sql, null, 10).map(({ action }) => action)).toEqual(["do", "do"]);
      writeAt(sql, [NOW + 2]);
      expect(auditPage(sql, null, 10).map(({ action }) => action)).toEqual(["do", "do", "audit.prune"]);
    });
  });

  it("is never larger; the oldest lose their large texts, and all still say who did what", async () => {
    const large = "x".repeat(900_000);
    await withStore(policyStore, ({ sql }) => {
      recordAudit(hostAt(sql, NOW), { name: "owner" }, ["suspend", "tenant"], { before: null, after: { note: "why" } });
      const writes = Math.ceil((AUDIT_BYTES / (2 * large.length)) * 1.2);
      for (let write = 1; write <= writes; write += 1) {
        const change = { before: large, after: large };
        recordAudit(hostAt(sql, NOW + write), { name: "mallory" }, ["apply", "document"], change);
      }
      expect(keptBytes(sql)).toBeLessThanOrEqual(AUDIT_BYTES);
      expect(keptBytes(sql)).toBe(bytesOf(sql));
      const oldest = auditPage(sql, 4, 10);
      expect(oldest).toMatchObject([
        { sequence: 3, actor: "mallory", action: "apply", before: { omittedBytes: large.length + 2 } },
        { sequence: 2, actor: "mallory", action: "apply", after: { omittedBytes: large.length + 2 } },
        { sequence: 1, actor: "owner", action: "suspend", before: null, after: { note: "why" } },
      ]);
      expect(auditPage(sql, null, 1)).toMatchObject([{ sequence: writes + 1, after: large }]);
    });
  });

  it("goes without a write, too, in steps, until what is left is due later", async () => {
    await withStore(policyStore, ({ sql }) => {
      writeAt(
        sql,
        Array.from({ length: 120 }, (_none, at) => NOW + at),
      );
      const late = hostAt(sql, daysAfter(AUDIT_DAYS) + 110);
      const steps = [pruneAudit(late), pruneAudit(late), pruneAudit(late)];
      expect(steps).toEqual([late.now(), late.now(), daysAfter(AUDIT_DAYS) + 111]);
      expect(auditPage(sql, null, 100).map(({ sequence }) => sequence)).toEqual([
        120, 119, 118, 117, 116, 115, 114, 113, 112, 111,
      ]);
      expect(keptBytes(sql)).toBe(bytesOf(sql));
    });
  });

  it("has no alarm for the newest entry, which stays however old it is", async () => {
    await withStore(policyStore, ({ sql }) => {
      writeAt(sql, [NOW]);
      expect(pruneAudit(hostAt(sql, NOW))).toBeUndefined();
      expect(pruneAudit(hostAt(sql, daysAfter(AUDIT_DAYS + 1)))).toBeUndefined();
      writeAt(sql, [NOW + 1, NOW + 2]);
      expect(pruneAudit(hostAt(sql, NOW + 2))).toBe(daysAfter(AUDIT_DAYS));
      // All but the newest are gone: nothing is left to be done, however often it rings.
      expect(pruneAudit(hostAt(sql, daysAfter(AUDIT_DAYS + 1)))).toBeUndefined();
      expect(auditPage(sql, null, 10).map(({ action }) => action)).toEqual(["do", "audit.prune"]);
    });
  });
});
