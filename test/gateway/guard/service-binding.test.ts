// Service bindings that the author exposes and an operator grants. The service is the Worker of the fixtures itself.

import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import { createWorker, gateway } from "../../../src/tenantry.ts";
import { gatewayStore } from "../../../src/gateway/gateway-store.ts";
import { tryUpstream } from "../../../src/gateway/operate/try-upstream.ts";
import type { Services } from "../../../src/gateway/guard/service-binding.ts";
import { createRefreshClaim } from "../../../src/gateway/refresh-scheduler.ts";
import { findBrokenUpstreams } from "../../../src/gateway/upstream-rules.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { inside, type FreshTenant } from "../../support/workerd/tenant.ts";
import { upstreamAt, upstreamContextOf } from "../../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;

const requests: Request[] = [];
const self = (exports as unknown as { readonly default: Fetcher }).default;
const SELF = () => ({
  fetch: async (request: Request) => {
    requests.push(request);
    return self.fetch(request);
  },
});
const worker = createWorker({ tenants: {}, features: [gateway({ serviceBindings: { SELF } })] });

const documentWith = (services: readonly string[] | undefined, more: TenantDocument = {}): TenantDocument => ({
  mode: "open",
  maxStalenessMs: 50,
  upstreams: { lab: { service: "SELF", path: "/mcp/lab", headers: { "x-own": "ours" } } },
  ...(services && { serviceBindings: services }),
  ...more,
});

async function ask({ id }: FreshTenant, method: string, params: Json = {}, headers: Record<string, string> = {}) {
  const response = await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params }, headers });
  const text = await response.text();
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return JSON.parse(json) as { readonly result?: Json; readonly error?: { readonly message: string } };
}

async function listed(tenant: FreshTenant) {
  const { result = {} } = await ask(tenant, "tools/list");
  const names = (result["tools"] as { readonly name: string }[]).map(({ name }) => name);
  const meta = result["_meta"] as { readonly "tenantry/missing"?: readonly { readonly why: string }[] } | undefined;
  return { count: names.length, first: names[0], why: meta?.["tenantry/missing"]?.map(({ why }) => why) };
}

async function rewrite({ stub }: FreshTenant, document: TenantDocument): Promise<void> {
  const policy = createRpcClient(stub, policyStore);
  const ifRevision = (await policy.read(false))?.revision ?? 0;
  await policy.write({
    own: document,
    effective: document,
    deprecatedNames: [],
    ifRevision,
    actor: { name: "ann" },
    action: "apply",
  });
}

describe("a service that is granted", { timeout: 30_000 }, () => {
  it("is listed and called; nothing of the caller goes there, and a hop is counted", async () => {
    const tenant = await servedTenant(documentWith(["SELF"]));
    await expect.poll(async () => (await listed(tenant)).first, { timeout: 20_000 }).toMatch(/^lab__/);
    requests.length = 0;
    const name = (await listed(tenant)).first ?? "";
    const { id, token, hash } = await createKey();
    const key = { id, hash, name: "k", scopes: null, profile: null, expires: null };
    await createRpcClient(tenant.stub, policyStore).addKey(key, { name: "ann" });
    const headers = { authorization: `Bearer ${token}`, cookie: "a=b", "x-own": "theirs", "tenantry-hops": "2" };
    await ask(tenant, "tools/call", { name, arguments: {} }, headers);
    expect(requests.length).toBeGreaterThan(0);
    for (const request of requests) {
      expect(new URL(request.url).pathname).toBe("/mcp/lab");
      expect(request.headers.get("authorization")).toBeNull();
      expect(request.headers.get("cookie")).toBeNull();
      expect(request.headers.get("x-own")).toBe("ours");
      expect(request.headers.get("tenantry-hops")).toBe("3");
    }
  });

  it("offers nothing from the lease on in which the grant is gone, and says so", async () => {
    const tenant = await servedTenant(documentWith(["SELF"]));
    await expect.poll(async () => (await listed(tenant)).first, { timeout: 20_000 }).toMatch(/^lab__/);
    const name = (await listed(tenant)).first ?? "";
    await rewrite(tenant, documentWith([]));
    const why = ["the service SELF is not granted to this tenant"];
    await expect.poll(() => listed(tenant)).toEqual({ count: 0, first: undefined, why });
    requests.length = 0;
    expect((await ask(tenant, "tools/call", { name, arguments: {} })).error?.message).toBe(`Unknown tool: ${name}`);
    expect(requests).toEqual([]);
  });
});

describe("a service that is not granted", { timeout: 30_000 }, () => {
  it("is neither read nor tried", async () => {
    const document = documentWith(undefined);
    const tenant = await servedTenant(document);
    const why = ["the service SELF is not granted to this tenant"];
    await expect.poll(() => listed(tenant)).toEqual({ count: 0, first: undefined, why });
    const context = upstreamContextOf(tenant, document);
    requests.length = 0;
    const tried = await tryUpstream(context, "lab", { services: { SELF }, pages: Infinity });
    expect(tried).toMatchObject({ fault: why[0], causes: [{ code: "service-missing" }] });
    expect(requests).toEqual([]);
  });
});

/** Of an upstream that was read in vain some time ago and is not being read again. */
const LATE = `UPDATE upstreams SET failures = 10, due_at = due_at + 600000, read_at = read_at - 60000
  WHERE failing_since IS NOT NULL AND claimed_until = 0 RETURNING id`;

describe("an upstream that the Worker was not allowed to read", { timeout: 30_000 }, () => {
  /** Its turn would come in ten minutes. */
  const putOff = async (tenant: FreshTenant) => {
    const late = () => inside(tenant, ({ storage }) => storage.sql.exec(LATE).toArray().length);
    await expect.poll(late, { timeout: 20_000 }).toBe(1);
  };

  it("is read as soon as its service is granted", async () => {
    const tenant = await servedTenant(documentWith([]));
    await expect.poll(() => listed(tenant)).toMatchObject({ count: 0 });
    await putOff(tenant);
    await rewrite(tenant, documentWith(["SELF"]));
    await expect.poll(async () => (await listed(tenant)).first, { timeout: 10_000 }).toMatch(/^lab__/);
  });

  it("is tried again as soon as the service is granted", async () => {
    const url = upstreamAt(() => new Response(null, { status: 404 })).replace("https://", "http://");
    const upstreams = { lab: { url } };
    const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const lists = async (OUTBOUND_ALLOW: string) =>
      (await sendTo(worker, tenant.id, { message, at: { ...env, OUTBOUND_ALLOW } })).text();
    await expect.poll(() => lists("")).toContain("outbound request refused (scheme)");
    await putOff(tenant);
    const readAt = async () => (await createRpcClient(tenant.stub, gatewayStore).getRefreshStates())[0]?.readAt ?? 0;
    const before = await readAt();
    // A deployment with another list begins with an isolate that knows of no turns.
    await rewrite(tenant, { mode: "open", maxStalenessMs: 60, upstreams });
    const read = async () => (await lists(new URL(url).host)) !== "" && (await readAt()) > before;
    await expect.poll(read, { timeout: 10_000 }).toBe(true);
  });

  it("is tried again after a change of grants, services or bounds, and of nothing else", () => {
    const allowedIn = (document: TenantDocument, services: Services, more: object = {}) =>
      createRefreshClaim({ document, revision: 1, env: { ...more } }, services).upstreams.map(
        ({ accessDigest }) => accessDigest,
      );
    const all = [
      allowedIn(documentWith(["SELF"]), { SELF }),
      allowedIn(documentWith([]), { SELF }),
      allowedIn(documentWith(["SELF"]), {}),
      allowedIn(documentWith(["SELF"]), { SELF }, { OUTBOUND_ALLOW: "a.internal" }),
    ];
    expect(new Set(all.map(String)).size).toBe(4);
    const same = allowedIn(documentWith(["SELF"], { instructions: "other" }), { SELF }, { ELSE: 1 });
    expect(same).toEqual(all[0]);
  });

  it("is not read sooner for anything else that is written", async () => {
    const tenant = await servedTenant(documentWith([]));
    await expect.poll(() => listed(tenant)).toMatchObject({ count: 0 });
    await putOff(tenant);
    const dueAt = async () => (await createRpcClient(tenant.stub, gatewayStore).getRefreshStates())[0]?.dueAt;
    const before = await dueAt();
    await rewrite(tenant, documentWith([], { instructions: "other" }));
    await listed(tenant);
    expect(await dueAt()).toBe(before);
  });
});

describe("a service in a document", () => {
  const broken = (document: TenantDocument) =>
    findBrokenUpstreams(document, { allow: "", exposed: { SELF } }).map(({ field, rule }) => `${field}: ${rule}`);

  it.each<[string, TenantDocument, readonly string[]]>([
    ["granted", documentWith(["SELF"]), []],
    [
      "not granted",
      documentWith([]),
      ["upstreams.lab.service: is not granted to this tenant: an operator must add it to serviceBindings"],
    ],
    [
      "not exposed",
      { serviceBindings: ["ELSE"], upstreams: { up: { service: "ELSE" } } },
      ["upstreams.up.service: is not in gateway({ serviceBindings }) of this Worker"],
    ],
    [
      "of every object",
      { serviceBindings: ["constructor"], upstreams: { up: { service: "constructor" } } },
      ["upstreams.up.service: is not in gateway({ serviceBindings }) of this Worker"],
    ],
    [
      "beside a URL",
      { serviceBindings: ["SELF"], upstreams: { up: { service: "SELF", url: "https://mcp.example.com/" } } },
      ["upstreams.up.url: is not allowed together with service"],
    ],
    ["neither", { upstreams: { up: {} } }, ["upstreams.up.url: must be a URL, such as https://mcp.example.com/mcp"]],
    [
      "a path without one",
      { upstreams: { up: { url: "https://mcp.example.com/", path: "/mcp" } } },
      ["upstreams.up.path: is allowed only together with service"],
    ],
  ])("%s", (_what, document, rules) => {
    expect(broken(document)).toEqual(rules);
  });

  it.each(["mcp", "//elsewhere", "/a/../b", "/a?b", "/a b", "@x", ""])("has no path %j", (path) => {
    const document = { serviceBindings: ["SELF"], upstreams: { up: { service: "SELF", path } } };
    expect(broken(document)).toEqual(["upstreams.up.path: must be a path, such as /mcp"]);
  });
});
