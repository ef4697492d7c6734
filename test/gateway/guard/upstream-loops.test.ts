import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { gatewayStore } from "../../../src/gateway/gateway-store.ts";
import { createWorker, defineResource, defineTool, gateway } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { inside, type FreshTenant } from "../../support/workerd/tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;

const worker = createWorker({
  tenants: {},
  tools: [
    defineTool({ name: "add", handler: () => "added" }),
    // Others have such names, too: they say nothing of a way.
    defineTool({ name: "a__b__c__d__e__f", handler: () => "six" }),
  ],
  resources: [
    defineResource({ uri: "note://own", name: "own", text: "own" }),
    defineResource({ uri: "ui://panel", name: "panel", mimeType: "text/html", text: "<p>panel</p>" }),
  ],
  features: [gateway()],
});
const open: TenantDocument = { mode: "open", maxStalenessMs: 50 };
/** More than the upstreams in a row that are listed. */
const REFRESHES = 6;

/** The same Worker at a host of its own. */
function host(reached: () => void = () => {}): string {
  return new URL(
    upstreamAt((request) => {
      reached();
      return worker.fetch(request, env, createExecutionContext());
    }),
  ).origin;
}

async function rewrite({ stub }: FreshTenant, document: TenantDocument): Promise<void> {
  const policy = createRpcClient(stub, policyStore);
  const ifRevision = (await policy.read(false))?.revision ?? 0;
  const whole = { own: { ...open, ...document }, effective: { ...open, ...document }, deprecatedNames: [] };
  await policy.write({ ...whole, ifRevision, actor: { name: "ann" }, action: "apply" });
}

async function ask({ id }: FreshTenant, method: string, params: Json = {}) {
  const response = await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params } });
  const text = await response.text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { readonly result?: Json; readonly error?: Json };
}

interface Listed {
  readonly name: string;
  readonly uri?: string;
  readonly _meta?: Json;
}

async function listed(tenant: FreshTenant, kind: "tools" | "resources" = "tools") {
  const { result = {} } = await ask(tenant, `${kind}/list`);
  const items = result[kind] as readonly Listed[];
  const meta = result["_meta"] as { readonly "tenantry/missing"?: readonly { readonly why: string }[] } | undefined;
  return { items, why: meta?.["tenantry/missing"]?.map(({ why }) => why) ?? [] };
}

const readings = async ({ stub }: FreshTenant) => createRpcClient(stub, gatewayStore).getRefreshStates();

/** Has everything read anew. */
async function readAgain(tenant: FreshTenant, document: TenantDocument): Promise<void> {
  const before = Math.max(0, ...(await readings(tenant)).map(({ readAt }) => readAt));
  await inside(tenant, ({ storage }) => void storage.sql.exec("UPDATE upstreams SET due_at = 0"));
  // A new version of the policy is looked after at once.
  await rewrite(tenant, { ...document, profiles: { [`p${crypto.randomUUID()}`]: {} } });
  await expect
    .poll(async () => {
      await listed(tenant);
      const all = await readings(tenant);
      return all.length > 0 && all.every(({ readAt }) => readAt > before);
    })
    .toBe(true);
}

const REASON = "comes through more than 3 gateways in a row";

describe.each(["2025", "2026"] as const)("two tenants that have each other, in era %s", (era) => {
  it("list tools through at most four upstreams, however often they are read", async () => {
    const [one, two] = [await servedTenant(open), await servedTenant(open)];
    const at = host();
    const ofOne = { upstreams: { two: { url: `${at}/mcp/${two.id}`, era } } };
    const ofTwo = { upstreams: { one: { url: `${at}/mcp/${one.id}`, era } } };
    for (let round = 0; round < REFRESHES; round += 1) {
      await readAgain(one, ofOne);
      await readAgain(two, ofTwo);
    }
    const names = (items: readonly Listed[]) => items.map(({ name }) => name).filter((name) => name.endsWith("add"));
    const { items, why } = await listed(one);
    expect(names(items)).toEqual(["add", "two__add", "two__one__add", "two__one__two__add", "two__one__two__one__add"]);
    expect(items).toHaveLength(10);
    expect(why).toEqual([expect.stringContaining(REASON)]);
    expect((await listed(two)).items).toHaveLength(10);
    const { items: resources } = await listed(one, "resources");
    expect(resources.map(({ uri }) => uri)).toEqual([
      "note://own",
      "ui://panel",
      "ui://two/panel",
      "ui://two/one/panel",
      "ui://two/one/two/panel",
      "ui://two/one/two/one/panel",
    ]);
    // All of it can be had.
    const called = await ask(one, "tools/call", { name: "two__one__two__one__add", arguments: {} });
    expect(called.result).toMatchObject({ content: [{ type: "text", text: "added" }] });
  });
});

it("a definition says which names it has behind its listed one, the nearest first", async () => {
  const [one, two] = [await servedTenant(open), await servedTenant(open)];
  const at = host();
  await readAgain(two, { upstreams: { me: { url: `${at}/mcp/${two.id}` } } });
  await readAgain(one, { upstreams: { two: { url: `${at}/mcp/${two.id}` } } });
  const { items } = await listed(one);
  const own = (name: string) => items.find((tool) => tool.name === name)?._meta?.["tenantry/name"];
  expect(own("add")).toBeUndefined();
  expect(own("two__add")).toBe("add");
  expect(own("two__me__add")).toEqual(["me__add", "add"]);
});

describe.each(["2025", "2026"] as const)("a call that returns to its tenant, in era %s", (era) => {
  it("ends after eight hops", async () => {
    let hops = 0;
    const at = host(() => {
      hops += 1;
    });
    const [one, two] = [await servedTenant(open), await servedTenant(open)];
    // Each says that the other has these, though neither lists any.
    await readAgain(one, { upstreams: { two: { url: `${at}/mcp/${two.id}`, uris: ["file:///"], era } } });
    await readAgain(two, { upstreams: { one: { url: `${at}/mcp/${one.id}`, uris: ["file:///"], era } } });
    hops = 0;
    const { error } = await ask(one, "resources/read", { uri: "file:///a" });
    expect(error).toMatchObject({ message: expect.stringContaining("loop of tools") as string });
    // A session of era 2025 begins with two requests at each hop.
    expect(hops).toBeGreaterThanOrEqual(8);
    expect(hops).toBeLessThanOrEqual(era === "2026" ? 9 : 40);
  });
});
