// Search as a tool asks for it: any text is a query, all words come before any words, and nothing is an operator.

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type { ResourceStore } from "../../src/handlers/resource-store.ts";
import { createResourceStore } from "../../src/resources/tenant-resource-store.ts";
import { contentStore, type ContentRpc } from "../../src/resources/content-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const texts: Readonly<Record<string, string>> = {
  "note:both": "apple and banana",
  "note:apple": "apple apple",
  "note:banana": "bananas",
  "note:cherry": "cherry not near title",
  "doc:apple": "apple",
};

const requests: string[] = [];
let store: ResourceStore;

beforeAll(async () => {
  const tenant = freshTenant();
  const content = createRpcClient(tenant.content, contentStore);
  const watched: ContentRpc = Object.assign(Object.create(content) as ContentRpc, {
    search: (query: Parameters<ContentRpc["search"]>[0]) => {
      requests.push(query.match);
      return content.search(query);
    },
  });
  store = createResourceStore({ storageKey: tenant.id, content: watched, bodies: env.BODIES });
  for (const [uri, text] of Object.entries(texts)) await store.write({ uri, name: "n", text });
  await store.write({ uri: "note:image", name: "apple picture", blob: Uint8Array.of(1) });
});

async function found(query: string, options?: { limit?: number; prefix?: string }): Promise<string[]> {
  requests.length = 0;
  return (await store.search(query, options)).map(({ uri }) => uri);
}

describe("search", () => {
  it("gives only what has all words, where something has", async () => {
    expect(await found("apple banana")).toEqual(["note:both"]);
    expect(requests).toHaveLength(1);
  });

  it("falls back to any word where nothing has all", async () => {
    expect((await found("cherry banana")).toSorted()).toEqual(["note:banana", "note:both", "note:cherry"]);
    expect(requests).toHaveLength(2);
  });

  it("asks once for a single word that is nowhere", async () => {
    expect(await found("durian")).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  it("finds by the beginnings of words, in every case and width", async () => {
    expect(await found("BANAN")).toHaveLength(2);
    expect(await found("ｃｈｅｒｒｙ")).toEqual(["note:cherry"]);
  });

  it("finds a binary resource by its name", async () => {
    expect(await found("picture")).toEqual(["note:image"]);
  });

  it.each(["", "   ", "*", '"', "()", "-- ;", "🙂"])("finds nothing for %j and asks nobody", async (query) => {
    expect(await found(query)).toEqual([]);
    expect(requests).toEqual([]);
  });

  it.each([
    ['"cherry', ["note:cherry"]],
    ["cherry*", ["note:cherry"]],
    ["cherry NOT title", ["note:cherry"]],
    ["NEAR(cherry title)", ["note:cherry"]],
    ["title: cherry", ["note:cherry"]],
    ["^cherry", ["note:cherry"]],
    ["cherry' OR '1'='1", expect.arrayContaining(["note:cherry"])],
  ])("reads %j as words", async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it("keeps to prefix and limit", async () => {
    expect(await found("apple", { prefix: "doc:" })).toEqual(["doc:apple"]);
    expect(await found("apple", { limit: 1 })).toHaveLength(1);
    expect(await found("apple", { limit: 0 })).toHaveLength(1);
    expect((await found("apple", { limit: 1e9 })).length).toBe(4);
  });

  it("looks at the first words of an endless query", async () => {
    await found("word ".repeat(10_000));
    expect(requests.map((match) => match.match(/"word"/g)?.length)).toEqual([16, 16]);
    await found(`${"\ufdfa".repeat(500_000)} word`);
    expect(Math.max(...requests.map((match) => match.length))).toBeLessThan(20_000);
  });

  it("takes the last word alone for a beginning, and no single Latin letter", async () => {
    expect(await found("banan apple")).toEqual(expect.arrayContaining(["note:apple", "note:both"]));
    expect(requests[0]).toBe('"banan" "apple"*');
    await found("a b");
    expect(requests[0]).toBe('"a" "b"');
    await found("\u8336");
    expect(requests[0]).toBe('"\u8336"*');
  });

  it("forgets what was deleted", async () => {
    await store.write({ uri: "note:soon", name: "ephemeral", text: "x" });
    expect(await found("ephemeral")).toEqual(["note:soon"]);
    await store.delete("note:soon");
    expect(await found("ephemeral")).toEqual([]);
  });
});
