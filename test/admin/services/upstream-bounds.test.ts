import { describe, expect, it } from "vitest";
import { applyDocument } from "../../../src/admin/services/apply-document.ts";
import { requireTenant } from "../../../src/admin/services/tenant-handle.ts";
import type { OperatorRole } from "../../../src/deployment/operator-sign-in.ts";
import { gateway } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { adminEnv, adminOptions, appOf, ask, newTenant, operator, ORIGIN, rules } from "../../support/workerd/admin.ts";

const bounds = { hosts: ["mcp.partner.com", "*.vendor.com"], most: 2 };
const at = (host: string) => ({ url: `https://${host}/mcp` });
const write = (id: string, name: string, json: object, { token }: { readonly token: string }) =>
  ask("PUT", `/tenants/${id}/upstreams/${name}`, { token, json });

describe("an upstream that a tenant's administrator writes", () => {
  it("goes to the port that is named, or to every one", async () => {
    const id = await newTenant({ upstreamBounds: { hosts: ["a.com:8443", "*.b.com:443", "c.com"], most: 9 } });
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const status = async (host: string) => (await write(id, "up", at(host), { token })).status;
    for (const host of ["a.com:8443", "x.b.com", "x.b.com:443", "c.com", "c.com:8443"])
      expect(await status(host)).toBe(200);
    for (const host of ["a.com", "a.com:8444", "x.b.com:8443", "b.com"]) expect(await status(host), host).toBe(403);
    expect(rules(await write(id, "up", at("a.com:9000"), { token }))).toEqual([
      403,
      ["upstreams.up.url", expect.stringContaining("requests sent to a.com:9000: allowed are a.com:8443")],
    ]);
  });

  it("is bounded where an older document is written again", async () => {
    const id = await newTenant({ upstreamBounds: bounds, upstreams: { own: at("elsewhere.com") } });
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const { body: old } = await ask("GET", `/tenants/${id}/document`);
    expect((await ask("DELETE", `/tenants/${id}/upstreams/own`, { token })).status).toBe(200);
    expect(rules(await ask("PUT", `/tenants/${id}/document`, { token, json: old }))[0]).toBe(403);
  });

  it("is bounded under the very record that is written over, whatever was looked at before", async () => {
    const id = await newTenant({ upstreamBounds: bounds });
    const caller = { name: "ann", role: "tenant-admin" as const, tenants: [id] };
    const context = { env: adminEnv, options: adminOptions, caller, request: new Request(`${ORIGIN}/admin/v1/x`) };
    const add = async (host: string, role: OperatorRole) => {
      const who = { ...context, caller: { ...caller, role } };
      const edit = (own: TenantDocument) => ({ ...own, upstreams: { up: at(host) } });
      const how = { edit, ifMatch: null, dryRun: false, wait: "never", action: "apply" } as const;
      return applyDocument(who, await requireTenant(who, id), how);
    };
    await expect(add("elsewhere.com", "tenant-admin")).rejects.toMatchObject({ key: "forbidden" });
    expect(await add("mcp.partner.com", "tenant-admin")).toMatchObject({ changed: true });
    expect(await add("elsewhere.com", "operator")).toMatchObject({ changed: true });
  });

  it("is what the Worker's author allows where no operator says anything", async () => {
    const features = [gateway({ bounds: { hosts: ["mcp.partner.com"], most: 1 } })];
    const app = appOf({ ...adminOptions, features });
    const put = async (id: string, host: string, token: string) => {
      const url = `${ORIGIN}/admin/v1/tenants/${id}/upstreams/a`;
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const request = new Request(url, { method: "PUT", headers, body: JSON.stringify(at(host)) });
      return (await app.fetch(request, adminEnv)).status;
    };
    const [bare, text] = [await newTenant(), await newTenant({ upstreamBounds: { hosts: ["a.com"], most: 1 } })];
    const { token } = await operator("tenant-admin", { tenants: [bare, text] });
    expect(await put(bare, "a.com", token)).toBe(403);
    expect(await put(bare, "mcp.partner.com", token)).toBe(200);
    expect(await put(text, "mcp.partner.com", token)).toBe(403);
    expect(await put(text, "a.com", token)).toBe(200);
    expect(() => gateway({ bounds: { hosts: ["https://a.com"] } })).toThrow('bounds.hosts: "https://a.com"');
    expect(() => gateway({ bounds: { most: 51 } })).toThrow("bounds.most must be a whole number from 0 to 50, not 51");
  });
});
