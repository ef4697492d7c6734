// Words that are in the index of before, which knew no places: they are found there until they have moved, some at a time.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { operatedContent, type OperatedContentMethods } from "../../../src/content/store/operated-content.ts";
import { bodyKey } from "../../../src/content/store/resource-row.ts";
import { putOf } from "../../support/worker/resources.ts";
import { freshTenant, onBench, type FreshTenant } from "../../support/worker/tenant.ts";

const COUNT = 50;
const uriOf = (at: number) => `note:${at % 2 === 0 ? "shown" : "hidden"}/${at}`;
const textOf = (at: number) => `common word${at}`;
const shown = Array.from({ length: COUNT }, (_none, at) => uriOf(at)).filter((uri) => uri.includes("shown"));
/** Migrations that the object had done. */
const DONE = operatedContent.migrations.findIndex((statement) => statement.includes("x'FF'"));

/** A tenant's content as it was before its index knew places. */
async function earlier(): Promise<FreshTenant> {
  const tenant = freshTenant();
  await onBench(
    operatedContent,
    async ({ methods, sql }) => {
      for (const table of ["resource_words", "texts_unplaced", "placed_views", "view_uris"])
        sql.exec(`DROP TABLE ${table}`);
      sql.exec("DELETE FROM resource_tags");
      sql.exec("DELETE FROM resources");
      sql.exec("UPDATE totals SET resources = 0, bytes = 0");
      sql.exec("UPDATE schema_versions SET version = ? WHERE name = 'content'", DONE);
      sql.exec(operatedContent.migrations.find((statement) => statement.includes("VIRTUAL TABLE resource_text")) ?? "");
      for (let at = 0; at < COUNT; at += 1) {
        sql.exec(
          `INSERT INTO resources (uri, name, mime_type, is_binary, size, hash, last_modified, tags)
           VALUES (?, 'n', 'text/plain', 0, 1, ?, '2026-11-21T12:00:00.000Z', '["t"]')`,
          uriOf(at),
          `hash${at}`,
        );
        sql.exec("INSERT INTO resource_tags (tag, uri) VALUES ('t', ?)", uriOf(at));
        sql.exec("INSERT INTO resource_text (rowid, title, tags, body) VALUES (?, 'n', 't', ?)", at + 1, textOf(at));
        await env.BODIES.put(bodyKey(tenant.id, `hash${at}`), textOf(at));
      }
      expect(() => methods.search({ match: "common", prefix: "", limit: 1 })).toThrow();
    },
    { tenant },
  );
  return tenant;
}

const only = [{ deny: ["note:hidden/*"] }];
function found(methods: OperatedContentMethods, match: string, about: object = {}): string[] {
  const rows = methods.search({ match, prefix: "", limit: 100, ...about });
  return rows.map(({ uri }) => uri).toSorted();
}

function expectAll(methods: OperatedContentMethods): void {
  expect(found(methods, "common")).toHaveLength(COUNT);
  expect(found(methods, "common", { only })).toEqual(shown.toSorted());
  expect(found(methods, "word3 OR word4", { only })).toEqual(["note:shown/4"]);
  expect(found(methods, "common", { prefix: "note:h" })).toHaveLength(COUNT / 2);
  expect(methods.list({ prefix: "", tag: null, after: null, limit: 100 })).toHaveLength(COUNT);
  expect(methods.list({ prefix: "", tag: "t", after: null, limit: 100 })).toHaveLength(COUNT);
  expect(methods.usage().resources).toBe(COUNT);
}

const hasEarlier = (sql: SqlStorage) =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'resource_text'").toArray().length > 0;
const leftIn = (sql: SqlStorage) => sql.exec<{ n: number }>("SELECT count(*) AS n FROM texts_unplaced").one().n;

it("are found before, while and after they move, and each alarm moves some", async () => {
  const tenant = await earlier();
  await onBench(
    operatedContent,
    async ({ open, methods, sql, clock, wakes }) => {
      expect(wakes).toEqual([clock.now]);
      for (let left = COUNT; left > 0;) {
        expect(leftIn(sql)).toBe(left);
        expectAll(methods);
        const next = await open.alarm?.(clock.now);
        left = Math.max(0, left - 20);
        expect(next).toBe(left > 0 ? clock.now : undefined);
      }
      expectAll(methods);
      expect(hasEarlier(sql)).toBe(false);
    },
    { tenant },
  );
}, 30_000);

it("are written anew and deleted as others are, whichever index they are in", async () => {
  const tenant = await earlier();
  await onBench(
    operatedContent,
    async ({ open, methods, sql, clock }) => {
      await open.alarm?.(clock.now);
      for (const at of [0, 1, COUNT - 2, COUNT - 1]) {
        methods.put(putOf(uriOf(at), {}, { searchText: "anew" }));
        methods.remove(uriOf(at));
        methods.put(putOf(uriOf(at), {}, { searchText: "anew" }));
      }
      expect(found(methods, "anew")).toHaveLength(4);
      expect(found(methods, "common")).toHaveLength(COUNT - 4);
      while (hasEarlier(sql)) await open.alarm?.(clock.now);
      expect(found(methods, "anew")).toHaveLength(4);
      expect(found(methods, "common")).toHaveLength(COUNT - 4);
    },
    { tenant },
  );
}, 30_000);

it("stay where they are while their bodies cannot be read, and are found", async () => {
  const tenant = await earlier();
  const BODIES = { get: () => Promise.reject(new Error("KV is away")) };
  await onBench(
    operatedContent,
    async ({ open, methods, sql, clock }) => {
      expect(await open.alarm?.(clock.now)).toBe(clock.now + 60_000);
      expect(leftIn(sql)).toBe(COUNT);
      expectAll(methods);
    },
    { tenant, env: { BODIES } },
  );
}, 30_000);

it("stay where they are while KV does not show yet what was written minutes ago, and move without words that are lost", async () => {
  const tenant = await earlier();
  const BODIES = { get: async () => null };
  await onBench(
    operatedContent,
    async ({ open, methods, sql, clock }) => {
      sql.exec("UPDATE resources SET revision = ? WHERE uri = ?", clock.now, uriOf(0));
      expect(await open.alarm?.(clock.now)).toBe(clock.now + 60_000);
      expectAll(methods);
      clock.now += 600_000;
      while (hasEarlier(sql)) await open.alarm?.(clock.now);
      expect(found(methods, "common")).toEqual([]);
      expect(found(methods, "n")).toHaveLength(COUNT);
    },
    { tenant, env: { BODIES } },
  );
}, 30_000);

it("are no matter to an object that has none", async () => {
  await onBench(operatedContent, ({ sql, wakes }) => {
    expect([hasEarlier(sql), wakes]).toEqual([false, []]);
  });
});
