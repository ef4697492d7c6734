import { describe, expect, it } from "vitest";
import { ask, newTenant, operator } from "../../support/workerd/admin.ts";

const PATHS = [
  ["GET", "grants"],
  ["DELETE", "grants/abc"],
  ["GET", "login-clients"],
  ["DELETE", `login-clients/${encodeURIComponent("https://client.example/a?b")}`],
] as const;

describe.each(PATHS)("%s %s of a tenant", (method, path) => {
  it("says in a Worker without login() what it lacks", async () => {
    const id = await newTenant();
    const { status, body } = await ask(method, `/tenants/${id}/${path}`);
    expect([status, (body as { detail: string }).detail]).toEqual([409, expect.stringContaining("login()")]);
  });

  it("is for its own administrator, and not for another tenant's; an auditor ends nothing", async () => {
    const [mine, other] = await Promise.all([newTenant(), newTenant()]);
    const [{ token }, auditor] = await Promise.all([
      operator("tenant-admin", { tenants: [mine] }),
      operator("auditor"),
    ]);
    expect((await ask(method, `/tenants/${mine}/${path}`, { token })).status).toBe(409);
    expect((await ask(method, `/tenants/${other}/${path}`, { token })).status).toBe(403);
    const audited = await ask(method, `/tenants/${mine}/${path}`, { token: auditor.token });
    expect(audited.status).toBe(method === "GET" ? 409 : 403);
  });
});
