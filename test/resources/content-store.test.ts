// The resource index on its real SQLite: one row per URI, ranges by keyset, tags, full-text search, and no scans.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { contentStore, type ContentMethods } from "../../src/resources/content-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { putOf } from "./stored-resources.ts";
import { contentSideOf, freshTenant, withStore } from "../support/workerd/tenant.ts";

function listed(methods: ContentMethods, about: Partial<Parameters<ContentMethods["list"]>[0]> = {}): string[] {
  return methods.list({ prefix: "", tag: null, after: null, limit: 100, ...about }).map(({ uri }) => uri);
}

function found(methods: ContentMethods, match: string, about: { prefix?: string; limit?: number } = {}): string[] {
  return methods.search({ match, prefix: "", limit: 100, ...about }).map(({ uri }) => uri);
}

describe("put", () => {
  it("stores everything that get gives back", async () => {
    await withStore(contentStore, ({ methods, clock }) => {
      const about = {
        name: "n",
        title: "t",
        description: "d",
        mimeType: "image/png",
        binary: true,
        size: 7,
        hash: "h",
        audience: ["user"],
        priority: 0.5,
        tags: ["x", "y"],
      };
      const lastModified = new Date(clock.now).toISOString();
      const revision = clock.now;
      expect(methods.put(putOf("note:a", about))).toEqual({ state: "stored", lastModified, revision, created: true });
      expect(methods.get("note:a")).toEqual({ uri: "note:a", lastModified, revision, ...about });
      expect(methods.get("note:b")).toBeUndefined();
    });
  });

  it("keeps a moment that the writer names", async () => {
    await withStore(contentStore, ({ methods }) => {
      const lastModified = "2020-01-01T00:00:00.000Z";
      expect(methods.put(putOf("note:a", { lastModified }))).toMatchObject({ state: "stored", lastModified });
      expect(methods.get("note:a")?.lastModified).toBe(lastModified);
    });
  });

  it("replaces a resource in the index, in its tags and in the search", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:a", { name: "old", tags: ["was", "both"] }, { searchText: "before" }));
      methods.put(putOf("note:a", { name: "new", tags: ["is", "both"] }, { searchText: "after" }));
      expect(listed(methods)).toEqual(["note:a"]);
      expect(methods.get("note:a")?.name).toBe("new");
      expect(methods.tags("")).toEqual([
        { tag: "both", count: 1 },
        { tag: "is", count: 1 },
      ]);
      expect([found(methods, "before"), found(methods, "old"), found(methods, "was")]).toEqual([[], [], []]);
      expect(found(methods, "after")).toEqual(["note:a"]);
    });
  });

  it("leaves what is present when told so", async () => {
    await withStore(contentStore, ({ methods, clock }) => {
      methods.put(putOf("note:a", { name: "first" }));
      const row = methods.get("note:a");
      clock.now += 1000;
      const again = putOf("note:a", { name: "second" }, { ifAbsent: true });
      expect(methods.put(again)).toEqual({ state: "present", row });
      expect(methods.get("note:a")?.name).toBe("first");
      expect(methods.put(putOf("note:b", {}, { ifAbsent: true })).state).toBe("stored");
    });
  });

  it("changes nothing when it fails", async () => {
    await withStore(contentStore, ({ methods, sql }) => {
      methods.put(putOf("note:a", { tags: ["kept"] }, { searchText: "kept" }));
      expect(() => methods.put(putOf("note:a", { name: null as never, tags: ["lost"] }))).toThrow("NOT NULL");
      expect(methods.get("note:a")?.tags).toEqual(["kept"]);
      expect(found(methods, "kept")).toEqual(["note:a"]);
      expect(methods.tags("")).toEqual([{ tag: "kept", count: 1 }]);
      expect(sql.exec("SELECT hash FROM body_garbage").toArray()).toEqual([]);
    });
  });

  it("is there after an eviction, search and all", async () => {
    const tenant = contentSideOf(freshTenant());
    const content = createRpcClient(tenant.content, contentStore);
    await content.put(putOf("note:a", { tags: ["x"] }, { searchText: "needle" }));
    await evictDurableObject(tenant.object);
    expect((await content.get("note:a"))?.tags).toEqual(["x"]);
    expect((await content.search({ match: "needle", prefix: "", limit: 1 })).map(({ uri }) => uri)).toEqual(["note:a"]);
  });
});

describe("remove", () => {
  it("takes a resource out of everything, and says whether it was there", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:a", { tags: ["x"] }, { searchText: "needle" }));
      methods.put(putOf("note:b", { tags: ["x"] }, { searchText: "needle" }));
      expect(methods.remove("note:a")).toBe(true);
      expect(methods.remove("note:a")).toBe(false);
      expect([methods.get("note:a"), listed(methods), found(methods, "needle")]).toEqual([
        undefined,
        ["note:b"],
        ["note:b"],
      ]);
      expect(methods.tags("")).toEqual([{ tag: "x", count: 1 }]);
    });
  });
});

describe("list", () => {
  const uris = ["note:", "note:a", "note:a/1", "note:a/2", "note:aa", "note:b", "note:~", "other:a"];

  it("goes by URI, in pages that never repeat or skip", async () => {
    await withStore(contentStore, ({ methods }) => {
      for (const uri of uris.toReversed()) methods.put(putOf(uri));
      const pages: string[][] = [];
      for (let after: string | null = null; ; after = pages.at(-1)?.at(-1) ?? null) {
        const page = listed(methods, { after, limit: 3 });
        if (page.length === 0) break;
        pages.push(page);
      }
      expect(pages.flat()).toEqual(uris);
      expect(pages.map(({ length }) => length)).toEqual([3, 3, 2]);
    });
  });

  it("goes on behind a URI that was removed or came in meanwhile", async () => {
    await withStore(contentStore, ({ methods }) => {
      for (const uri of uris) methods.put(putOf(uri));
      methods.remove("note:a/2");
      methods.put(putOf("note:a/0"));
      expect(listed(methods, { after: "note:a/2", limit: 2 })).toEqual(["note:aa", "note:b"]);
    });
  });

  it.each([
    ["note:", null, uris.slice(0, 7)],
    ["note:a", null, ["note:a", "note:a/1", "note:a/2", "note:aa"]],
    ["note:a/", null, ["note:a/1", "note:a/2"]],
    ["note:a", "note:a/1", ["note:a/2", "note:aa"]],
    ["note:a", "a", ["note:a", "note:a/1", "note:a/2", "note:aa"]],
    ["note:a", "z", []],
    ["%", null, []],
    ["note:_", null, []],
  ])("keeps to the prefix %j after %j", async (prefix, after, expected) => {
    await withStore(contentStore, ({ methods }) => {
      for (const uri of uris) methods.put(putOf(uri));
      expect(listed(methods, { prefix, after })).toEqual(expected);
    });
  });

  it("keeps to a tag, by keyset too", async () => {
    await withStore(contentStore, ({ methods }) => {
      for (const [at, uri] of uris.entries())
        methods.put(putOf(uri, { tags: at % 2 === 0 ? ["even", "all"] : ["all"] }));
      expect(listed(methods, { tag: "even" })).toEqual(["note:", "note:a/1", "note:aa", "note:~"]);
      expect(listed(methods, { tag: "even", after: "note:a/1", limit: 1 })).toEqual(["note:aa"]);
      expect(listed(methods, { tag: "even", prefix: "note:a" })).toEqual(["note:a/1", "note:aa"]);
      expect(listed(methods, { tag: "EVEN" })).toEqual([]);
    });
  });

  it("lists bare URIs with a prefix too", async () => {
    await withStore(contentStore, ({ methods }) => {
      for (const uri of uris) methods.put(putOf(uri));
      expect(methods.uris("note:a", 3)).toEqual(["note:a", "note:a/1", "note:a/2"]);
      expect(methods.uris("", 100)).toEqual(uris);
      expect(methods.uris("nothing", 100)).toEqual([]);
    });
  });

  it("treats a text full of SQL as a text", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:a", { tags: ["' OR 1=1 --"] }));
      expect(listed(methods, { tag: "' OR 1=1 --" })).toEqual(["note:a"]);
      expect(listed(methods, { prefix: "' OR 1=1 --" })).toEqual([]);
    });
  });
});

describe("tags", () => {
  it("counts what is used most first, within a prefix", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:a", { tags: ["x", "y"] }));
      methods.put(putOf("note:b", { tags: ["y"] }));
      methods.put(putOf("other:c", { tags: ["z", "x"] }));
      expect(methods.tags("")).toEqual([
        { tag: "x", count: 2 },
        { tag: "y", count: 2 },
        { tag: "z", count: 1 },
      ]);
      expect(methods.tags("note:")).toEqual([
        { tag: "y", count: 2 },
        { tag: "x", count: 1 },
      ]);
    });
  });
});

describe("search", () => {
  it("ranks the title over tags over the body", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:body", { name: "n" }, { searchText: "apple" }));
      methods.put(putOf("note:tag", { name: "n", tags: ["apple"] }));
      methods.put(putOf("note:title", { name: "n", title: "apple" }));
      for (let other = 0; other < 20; other += 1)
        methods.put(putOf(`note:${other}`, { name: "n" }, { searchText: "pear" }));
      expect(found(methods, "apple")).toEqual(["note:title", "note:tag", "note:body"]);
      const scores = methods.search({ match: "apple", prefix: "", limit: 3 }).map(({ score }) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      expect(scores.every((score) => score > 0)).toBe(true);
    });
  });

  it("ranks a short text with the word over a long one", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:long", { name: "n" }, { searchText: `apple ${"filler ".repeat(200)}` }));
      methods.put(putOf("note:short", { name: "n" }, { searchText: "apple pie" }));
      expect(found(methods, "apple")).toEqual(["note:short", "note:long"]);
    });
  });

  it("finds names, descriptions and the beginnings of words, whatever their case and accents", async () => {
    await withStore(contentStore, ({ methods }) => {
      methods.put(putOf("note:a", { name: "Übersicht", description: "Crème brûlée" }));
      for (const match of ["ubersicht", '"uber"*', "CREME", '"brul"*', "Übersicht brûlée"]) {
        expect(found(methods, match), match).toEqual(["note:a"]);
      }
      expect(found(methods, '"sicht"*')).toEqual([]);
    });
  });

  it("keeps to the prefix and the limit", async () => {
    await withStore(contentStore, ({ methods }) => {
      for (const uri of ["note:a", "note:b", "other:a"]) methods.put(putOf(uri, {}, { searchText: "apple" }));
      expect(found(methods, "apple", { prefix: "note:" }).toSorted()).toEqual(["note:a", "note:b"]);
      expect(found(methods, "apple", { limit: 2 })).toHaveLength(2);
    });
  });
});
