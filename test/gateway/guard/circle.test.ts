// Upstreams that lead back to their own tenant, by themselves or by way of others: nothing is listed twice, calls end,
// and who guesses at marks learns nothing.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LEADS_BACK, VIA, ViaHeard, viaOfAnswer, viaOfCall } from "../../../src/gateway/guard/circle.ts";
import { gatewayTables } from "../../../src/gateway/gateway-tables.ts";
import { createWorker, defineResource, defineTool, gateway } from "../../../src/tenantry.ts";
import type { KeyRing } from "../../../src/auth/seal.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../../support/worker/deployed.ts";
import { inside, type FreshTenant } from "../../support/worker/tenant.ts";
import { upstreamAt } from "../../support/worker/upstreams.ts";

type Json = Record<string, unknown>;

const worker = createWorker({
  tenants: {},
  tools: [defineTool({ name: "add", handler: () => "added" })],
  features: [gateway()],
});
const open: TenantDocument = { mode: "open", maxStalenessMs: 50 };

/** The same Worker at a host of its own. */
const host = (): string =>
  new URL(upstreamAt((request) => worker.fetch(request, env, createExecutionContext()))).origin;

async function rewrite({ stub }: FreshTenant, document: TenantDocument): Promise<void> {
  const policy = remote(stub, policyTables);
  const ifRevision = (await policy.read(false))?.revision ?? 0;
  const whole = { own: { ...open, ...document }, effective: { ...open, ...document }, retired: [] };
  await policy.write({ ...whole, ifRevision, actor: { name: "ann" }, action: "apply" });
}

async function ask({ id }: FreshTenant, method: string, params: Json = {}, headers: Record<string, string> = {}) {
  const response = await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params }, headers });
  const text = await response.text();
  const body = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { readonly result?: Json; readonly error?: Json };
  return { ...body, via: response.headers.get(VIA) };
}

async function listed(tenant: FreshTenant) {
  const { result = {} } = await ask(tenant, "tools/list");
  const names = (result["tools"] as { readonly name: string }[]).map(({ name }) => name);
  const meta = result["_meta"] as { readonly "tenantry/missing"?: readonly { readonly why: string }[] } | undefined;
  return { names, why: meta?.["tenantry/missing"]?.map(({ why }) => why) ?? [] };
}

/** Has everything read anew, and gives what is listed then. */
async function readAgain(tenant: FreshTenant, document: TenantDocument) {
  const readings = async () => remote(tenant.stub, gatewayTables).readings();
  const before = Math.max(...(await readings()).map(({ readAt }) => readAt));
  await inside(tenant, ({ storage }) => void storage.sql.exec("UPDATE upstreams SET due_at = 0"));
  // A new version of the policy is looked after at once.
  await rewrite(tenant, { ...document, profiles: { more: {} } });
  await expect
    .poll(async () => (await listed(tenant)) && (await readings()).every(({ readAt }) => readAt > before))
    .toBe(true);
  return listed(tenant);
}

describe("a tenant that is its own upstream", () => {
  it("lists nothing of itself twice, and says why", async () => {
    const tenant = await servedTenant(open);
    await rewrite(tenant, { profiles: { all: {} }, upstreams: { me: { url: `${host()}/mcp/${tenant.id}` } } });
    await expect.poll(async () => (await listed(tenant)).why, { timeout: 10_000 }).toEqual([LEADS_BACK]);
    expect((await listed(tenant)).names).toEqual(["add"]);
    await rewrite(tenant, { profiles: { all: {} }, upstreams: { me: { url: `${host()}/mcp/${tenant.id}/all` } } });
    await expect.poll(async () => (await listed(tenant)).why, { timeout: 10_000 }).toEqual([LEADS_BACK]);
  });

  it("is found out in era 2025, too", async () => {
    const tenant = await servedTenant(open);
    await rewrite(tenant, { upstreams: { me: { url: `${host()}/mcp/${tenant.id}`, era: "2025" } } });
    await expect.poll(async () => (await listed(tenant)).why, { timeout: 10_000 }).toEqual([LEADS_BACK]);
  });
});

describe("a ring of tenants", () => {
  it("ends where it comes round: one of two lists the other, and nothing grows", async () => {
    const [one, two] = [await servedTenant(open), await servedTenant(open)];
    const ofOne = { upstreams: { two: { url: `${host()}/mcp/${two.id}` } } };
    const ofTwo = { upstreams: { one: { url: `${host()}/mcp/${one.id}` } } };
    await rewrite(one, ofOne);
    await expect.poll(async () => (await listed(one)).names, { timeout: 10_000 }).toEqual(["add", "two__add"]);
    await rewrite(two, ofTwo);
    await expect.poll(async () => (await listed(two)).why, { timeout: 10_000 }).toEqual([LEADS_BACK]);
    expect((await listed(two)).names).toEqual(["add"]);
    expect(await readAgain(one, ofOne)).toEqual({ names: ["add", "two__add"], why: [] });
  });

  it("is found out over a third, which only passes on what it read", async () => {
    const [one, two, three] = [await servedTenant(open), await servedTenant(open), await servedTenant(open)];
    await rewrite(two, { upstreams: { next: { url: `${host()}/mcp/${three.id}` } } });
    await expect.poll(async () => (await listed(two)).names, { timeout: 10_000 }).toEqual(["add", "next__add"]);
    const ofOne = { upstreams: { next: { url: `${host()}/mcp/${two.id}` } } };
    await rewrite(one, ofOne);
    const chain = ["add", "next__add", "next__next__add"];
    await expect.poll(async () => (await listed(one)).names, { timeout: 10_000 }).toEqual(chain);
    await rewrite(three, { upstreams: { next: { url: `${host()}/mcp/${one.id}` } } });
    await expect.poll(async () => (await listed(three)).why, { timeout: 10_000 }).toEqual([LEADS_BACK]);
    expect((await listed(three)).names).toEqual(["add"]);
    expect((await ask(one, "tools/call", { name: "next__next__add", arguments: {} })).result).toMatchObject({
      content: [{ type: "text", text: "added" }],
    });
  });

  it("is gone from the lists once its reading comes round, whatever was listed before", async () => {
    const [one, two] = [await servedTenant(open), await servedTenant(open)];
    const ofOne = { upstreams: { two: { url: `${host()}/mcp/${two.id}` } } };
    await rewrite(one, ofOne);
    await expect.poll(async () => (await listed(one)).names, { timeout: 10_000 }).toContain("two__add");
    await rewrite(one, {});
    await rewrite(two, { upstreams: { one: { url: `${host()}/mcp/${one.id}` } } });
    await expect.poll(async () => (await listed(two)).names, { timeout: 10_000 }).toContain("one__add");
    await rewrite(one, ofOne);
    await expect.poll(async () => (await listed(one)).why, { timeout: 10_000 }).toEqual([LEADS_BACK]);
    expect((await listed(one)).names).toEqual(["add"]);
    expect((await listed(two)).names).toEqual(["add", "one__add"]);
  });
});

describe("a call that comes round", () => {
  it("ends at the tenant's upstreams, with the reason", async () => {
    const files = createWorker({
      tenants: {},
      features: [gateway()],
      resources: [defineResource({ uri: "note://own", name: "own", text: "own" })],
    });
    let hops = 0;
    const at = new URL(
      upstreamAt((request) => {
        hops += 1;
        return files.fetch(request, env, createExecutionContext());
      }),
    ).origin;
    const [one, two] = [await servedTenant(open), await servedTenant(open)];
    // Each says that the other has these, though neither lists any.
    await rewrite(one, { upstreams: { two: { url: `${at}/mcp/${two.id}`, uris: ["file:///"] } } });
    const list = async ({ id }: FreshTenant) =>
      (await sendTo(files, id, { message: { jsonrpc: "2.0", id: 1, method: "resources/list" } })).text();
    await expect.poll(async () => list(one), { timeout: 10_000 }).not.toContain("tenantry/missing");
    await rewrite(two, { upstreams: { one: { url: `${at}/mcp/${one.id}`, uris: ["file:///"] } } });
    await expect.poll(async () => list(two), { timeout: 10_000 }).toContain(LEADS_BACK);
    // What was read of it before stays known to this isolate for a moment: the call is what ends.
    hops = 0;
    const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "file:///a" } };
    const answered = await (await sendTo(files, one.id, { message })).text();
    expect(answered).toContain('"error"');
    expect(hops).toBeLessThanOrEqual(3);
  });

  it("is refused where it brings this tenant's mark, and no other", async () => {
    const [one, two] = [await servedTenant(open), await servedTenant(open)];
    const seen: (string | null)[] = [];
    const at = new URL(
      upstreamAt((request) => {
        seen.push(request.headers.get(VIA));
        return worker.fetch(request, env, createExecutionContext());
      }),
    ).origin;
    await rewrite(one, { upstreams: { two: { url: `${at}/mcp/${two.id}` } } });
    await expect.poll(async () => (await listed(one)).names, { timeout: 10_000 }).toContain("two__add");
    seen.length = 0;
    const call = async (headers: Record<string, string> = {}) =>
      ask(one, "tools/call", { name: "two__add", arguments: {} }, headers);
    expect((await call()).result).toBeDefined();
    const mark = seen.find((via) => via !== null) ?? "";
    expect(mark).toMatch(/^[\w-]{38}$/);
    const { error } = await call({ [VIA]: mark });
    expect(error).toMatchObject({ message: `two: ${LEADS_BACK}`, data: { server: "two", fault: "circle" } });
    // Its own things are had all the same, and so is everything by who makes a mark up.
    expect((await ask(one, "tools/call", { name: "add", arguments: {} }, { [VIA]: mark })).result).toBeDefined();
    seen.length = 0;
    expect((await call({ [VIA]: `${"a".repeat(38)}, <script>, ${"b".repeat(9000)}` })).result).toBeDefined();
    expect(seen.at(-1)).toBe(`${"a".repeat(38)},${mark}`);
  });
});

describe("a mark", () => {
  const ringOf = (id: string): KeyRing => [{ id, secret: crypto.getRandomValues(new Uint8Array(32)) }];
  const heardOf = async (via: string) => {
    const heard = new ViaHeard();
    await heard.through(async () => new Response(null, { headers: { [VIA]: via } }))("", {} as never);
    return heard;
  };

  it("tells nobody but its tenant anything: no two are alike, none has a name in it", async () => {
    const [own, other] = [ringOf("own"), ringOf("other")];
    const [first, second] = [await viaOfAnswer(own, []), await viaOfAnswer(own, [])];
    expect(first).not.toBe(second);
    expect(await (await heardOf(first)).refusal(async () => own)).toBe(LEADS_BACK);
    expect(await (await heardOf(first)).refusal(async () => other)).toBeUndefined();
  });

  it("of an answer is none of a call: who heard it finds no tenant with it", async () => {
    const own = ringOf("own");
    const heard = await viaOfAnswer(own, []);
    expect(await viaOfCall(own, heard)).toContain(heard);
    expect(await (await heardOf((await viaOfCall(own, null)) ?? "")).refusal(async () => own)).toBeUndefined();
  });

  it("is known again after the tenant's key was changed", async () => {
    const [old] = [ringOf("old")];
    const heard = await heardOf(await viaOfAnswer(old, []));
    expect(await heard.refusal(async () => [...ringOf("new"), ...old])).toBe(LEADS_BACK);
  });

  it("is one of a hundred at most: what leads through more is refused", async () => {
    const own = ringOf("own");
    const many = Array.from({ length: 99 }, () => "a".repeat(38)).join();
    const heard = await heardOf(await viaOfAnswer(own, [many]));
    expect(heard.via?.split(",").length).toBe(100);
    const more = await heardOf(await viaOfAnswer(own, [many, "b".repeat(38)]));
    expect(await more.refusal(async () => ringOf("x"))).toContain("more than 100 tenants");
  });

  it("is told to nobody but a Worker that reads", async () => {
    const tenant = await servedTenant(open);
    const headers = { "tenantry-hops": "1" };
    expect((await ask(tenant, "tools/list", {}, { ...headers, [VIA]: "?" })).via).toMatch(/^[\w-]{38}$/);
    expect((await ask(tenant, "tools/list", {}, headers)).via).toBeNull();
    expect((await ask(tenant, "tools/list", {}, { [VIA]: "?" })).via).toBeNull();
  });
});
