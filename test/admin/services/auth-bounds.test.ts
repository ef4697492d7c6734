import { describe, expect, it } from "vitest";
import { applyDocument } from "../../../src/admin/services/apply-document.ts";
import { requireTenant } from "../../../src/admin/services/tenant-handle.ts";
import type { OperatorRole } from "../../../src/deployment/operator-sign-in.ts";
import { login } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { adminEnv, adminOptions, appOf, ask, newTenant, operator, ORIGIN } from "../../support/workerd/admin.ts";

const app = appOf({ ...adminOptions, features: [login()] });
const at = (host: string) => ({ issuer: `https://${host}` });
const OURS = at("staff.platform.com");
const HOSTS = { hosts: ["login.acme.com", "*.idp.com"] };

async function put(id: string, document: object, token?: string): Promise<[number, ...[string, string][]]> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token ?? adminEnv.ADMIN_TOKEN}` };
  const url = `${ORIGIN}/admin/v1/tenants/${id}/document`;
  const response = await app.fetch(
    new Request(url, { method: "PUT", headers, body: JSON.stringify(document) }),
    adminEnv,
  );
  const { errors = [] } = await response.json<{ errors?: { field: string; rule: string }[] }>();
  return [response.status, ...errors.map(({ field, rule }): [string, string] => [field, rule])];
}

/** With this document, and a tenant-admin of it. */
async function tenantWith(document: object) {
  const id = await newTenant();
  expect((await put(id, { mode: "key", ...document }))[0]).toBe(200);
  const { token } = await operator("tenant-admin", { tenants: [id] });
  return { id, write: (next: object) => put(id, { mode: "key", ...next }, token) };
}

describe("a tenant's administrator", () => {
  it("writes nothing of auth where no operator says so, and leaves it as it is", async () => {
    const auth = { issuers: [OURS] };
    const { write } = await tenantWith({ auth });
    const only = [403, ["auth", "only an operator may change it"]];
    expect(await write({ auth, title: "New" })).toEqual([200]);
    expect(await write({ auth: { issuers: [OURS, at("login.acme.com")] } })).toEqual(only);
    expect(await write({ auth: { ...auth, anonymous: { scopes: [] } } })).toEqual(only);
    expect(await write({})).toEqual(only);
  });

  it("writes issuers at the hosts that an operator allows, and nowhere else", async () => {
    const authBounds = HOSTS;
    const { write } = await tenantWith({ authBounds });
    for (const host of ["login.acme.com", "a.idp.com", "login.acme.com:8443"]) {
      expect([host, ...(await write({ authBounds, auth: { issuers: [at(host)] } }))]).toEqual([host, 200]);
    }
    for (const host of ["idp.com", "evil.com", "login.acme.com.evil.com"]) {
      const rule = `only an operator may write an issuer at ${host}: allowed are login.acme.com, *.idp.com in authBounds.hosts`;
      expect(await write({ authBounds, auth: { issuers: [at("a.idp.com"), at(host)] } })).toEqual([
        403,
        ["auth.issuers.1.issuer", rule],
      ]);
    }
    const everybody = { issuers: [at("a.idp.com")], anonymous: { scopes: ["look"] } };
    expect(await write({ authBounds, mode: "mixed", auth: everybody, scopes: { look: {} } })).toEqual([200]);
    expect(await write({ authBounds })).toEqual([200]);
  });

  it("neither takes away nor changes an issuer out of bounds, nor any other member, nor the bounds", async () => {
    const authBounds = HOSTS;
    const { write } = await tenantWith({ authBounds, auth: { issuers: [OURS, at("a.idp.com")] } });
    const gone = [403, ["auth.issuers", "only an operator may change or take away https://staff.platform.com"]];
    expect(await write({ authBounds, auth: { issuers: [at("a.idp.com")] } })).toEqual(gone);
    const wider = { ...OURS, audience: ["api://acme"] };
    expect((await write({ authBounds, auth: { issuers: [wider] } }))[0]).toBe(403);
    expect(await write({ authBounds, auth: { issuers: [at("b.idp.com"), OURS] } })).toEqual([200]);
    const all = { hosts: ["*.com"] };
    expect((await write({ authBounds: all, auth: { issuers: [OURS, at("evil.com")] } }))[0]).toBe(403);
    expect(await write({ authBounds: all, auth: { issuers: [at("b.idp.com"), OURS] } })).toEqual([
      403,
      ["authBounds", "only an operator may change it"],
    ]);
  });

  it("is bounded by a base as by the tenant's own document", async () => {
    await ask("PUT", "/bases/auth-bounded", { json: { authBounds: { hosts: ["login.acme.com"] } } });
    const { write } = await tenantWith({ extends: ["auth-bounded"] });
    const document = (host: string) => ({ extends: ["auth-bounded"], auth: { issuers: [at(host)] } });
    expect(await write(document("login.acme.com"))).toEqual([200]);
    expect((await write(document("a.idp.com")))[0]).toBe(403);
  });

  it("is bounded under the record that is replaced, by every way of writing", async () => {
    const { id } = await tenantWith({ authBounds: HOSTS });
    const caller = { name: "ann", role: "tenant-admin" as const, tenants: [id] };
    const options = { ...adminOptions, features: [login()] };
    const context = { env: adminEnv, options, caller, request: new Request(`${ORIGIN}/admin/v1/x`) };
    const add = async (host: string, role: OperatorRole) => {
      const who = { ...context, caller: { ...caller, role } };
      const edit = (own: TenantDocument) => ({ ...own, auth: { issuers: [at(host)] } });
      const how = { edit, ifMatch: null, dryRun: false, wait: "never", action: "apply" } as const;
      return applyDocument(who, await requireTenant(who, id), how);
    };
    await expect(add("evil.com", "tenant-admin")).rejects.toMatchObject({ key: "forbidden" });
    expect(await add("a.idp.com", "tenant-admin")).toMatchObject({ changed: true });
    expect(await add("evil.com", "operator")).toMatchObject({ changed: true });
  });
});
