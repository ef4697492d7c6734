// A Worker without the admin API: nobody enters names, so it finds none, and stores nothing.

import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { DirectoryLookups } from "../../../src/tenants/directory/lookups-object.ts";

it("knows nobody, and makes no tables", async () => {
  // The half that every Worker has, over the storage of another class's object.
  await runInDurableObject(exports.UpstreamObject.getByName("names-3"), async (_instance, ctx) => {
    const object = new DirectoryLookups(ctx, {} as Cloudflare.Env);
    expect(await object.lookup("nobody")).toEqual({ entry: null });
    expect(await object.hostname("nobody.example")).toBeNull();
    expect(
      ctx.storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
    ).toEqual([]);
  });
});
