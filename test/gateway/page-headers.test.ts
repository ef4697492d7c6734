// Headers of its own that a page of another origin may send to a tenant: those that its upstreams are sent, and no others.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, gateway } from "../../src/tenantry.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { authorityAway, servedTenant } from "../support/worker/deployed.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const without = createWorker({ tenants: {} });
const ORIGIN = "http://localhost:6274";
const ASKED = "x-trace, X-User,x-off, x-other, authorization, cookie, mcp-param-a, traceparent";

const DOCUMENT: TenantDocument = {
  mode: "key",
  allowedOrigins: ["https://app.example.com"],
  upstreams: {
    up: {
      url: "https://up.example.com/mcp",
      headers: { "X-Trace": "{{client:x-trace}}", "X-About": "{{client:X-User}} of {{secret:NAME}}" },
    },
    off: { url: "https://off.example.com/mcp", enabled: false, headers: { "X-Off": "{{client:x-off}}" } },
  },
};

async function preflight(
  path: string,
  asked: string | null = ASKED,
  { origin = ORIGIN, at = worker }: { origin?: string; at?: Pick<typeof worker, "fetch"> } = {},
) {
  const wanted = asked === null ? {} : { "access-control-request-headers": asked };
  const headers = { origin, "access-control-request-method": "POST", ...wanted };
  const request = new Request(`https://mcp.example.com${path}`, { method: "OPTIONS", headers });
  return at.fetch(request, env, createExecutionContext());
}

const allowed = (response: Response) =>
  response.headers
    .get("access-control-allow-headers")
    ?.split(", ")
    .filter((name) => /^(x-|mcp-param)/.test(name));

describe("a page of another origin", () => {
  it.each(["mcp", "gateway"])("may send to /%s of a tenant what its upstreams are sent of a client", async (where) => {
    const { id } = await servedTenant(DOCUMENT);
    const response = await preflight(`/${where}/${id}`);
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([204, ORIGIN]);
    expect(allowed(response)).toEqual(["x-trace", "x-user", "mcp-param-a"]);
    expect(allowed(await preflight(`/${where}/${id}`, "x-user"))).toEqual(["x-user"]);
  });

  it("may do so from an origin that the tenant alone allows", async () => {
    const { id } = await servedTenant(DOCUMENT);
    const origin = "https://app.example.com";
    expect(allowed(await preflight(`/mcp/${id}`, ASKED, { origin }))).toEqual(["x-trace", "x-user", "mcp-param-a"]);
    expect((await preflight(`/mcp/${id}`, ASKED, { origin: "https://evil.example.com" })).status).toBe(403);
  });

  it("may send nothing of it to another tenant, to a name that is nobody's, or where there are no upstreams", async () => {
    const { id } = await servedTenant(DOCUMENT);
    const { id: other } = await servedTenant({ mode: "key" });
    await preflight(`/mcp/${id}`);
    const answers = [
      await preflight(`/mcp/${other}`),
      await preflight(`/mcp/nobody-${crypto.randomUUID().slice(0, 8)}`),
      await preflight(`/mcp/${id}`, ASKED, { at: without }),
    ];
    for (const response of answers) {
      expect([response.status, allowed(response)]).toEqual([204, ["mcp-param-a"]]);
    }
    expect(allowed(await preflight(`/mcp/${id}`))).toContain("x-trace");
  });

  it("has nobody asked where it wants no header of its own, and is answered where nobody can be", async () => {
    const tenant = await servedTenant(DOCUMENT);
    const { asked } = await authorityAway(tenant);
    for (const plain of [null, "", "content-type, authorization, mcp-param-a, traceparent, baggage"]) {
      expect((await preflight(`/mcp/${tenant.id}`, plain)).status).toBe(204);
    }
    expect(asked()).toBe(0);
    const response = await preflight(`/mcp/${tenant.id}`);
    expect([response.status, allowed(response)]).toEqual([204, ["mcp-param-a"]]);
    expect(asked()).toBeGreaterThan(0);
  });

  it("has nobody asked under a lease that is there", async () => {
    const tenant = await servedTenant({ ...DOCUMENT, maxStalenessMs: 10_000 });
    await preflight(`/mcp/${tenant.id}`);
    const { asked } = await authorityAway(tenant);
    for (let time = 0; time < 5; time += 1) expect(allowed(await preflight(`/mcp/${tenant.id}`))).toContain("x-user");
    expect(asked()).toBe(0);
  });
});
