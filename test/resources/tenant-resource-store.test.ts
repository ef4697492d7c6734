// Stored resources as a Worker sees them: index in the object, bodies in KV, and what a reader gets when they disagree.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { NewResource } from "../../src/handlers/resource-store.ts";
import { MAX_RESOURCE_BYTES, createResourceStore } from "../../src/resources/tenant-resource-store.ts";
import { contentStore, type ContentRpc } from "../../src/resources/content-store.ts";
import { AppError } from "../../src/protocol/app-error.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { contentSideOf, freshTenant, inside, rowsOf } from "../support/workerd/tenant.ts";

/** A fresh tenant's store; `log` has every call that leaves the Worker, in order. */
function open() {
  const tenant = contentSideOf(freshTenant());
  const log: string[] = [];
  const logged = <T extends object>(name: string, target: T): T =>
    new Proxy(target, {
      get: (at, member) => {
        const method = Reflect.get(at, member) as unknown;
        if (typeof method !== "function") return method;
        return (...args: unknown[]) => {
          log.push(`${name}.${String(member)}`);
          return Reflect.apply(method, at, args) as unknown;
        };
      },
    });
  const content = createRpcClient(tenant.content, contentStore);
  const store = createResourceStore({
    storageKey: tenant.id,
    content: logged("index", content),
    bodies: logged("kv", env.BODIES),
  });
  return { tenant, content, store, log };
}

/** Has each retry come at once. */
function waitNoTime(): void {
  const waiting = vi.spyOn(scheduler, "wait").mockResolvedValue(undefined);
  onTestFinished(() => waiting.mockRestore());
}

/** What matters of Node's Buffer, which Workers have too: its `slice` shares the memory. */
class NodeBuffer extends Uint8Array<ArrayBuffer> {
  override slice(start?: number, end?: number): Uint8Array<ArrayBuffer> {
    return this.subarray(start, end);
  }
}

async function bodiesOf({ id }: { id: string }): Promise<string[]> {
  return (await env.BODIES.list({ prefix: `body/${id}/` })).keys.map(({ name }) => name);
}

describe("a write", () => {
  it("leaves no row that has no body when KV fails", async () => {
    waitNoTime();
    const { tenant, content } = open();
    const down = { put: () => Promise.reject(new Error("KV is down")) } as unknown as KVNamespace;
    const store = createResourceStore({ storageKey: tenant.id, content, bodies: down });
    const write = store.write({ uri: "note:a", name: "a", text: "text" });
    await expect(write).rejects.toMatchObject({ key: "busy", retryAfter: 5, cause: { message: "KV is down" } });
    expect(await content.get("note:a")).toBeUndefined();
  });

  it("uploads again when its body was collected meanwhile, and gives up with a clear error", async () => {
    waitNoTime();
    const { tenant, content } = open();
    const resents: unknown[] = [];
    let left = 2;
    const collecting: ContentRpc = Object.assign(Object.create(content) as ContentRpc, {
      claimUpload: async () => ({ state: "upload", resendToken: resents.length === 0 ? null : left }),
      put: async (resource: Parameters<ContentRpc["put"]>[0]) => {
        resents.push(resource.resendToken);
        left -= 1;
        return left >= 0 ? { state: "resend", resendToken: left } : content.put(resource);
      },
    });
    const store = createResourceStore({ storageKey: tenant.id, content: collecting, bodies: env.BODIES });
    await store.write({ uri: "note:a", name: "a", text: "text" });
    expect(resents).toEqual([null, 1, 0]);
    left = Number.MAX_SAFE_INTEGER;
    const failed: unknown = await store
      .write({ uri: "note:b", name: "b", text: "text" })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(AppError);
    expect((failed as AppError).toFailure()).toEqual({ kind: "failure", error: "busy", retryAfter: 5 });
  });

  it("gives back what is stored", async () => {
    const { store } = open();
    const written = await store.write({
      uri: "NOTE:%41?q",
      name: "n",
      title: "t",
      description: "d",
      mimeType: "text/markdown",
      audience: ["assistant"],
      priority: 0,
      tags: ["x", "x", "y"],
      text: "ä",
    });
    expect(written).toEqual({
      uri: "note:A?q",
      name: "n",
      title: "t",
      description: "d",
      mimeType: "text/markdown",
      audience: ["assistant"],
      priority: 0,
      tags: ["x", "y"],
      size: 2,
      lastModified: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(await store.get("note:A?q")).toEqual(written);
    expect(await store.read("note:%41?q")).toEqual({ ...written, text: "ä" });
  });

  it("gives back what was there even if that is deleted at once", async () => {
    const { tenant, content } = open();
    const losing: ContentRpc = Object.assign(Object.create(content) as ContentRpc, {
      put: async (resource: Parameters<ContentRpc["put"]>[0]) => {
        const done = await content.put(resource);
        await content.remove(resource.row.uri);
        return done;
      },
    });
    const first = await createResourceStore({ storageKey: tenant.id, content, bodies: env.BODIES }).write({
      uri: "note:a",
      name: "first",
      text: "1",
    });
    const store = createResourceStore({ storageKey: tenant.id, content: losing, bodies: env.BODIES });
    expect(await store.write({ uri: "note:a", name: "second", text: "2" }, { ifAbsent: true })).toEqual(first);
    expect(await content.get("note:a")).toBeUndefined();
  });

  it("gives back what was there before when it may not replace it", async () => {
    const { store } = open();
    const first = await store.write({ uri: "note:a", name: "first", text: "1" });
    expect(await store.write({ uri: "note:a", name: "second", text: "22" }, { ifAbsent: true })).toEqual(first);
    expect((await store.read("note:a"))?.text).toBe("1");
  });

  it("is seen by the next read, in whatever instance of the object", async () => {
    const { store, tenant } = open();
    for (const text of ["one", "two", "three"]) {
      await store.write({ uri: "note:a", name: "a", text });
      expect((await store.read("note:a"))?.text).toBe(text);
      await evictDurableObject(tenant.object);
      expect((await store.read("note:a"))?.text).toBe(text);
    }
    expect(await store.delete("note:a")).toBe(true);
    expect(await store.read("note:a")).toBeUndefined();
    expect(await store.delete("note:a")).toBe(false);
  });
});

describe("a refused write", () => {
  const base = { uri: "note:a", name: "a", text: "text" };
  const withoutBody: object = { text: undefined };
  const cases: [string, Partial<NewResource>][] = [
    ["a URI must start with a scheme", { uri: "a" }],
    ["a URI must not contain spaces", { uri: "note:a b" }],
    ["must not have . or .. segments", { uri: "note:/a/../b" }],
    ["must not have . or .. segments", { uri: "note:/a/%2E%2e/b" }],
    ["not of a control character", { uri: "note:%00" }],
    ["well-formed", { uri: "note:\ud800" }],
    ["at most 2048 bytes", { uri: `note:${"x".repeat(2044)}` }],
    ["name: must have 1 to 256 characters", { name: "" }],
    ["name: must be text without half of a surrogate pair", { name: "a\ud800" }],
    ["title: must be text without half of a surrogate pair", { title: "\udc00a" }],
    ["description: must be text without half of a surrogate pair", { description: "a\ud83d b" }],
    ["tags: must be text without half of a surrogate pair", { tags: ["a", "\ud800"] }],
    ["text: must be text without half of a surrogate pair", { text: "a\ud800" }],
    ["name: must have 1 to 256 characters", { name: "x".repeat(257) }],
    ["title: must have at most 256", { title: "x".repeat(257) }],
    ["description: must have at most 4096", { description: "x".repeat(4097) }],
    ["tags: must have at most 64 entries", { tags: Array.from({ length: 65 }, String) }],
    ["body: must be text or blob", withoutBody],
    ["lastModified: must be ISO 8601", { lastModified: "9999-99-99T::.Z" }],
    ["priority: must be from 0 to 1", { priority: 1.01 }],
    ["priority: must be from 0 to 1", { priority: -0.01 }],
    ["priority: must be from 0 to 1", { priority: Number.NaN }],
    ["lastModified: must be ISO 8601", { lastModified: "2026-11-21" }],
    ["lastModified: must be ISO 8601", { lastModified: "2026-11-21T10:00:00+01:00" }],
    ["tags: must have 1 to 100 characters", { tags: ["ok", ""] }],
    ["tags: must have 1 to 100 characters", { tags: ["x".repeat(101)] }],
    ["body: must have at most", { blob: new Uint8Array(MAX_RESOURCE_BYTES + 1) }],
  ];
  it.each(cases)("names the rule (%s) and has written nothing", async (rule, broken) => {
    const { store, tenant, log } = open();
    await expect(store.write({ ...base, ...broken } as NewResource)).rejects.toThrow(rule);
    expect(log).toEqual([]);
    expect(await bodiesOf(tenant)).toEqual([]);
  });

  it("does not repeat a long URI in its error", async () => {
    const { store } = open();
    await expect(store.read("x".repeat(5000))).rejects.toThrow(/^.{1,200}$/);
  });
});

describe("a body", () => {
  it("takes as many bytes as KV does", async () => {
    const { store } = open();
    await store.write({ uri: "note:big", name: "big", blob: new Uint8Array(MAX_RESOURCE_BYTES).fill(7) });
    const found = await store.read("note:big");
    expect(found?.blob?.byteLength).toBe(MAX_RESOURCE_BYTES);
    expect(found?.blob?.every((byte) => byte === 7)).toBe(true);
  });

  it.each(["", "\uFEFFwith a byte order mark", "line\r\nline\u0000\u2028", "🙂".repeat(1000)])(
    "of text comes back as it was: %j",
    async (text) => {
      const { store } = open();
      await store.write({ uri: "note:a", name: "a", text });
      expect(await store.read("note:a")).toMatchObject({ text, mimeType: "text/plain" });
    },
  );

  it("of bytes comes back as it was, whether KV has it or only the authority", async () => {
    const { store, tenant } = open();
    const blob = Uint8Array.from({ length: 256 }, (_, at) => at);
    await store.write({ uri: "note:a", name: "a", blob });
    await env.BODIES.delete((await bodiesOf(tenant))[0] ?? "");
    const found = await store.read("note:a");
    expect(found).toMatchObject({ blob, size: 256, mimeType: "application/octet-stream" });
    expect(found).not.toHaveProperty("text");
  });

  it("has nothing of the memory around it when it is part of a larger buffer", async () => {
    const { store, tenant } = open();
    const pool = Uint8Array.from("somebody else's|mine|and more", (char) => char.charCodeAt(0));
    await store.write({ uri: "note:a", name: "a", blob: new NodeBuffer(pool.buffer, 16, 4) });
    const [copy] = await rowsOf(tenant, "SELECT body FROM body_copies");
    expect(new TextDecoder().decode(copy?.body as ArrayBuffer)).toBe("mine");
    expect(new TextDecoder().decode((await store.read("note:a"))?.blob)).toBe("mine");
  });

  it("is the reader's own: what one changes, the next does not see", async () => {
    const { store } = open();
    await store.write({ uri: "note:a", name: "a", blob: Uint8Array.of(1, 2, 3) });
    (await store.read("note:a"))?.blob?.fill(0);
    expect((await store.read("note:a"))?.blob).toEqual(Uint8Array.of(1, 2, 3));
  });
});

describe("when KV does not have the body yet", () => {
  async function withoutBody() {
    const opened = open();
    await opened.store.write({ uri: "note:a", name: "a", text: "text" });
    const [key = ""] = await bodiesOf(opened.tenant);
    await env.BODIES.delete(key);
    opened.log.length = 0;
    return { ...opened, key };
  }

  it("reads the authority's copy", async () => {
    const { store, log } = await withoutBody();
    expect((await store.read("note:a"))?.text).toBe("text");
    expect(log).toEqual(["index.get", "kv.get", "index.readCopy"]);
  });

  it("asks KV again when there is no copy", async () => {
    const { store, tenant, key } = await withoutBody();
    await inside(tenant, ({ storage }) => storage.sql.exec("DELETE FROM body_copies"));
    const reading = store.read("note:a");
    await env.BODIES.put(key, "text");
    expect((await reading)?.text).toBe("text");
  });

  it("ends in an error that says to come back, and nothing of what is inside", async () => {
    const { store, tenant } = await withoutBody();
    await inside(tenant, ({ storage }) => storage.sql.exec("DELETE FROM body_copies"));
    const failed: unknown = await store.read("note:a").catch((error: unknown) => error);
    expect((failed as AppError).toFailure()).toEqual({ kind: "failure", error: "busy", retryAfter: 5 });
    expect(String(failed)).not.toContain("note:a");
  });

  it("reads the authority's copy where KV is away, and fails as KV does where there is none", async () => {
    const { content, tenant } = open();
    const put = async () => undefined;
    const get = () => Promise.reject(new Error("KV is away"));
    const store = createResourceStore({ storageKey: tenant.id, content, bodies: { get, put } as never });
    await store.write({ uri: "note:a", name: "a", text: `text of ${tenant.id}` });
    expect((await store.read("note:a"))?.text).toBe(`text of ${tenant.id}`);
    await store.write({ uri: "note:b", name: "b", text: `other of ${tenant.id}` });
    await inside(tenant, ({ storage }) => storage.sql.exec("DELETE FROM body_copies"));
    await expect(store.read("note:b")).rejects.toThrow("KV is away");
  });

  it("has a copy of small bodies only", async () => {
    const { store, tenant } = open();
    await store.write({ uri: "note:small", name: "s", blob: new Uint8Array(256 * 1024) });
    await store.write({ uri: "note:large", name: "l", blob: new Uint8Array(256 * 1024 + 1) });
    expect(await rowsOf(tenant, "SELECT length(body) AS bytes FROM body_copies")).toEqual([{ bytes: 256 * 1024 }]);
  });
});

describe("list", () => {
  it("goes through everything by its cursor", async () => {
    const { store } = open();
    for (const at of [3, 1, 2]) await store.write({ uri: `note:${at}`, name: "n", text: String(at) });
    const first = await store.list({ limit: 2 });
    expect(first.items.map(({ uri }) => uri)).toEqual(["note:1", "note:2"]);
    const second = await store.list({ limit: 2, cursor: first.cursor ?? "" });
    expect(second).toMatchObject({ items: [{ uri: "note:3" }] });
    expect(second).not.toHaveProperty("cursor");
  });

  it("gives no cursor when the last page is full", async () => {
    const { store } = open();
    for (const at of [1, 2]) await store.write({ uri: `note:${at}`, name: "n", text: String(at) });
    expect(await store.list({ limit: 2 })).not.toHaveProperty("cursor");
  });

  it.each([0, -3, 0.5])("gives one item for the limit %d", async (limit) => {
    const { store } = open();
    for (const at of [1, 2]) await store.write({ uri: `note:${at}`, name: "n", text: String(at) });
    expect((await store.list({ limit })).items).toHaveLength(1);
  });

  it.each(["", "~", "nonsense", "resources~0Acode 0"])("refuses the cursor %j", async (cursor) => {
    await expect(open().store.list({ cursor })).rejects.toThrow("the cursor is not one of this list");
  });
});
