// The store as one view may use it: what the view hides is not there, and hides nothing that lies behind it.

import { resolveLimits } from "../../src/limits/limit-definitions.ts";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ViewRequestHandlers } from "../../src/catalog/view-request-handlers.ts";
import { defineResource } from "../../src/handlers/resource.ts";
import type { ResourceStore } from "../../src/handlers/resource-store.ts";
import { createResourceStore } from "../../src/resources/tenant-resource-store.ts";
import { contentStore } from "../../src/resources/content-store.ts";
import { createViewStore } from "../../src/resources/view-store.ts";
import { createView } from "../../src/catalog/view.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { putOf } from "./stored-resources.ts";
import { freshTenant, type FreshTenant } from "../support/workerd/tenant.ts";

const storeOf = ({ id, content }: FreshTenant) =>
  createResourceStore({ storageKey: id, content: createRpcClient(content, contentStore), bodies: env.BODIES });
const SIGHT = {
  cacheScope: "private",
  configOf: () => undefined,
  settings: () => ({}),
} as const;
const seenStore = ({ id, content }: FreshTenant) =>
  createViewStore(
    {
      storageKey: id,
      bodies: env.BODIES,
      limits: resolveLimits(),
      access: {
        ...SIGHT,
        resourcePatterns: [{ deny: ["note:hidden*"] }],
        sees: (uri) => !uri.startsWith("note:hidden"),
      },
    },
    content,
  );

describe("what a view hides", () => {
  let store: ResourceStore;
  let whole: ResourceStore;
  beforeAll(async () => {
    const tenant = freshTenant();
    whole = storeOf(tenant);
    for (const name of ["a", "hidden", "hidden/2", "z"]) {
      await whole.write({ uri: `note:${name}`, name, text: "apple", tags: [name.slice(0, 6)] });
    }
    store = seenStore(tenant);
  });

  it("is neither listed nor found nor counted", async () => {
    expect((await store.list()).items.map(({ uri }) => uri)).toEqual(["note:a", "note:z"]);
    expect((await store.search("apple")).map(({ uri }) => uri).toSorted()).toEqual(["note:a", "note:z"]);
    expect((await store.search("apple", { limit: 1 })).length).toBe(1);
    expect((await store.tags()).map(({ tag }) => tag).toSorted()).toEqual(["a", "z"]);
    expect(await store.uris("note:", 100)).toEqual(["note:a", "note:z"]);
  });

  it.each(["note:hidden", "NOTE:hidden", "note:%68idden", "note:hidden/2"])(
    "is not there as %s, for whoever reads, deletes or writes",
    async (uri) => {
      expect([await store.get(uri), await store.read(uri), await store.delete(uri)]).toEqual([
        undefined,
        undefined,
        false,
      ]);
      // Thrown or rejected, whatever the store does.
      await expect((async () => store.write({ uri, name: "n", text: "mine" }))()).rejects.toThrow("is not writable");
      expect((await whole.read("note:hidden"))?.text).toBe("apple");
    },
  );

  it("is no URI either where it is none", async () => {
    expect([await store.get("no uri"), await store.delete("no uri")]).toEqual([undefined, false]);
  });

  it("hides nothing of the rest", async () => {
    expect((await store.read("note:a"))?.text).toBe("apple");
    await store.write({ uri: "note:new", name: "new", text: "new" });
    expect(await store.delete("note:new")).toBe(true);
  });
});

describe("search through a view", () => {
  const WORDS = ["apple", "apples", "banana", "hunter", "hunter2", "z"];
  const pick = (at: number, round: number) => WORDS[(at * 7 + round * 3) % WORDS.length] ?? "apple";

  /** What is shown is the same in both; only the second tenant has hidden notes between. */
  async function pair(): Promise<[ResourceStore, ResourceStore]> {
    const tenants = [freshTenant(), freshTenant()] as const;
    for (const [which, tenant] of tenants.entries()) {
      const store = storeOf(tenant);
      for (let at = 0; at < 12; at += 1) {
        const text = `${pick(at, 1)} ${pick(at, 2)} ${at % 3 === 0 ? "common" : "rare"}`;
        const hidden = {
          uri: `note:hidden/${at}`,
          name: "hunter2 apple",
          text: "common rare hunter2xyz apple",
          tags: ["h"],
        };
        if (which === 1) await store.write(hidden);
        await store.write({ uri: `note:${at}`, name: pick(at, 3), text, tags: [pick(at, 4)] });
      }
    }
    return [seenStore(tenants[0]), seenStore(tenants[1])];
  }

  it("answers the same, to scores and order, with and without hidden texts", async () => {
    const [without, withHidden] = await pair();
    const queries = WORDS.flatMap((one) => ["", ...WORDS, "common", "hunter2xyz"].map((two) => `${one} ${two}`));
    for (const query of [...queries, "h", "hu", "hunter2x", "common rare", "nothing common"]) {
      for (const limit of [1, 10]) {
        const [a, b] = [await without.search(query, { limit }), await withHidden.search(query, { limit })];
        expect(b.map(({ uri, score }) => [uri, score])).toEqual(a.map(({ uri, score }) => [uri, score]));
      }
    }
    expect(await withHidden.tags()).toEqual(await without.tags());
  }, 120_000);

  it("puts what has the words in its title before what has them in its text", async () => {
    const tenant = freshTenant();
    const store = storeOf(tenant);
    await store.write({ uri: "note:title", name: "apple", text: "x" });
    await store.write({ uri: "note:tag", name: "y", text: "x", tags: ["apple"] });
    await store.write({ uri: "note:text", name: "z", text: "apple" });
    const found = await seenStore(tenant).search("apple");
    expect(found.map(({ uri }) => uri)).toEqual(["note:title", "note:tag", "note:text"]);
  });
});

describe("a list through a view", () => {
  /** More than a page of the view looks through. */
  const HIDDEN = 620;

  async function listed(inCode: number, hidden: number): Promise<string[]> {
    const tenant = freshTenant();
    const content = createRpcClient(tenant.content, contentStore);
    const uris = Array.from({ length: hidden }, (_none, at) => `note:0/${String(at).padStart(4, "0")}`);
    await Promise.all([...uris, "note:a", "note:z"].map((uri) => content.put(putOf(uri))));
    const resources = Array.from({ length: inCode }, (_none, at) =>
      defineResource({ uri: `code:${at}`, name: "n", text: "t" }),
    );
    const catalog = { server: { name: "t", version: "1" }, instructions: undefined, tools: [], prompts: [], resources };
    const document = { profiles: { p: { resources: { deny: ["note:0/*"] } } } };
    const policy = { document, suspensions: [], deprecatedNames: [] };
    const view = createView(createTenantCatalog(catalog, createManagedTenant(tenant.id), { policy, version: 1 }), {
      profile: "p",
      scopes: undefined,
    });
    const handlers = new ViewRequestHandlers(view, requestScopeOf(tenant, { access: view }));
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await handlers.listResources(cursor, callOf());
      if (isFailure(page)) throw new Error(page.message);
      found.push(...page.items.map(({ uri }) => String(uri)));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  }

  it("goes on behind more hidden ones than a page looks through", async () => {
    expect(await listed(0, HIDDEN)).toEqual(["note:a", "note:z"]);
  });

  it("goes on behind a full page of resources in code and hidden ones", async () => {
    const found = await listed(100, 10);
    expect(found).toHaveLength(102);
    expect(found.slice(100)).toEqual(["note:a", "note:z"]);
  });
});
