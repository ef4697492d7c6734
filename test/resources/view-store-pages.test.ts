// Stored resources through a view that hides some: what is shown is found behind any number of hidden ones, and no cursor
// names one of these.

import { describe, expect, it } from "vitest";
import { ViewRequestHandlers } from "../../src/catalog/view-request-handlers.ts";
import { createView } from "../../src/catalog/view.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { contentStore } from "../../src/resources/content-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { contentSideOf, freshTenant, inside, type FreshTenant } from "../support/workerd/tenant.ts";

/** `a:hidden-1` …, and behind them `b:shown-1` …; bodies are not looked at here. */
const ROWS = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
  INSERT INTO resources (uri, name, mime_type, is_binary, size, hash, last_modified, tags)
  SELECT ? || printf('%06d', n), 'n', 'text/plain', 0, 1, 'h', '2026-11-21T12:00:00.000Z', '[]' FROM numbers`;

async function store(tenant: FreshTenant, prefix: string, count: number): Promise<void> {
  if (count === 0) return;
  await createRpcClient(tenant.content, contentStore).usage();
  await inside(contentSideOf(tenant), ({ storage }) => storage.sql.exec(ROWS, count, prefix).rowsWritten);
}

function handlersOf(tenant: FreshTenant): ViewRequestHandlers {
  const catalog = { server: { name: "test", version: "1" }, instructions: undefined };
  const document = { profiles: { public: { resources: { deny: ["a:*"] } } } };
  const policy = { document, suspensions: [], deprecatedNames: [] };
  const seen = { profile: "public", scopes: undefined };
  const nothing = { tools: [], prompts: [], resources: [] };
  const view = createView(
    createTenantCatalog({ ...catalog, ...nothing }, createManagedTenant(tenant.id), { policy, version: 1 }),
    seen,
  );
  return new ViewRequestHandlers(view, requestScopeOf(tenant, { access: view, profile: "public" }));
}

describe("resources behind hidden ones", () => {
  it.each([
    { before: 0, shown: 100 },
    { before: 1, shown: 100 },
    { before: 99, shown: 101 },
    { before: 500, shown: 500 },
    { before: 4100, shown: 1 },
    { before: 9000, shown: 250 },
    { before: 9000, shown: 0 },
  ])("are all listed, once and in order: $shown behind $before", async ({ before, shown }) => {
    const tenant = freshTenant();
    await store(tenant, "a:hidden-", before);
    await store(tenant, "b:shown-", shown);
    await store(tenant, "a:hidden-too-", before);
    const handlers = handlersOf(tenant);
    const listed: unknown[] = [];
    const cursors: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await handlers.listResources(cursor, callOf());
      if (!("items" in page)) throw new Error(page.message);
      expect(page.items.length).toBeLessThanOrEqual(100);
      listed.push(...page.items.map(({ uri }) => uri));
      cursor = page.nextCursor;
      if (cursor !== undefined) cursors.push(cursor);
    } while (cursor !== undefined);
    expect(listed).toEqual(Array.from({ length: shown }, (_, at) => `b:shown-${String(at + 1).padStart(6, "0")}`));
    expect(cursors.join("\n")).not.toContain("hidden");
    expect(cursors.length).toBeLessThanOrEqual(Math.ceil(shown / 100) + Math.ceil((2 * before) / 4100));
  });

  it("cannot be looked for with a cursor that somebody made up", async () => {
    const handlers = handlersOf(freshTenant());
    for (const place of ["sealed test.AAAA", "sealed x", `sealed test.${"A".repeat(60)}`]) {
      const cursor = encodeURIComponent(`resources\n${place}`).replaceAll("%", "~");
      expect(await handlers.listResources(cursor, callOf())).toMatchObject({ kind: "failure", error: "invalidParams" });
    }
  });
});
