import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { tenantOfHost } from "../../../src/endpoint/find-tenant.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";

const ACME = { id: "acme", created: null };
const ownerOf = (host: string, TENANT_HOST?: string) =>
  tenantOfHost(
    {
      TenantObject: exports.TenantObject,
      DirectoryObject: exports.DirectoryObject,
      BODIES: env.BODIES,
      ...(TENANT_HOST === undefined ? {} : { TENANT_HOST }),
    },
    new Headers({ host }),
  );

describe("a hostname that the directory gives to a tenant", () => {
  it("is the tenant's, where tenants have hostnames at all", async () => {
    await directoryOf(env, "customer.example").claimHostname("customer.example", ACME);
    for (const host of ["customer.example", "Customer.Example.:443"]) {
      expect([host, await ownerOf(host, "mcp.test"), await ownerOf(host)]).toEqual([host, "acme", null]);
    }
  });

  it.each([
    "mcp.test",
    "tenantry.acme.workers.dev",
    "Tenantry.Acme.Workers.Dev.",
    "localhost",
    "mcp.localhost:8362",
    "localhost.localdomain",
    "127.0.0.1:8362",
    "[::1]:8362",
  ])("is the Worker's all the same: %s", async (host) => {
    const hostname = host.toLowerCase().replace(/\.?(?::\d+)?$/, "");
    await directoryOf(env, hostname).claimHostname(hostname, ACME);
    expect(await ownerOf(host, "mcp.test")).toBeNull();
  });

  it.each([
    ["acme.mcp.localhost", "mcp.localhost", "acme"],
    ["a.b.mcp.test", "mcp.test", "a.b"],
    ["notworkers.dev", "mcp.test", "other"],
    ["1.example", "mcp.test", "other"],
  ])("%s under %s is %s's", async (host, domain, owner) => {
    await directoryOf(env, host).claimHostname(host, { id: "other", created: null });
    expect(await ownerOf(host, domain)).toBe(owner);
  });
});
