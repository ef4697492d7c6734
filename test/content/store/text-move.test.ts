// Words that are in the index of before, which knew no places, in the object that has the content: `earlierContent()` moves them
// as it does what it takes over, and without it nothing is lost or half found.

import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, onTestFinished, vi } from "vitest";
import { takeOverBy } from "../../../src/content/store/admission.ts";
import { operatedContent } from "../../../src/content/store/operated-content.ts";
import { digestOf } from "../../../src/content/store/open-store.ts";
import { bodyKey } from "../../../src/content/store/resource-row.ts";
import { Takeover } from "../../../src/content/store/takeover.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { mayPass } from "../../../src/tenants/isolate/outage.ts";
import { putOf } from "../../support/worker/resources.ts";
import {
  contentSideOf,
  failureOf,
  freshTenant,
  inside,
  MADE_BEFORE,
  type FreshTenant,
} from "../../support/worker/tenant.ts";

const COUNT = 50;
const uriOf = (at: number) => `note:${at % 2 === 0 ? "shown" : "hidden"}/${at}`;
const textOf = (at: number) => `common word${at}`;
const uris = Array.from({ length: COUNT }, (_none, at) => uriOf(at));
const shown = uris.filter((uri) => uri.includes("shown")).toSorted();
const only = [{ deny: ["note:hidden/*"] }];
/** Migrations that the object had done. */
const DONE = operatedContent.migrations.findIndex((statement) => statement.includes("VIRTUAL TABLE resource_words"));
const EARLIER = operatedContent.migrations.find((statement) => statement.includes("VIRTUAL TABLE resource_text")) ?? "";

const contentOf = ({ content }: FreshTenant) => remote(content, operatedContent);

/** A tenant with this many resources, whose content's object was last used before its index knew places. */
async function earlier(): Promise<FreshTenant> {
  const tenant = freshTenant();
  const birth = { created: MADE_BEFORE, own: {}, effective: {}, actor: { name: "ann" }, action: "create" };
  await remote(tenant.stub, policyTables).create(birth);
  const content = contentOf(tenant);
  for (let at = 0; at < COUNT; at += 1) {
    const bytes = new TextEncoder().encode(textOf(at));
    const hash = await digestOf(bytes);
    await env.BODIES.put(bodyKey(tenant.id, hash), bytes);
    await content.put(putOf(uriOf(at), { hash, size: bytes.byteLength, tags: ["t"] }));
  }
  await inside(contentSideOf(tenant), ({ storage: { sql } }) => {
    sql.exec(EARLIER);
    const texts = sql.exec<{ id: number; uri: string }>("SELECT id, uri FROM resources WHERE id > 0").toArray();
    for (const { id, uri } of texts)
      sql.exec(
        "INSERT INTO resource_text (rowid, title, tags, body) VALUES (?, 'n', 't', ?)",
        id,
        textOf(uris.indexOf(uri)),
      );
    for (const table of ["resource_words", "texts_unplaced", "placed_views", "view_uris", "copy_parts"])
      sql.exec(`DROP TABLE ${table}`);
    sql.exec("UPDATE schema_versions SET version = ? WHERE name = 'content'", DONE);
    sql.exec("UPDATE schema_versions SET version = 1 WHERE name = 'takeover'");
  });
  await evictDurableObject(tenant.contentObject);
  return tenant;
}

async function found(tenant: FreshTenant, match: string, about: object = {}): Promise<string[]> {
  const rows = await contentOf(tenant).search({ match, prefix: "", limit: 100, ...about });
  return rows.map(({ uri }) => uri).toSorted();
}

async function expectAll(tenant: FreshTenant): Promise<void> {
  const content = contentOf(tenant);
  expect(await found(tenant, "common")).toHaveLength(COUNT);
  expect(await found(tenant, "common", { only })).toEqual(shown);
  expect(await found(tenant, "word3 OR word4", { only })).toEqual(["note:shown/4"]);
  expect(await found(tenant, "common", { prefix: "note:h" })).toHaveLength(COUNT / 2);
  expect(await content.list({ prefix: "", tag: "t", after: null, limit: 100 })).toHaveLength(COUNT);
  expect(await content.usage()).toMatchObject({ resources: COUNT });
}

function leftOf(tenant: FreshTenant): Promise<unknown> {
  return inside(contentSideOf(tenant), ({ storage: { sql } }) => ({
    tables: sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'resource_text'").toArray().length,
    unplaced: sql.exec("SELECT id FROM texts_unplaced").toArray().length,
    due: sql.exec("SELECT id FROM texts_due").toArray().length,
    phase: sql.exec("SELECT phase FROM takeover").toArray()[0]?.["phase"],
  }));
}
const NOTHING = { tables: 0, unplaced: 0, due: 0, phase: "done" };

function withoutEarlierContent(): void {
  takeOverBy(undefined);
  onTestFinished(() => takeOverBy((admission) => new Takeover(admission)));
}

it("are found at the first search, and by their places, and nothing is left of the index", async () => {
  const tenant = await earlier();
  await expectAll(tenant);
  while ((await runDurableObjectAlarm(tenant.contentObject)) === true);
  expect(await leftOf(tenant)).toEqual(NOTHING);
  await expectAll(tenant);
}, 120_000);

it("are written anew and deleted as others are before they moved", async () => {
  const tenant = await earlier();
  const content = contentOf(tenant);
  for (const at of [0, 1, COUNT - 2, COUNT - 1]) {
    await content.put(putOf(uriOf(at), {}, { searchText: "anew" }));
    await content.remove(uriOf(at));
    await content.put(putOf(uriOf(at), {}, { searchText: "anew" }));
  }
  expect(await found(tenant, "anew")).toHaveLength(4);
  expect(await found(tenant, "common")).toHaveLength(COUNT - 4);
}, 120_000);

it("move where only some of them had moved", async () => {
  const tenant = await earlier();
  // As a Worker that moved them by alarms left it.
  await inside(contentSideOf(tenant), ({ storage: { sql } }) => {
    sql.exec("DELETE FROM texts_due WHERE id % 2 = 0");
    sql.exec("INSERT INTO texts_unplaced SELECT id FROM texts_due");
    sql.exec(
      "INSERT INTO resource_words (rowid, body, place) SELECT id, 'moved', '' FROM resources WHERE id > 0 AND id % 2 = 0",
    );
    sql.exec("DELETE FROM texts_due");
    sql.exec(EARLIER);
    sql.exec("UPDATE takeover SET phase = 'done'");
    sql.exec("UPDATE schema_versions SET version = 1 WHERE name = 'takeover'");
  });
  await evictDurableObject(tenant.contentObject);
  expect(await found(tenant, "common")).toHaveLength(COUNT / 2);
  expect(await found(tenant, "moved")).toHaveLength(COUNT / 2);
}, 120_000);

it("are not searched for half in a Worker without earlierContent(), which says what is missing, and are all there with it", async () => {
  const tenant = await earlier();
  withoutEarlierContent();
  const log = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const query = { match: "common", prefix: "", limit: 100 };
  const failure = await failureOf(contentSideOf(tenant), "content", "search", [query]);
  expect(mayPass(failure)).toBe(true);
  expect(log.mock.calls.flat().join(" ")).toContain("needs the feature earlierContent()");
  takeOverBy((admission) => new Takeover(admission));
  await evictDurableObject(tenant.contentObject);
  await expectAll(tenant);
}, 120_000);

it("are no matter to a Worker without earlierContent() and an object that has none", async () => {
  withoutEarlierContent();
  const tenant = freshTenant();
  await contentOf(tenant).put(putOf("note:a", {}, { searchText: "first" }));
  expect(await found(tenant, "first")).toEqual(["note:a"]);
  expect(await leftOf(tenant)).toEqual(NOTHING);
});
