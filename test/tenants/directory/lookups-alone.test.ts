// A Worker without the admin API: it finds what others entered, in whichever release, and stores nothing.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { DirectoryLookups } from "../../../src/tenants/directory/lookups-object.ts";
import { EARLIER } from "../../../src/tenants/directory/shards.ts";

type Made = { readonly name: string; readonly sql?: readonly string[]; readonly earlier?: object };

/** The half that every Worker has, over the storage of another class's object of this name. */
function alone<R>({ name, sql = [], earlier = {} }: Made, work: (object: DirectoryLookups) => Promise<R>): Promise<R> {
  return runInDurableObject(env.UPSTREAMS.getByName(name), async (_instance, ctx) => {
    const { storage } = ctx;
    for (const statement of sql) storage.sql.exec(statement);
    const bindings = { DIRECTORY: { getByName: () => earlier } } as unknown as Cloudflare.Env;
    const object = new DirectoryLookups(ctx, bindings);
    const answered = await work(object);
    const tables = storage.sql
      .exec("SELECT 1 FROM sqlite_master WHERE name IN ('hiding', 'schema_versions')")
      .toArray();
    expect(tables).toEqual([]);
    return answered;
  });
}

it("asks the one object of release 0.1.0 about a shard that nobody entered anything in", async () => {
  const entry = { id: "old", created: "2026-11-20T10:00:00.000Z" };
  const earlier = { lookup: async () => ({ entry, anyPrivate: true }), hostname: async () => "old" };
  const found = await alone({ name: "names-3", earlier }, async (object) => [
    await object.lookup("old"),
    await object.hostname("old.example"),
  ]);
  expect(found).toEqual([{ entry, anyPrivate: true }, "old"]);
});

it("knows nobody where release 0.1.0 kept nothing", async () => {
  const found = await alone({ name: EARLIER }, async (object) => [
    await object.lookup("nobody"),
    await object.hostname("nobody.example"),
  ]);
  expect(found).toEqual([{ entry: null, anyPrivate: false }, null]);
});

it("takes some tenant for private where release 0.1.0 kept any: to see whether it is would read them all", async () => {
  const sql = [
    "CREATE TABLE tenants (id TEXT PRIMARY KEY, created TEXT, state TEXT, is_private INTEGER, jurisdiction TEXT, region TEXT)",
    "INSERT INTO tenants (id, created, state, is_private) VALUES ('old', '2026-11-20T10:00:00.000Z', 'active', 0)",
  ];
  const [old, nobody] = await alone({ name: EARLIER, sql }, async (object) => [
    await object.lookup("old"),
    await object.lookup("nobody"),
  ]);
  expect(old?.entry).toMatchObject({ id: "old", state: "active" });
  expect(nobody).toEqual({ entry: null, anyPrivate: true });
});
