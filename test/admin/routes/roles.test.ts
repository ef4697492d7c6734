import { describe, expect, it, vi } from "vitest";
import { keyIdOf } from "../../../src/auth/api-key.ts";
import type { Role, Infer } from "../../../src/admin/contract.ts";
import { ROUTES } from "../../../src/admin/routes/all-routes.ts";
import { appOf, adminEnv, ask, newTenant, operator, ORIGIN, ROOT, rules, send } from "../../support/workerd/admin.ts";

type RoleName = Infer<typeof Role>;

/** A request that names everything, and would do nothing: what it names does not exist. */
const sample = (path: string, tenant: string) =>
  path
    .replace("/tenants/{id}", `/tenants/${tenant}`)
    .replaceAll("{id}", "none")
    .replaceAll("{name}", "none")
    .replaceAll("{key}", "none")
    .replaceAll("{kind}", "none");

const REFUSED = new Set([401, 403]);

/** Hashes of keys and sealed secrets. */
const isBackup = (path: string) => path.endsWith("/backup");

describe("roles", () => {
  const mayWrite = (role: RoleName, path: string): boolean => {
    // With the key itself, which no operator has.
    if (path.endsWith("/keys/self/rotate")) return false;
    if (role === "owner") return true;
    if (path.startsWith("/operators")) return false;
    if (role === "operator") return true;
    const own = path.startsWith("/tenants/{id}/") && path !== "/tenants/{id}/suspensions/{kind}";
    return role === "tenant-admin" && own && !isBackup(path);
  };
  const mayRead = (role: RoleName, path: string): boolean => {
    if (path.startsWith("/operators")) return role === "owner" || role === "auditor";
    if (isBackup(path)) return role === "owner" || role === "operator";
    return role !== "tenant-admin" || path.startsWith("/tenants");
  };

  it.each<RoleName>(["owner", "operator", "auditor", "tenant-admin"])(
    "%s may what it may, of all routes",
    async (role) => {
      const tenant = await newTenant();
      const { token } = await operator(role, role === "tenant-admin" ? { tenants: [tenant] } : {});
      const seen: Record<string, boolean> = {};
      const expected: Record<string, boolean> = {};
      for (const { method, path } of ROUTES) {
        // Deleting the tenant would end the test.
        const to = sample(path, method === "DELETE" && path === "/tenants/{id}" ? "nobody" : tenant);
        const { status } = await send(method, to, {
          token,
          ...(method === "GET" ? {} : { json: [] }),
        });
        const name = `${method} ${path}`;
        seen[name] = !REFUSED.has(status);
        expected[name] = method === "GET" ? mayRead(role, path) : mayWrite(role, path);
      }
      expect(seen).toEqual(expected);
    },
  );

  it("give a tenant-admin nothing of another tenant, whether it exists or not", async () => {
    const [own, other] = [await newTenant(), await newTenant()];
    const { token } = await operator("tenant-admin", { tenants: [own] });
    for (const id of [other, "nobody"]) {
      for (const path of [`/tenants/${id}`, `/tenants/${id}/document`, `/tenants/${id}/keys`]) {
        expect((await ask("GET", path, { token })).status).toBe(403);
      }
      expect((await ask("PUT", `/tenants/${id}/document`, { token, json: {} })).status).toBe(403);
    }
    expect((await ask("GET", "/tenants", { token })).body).toMatchObject({ items: [{ id: own }] });
    expect((await ask("GET", `/tenants/${own}`, { token })).status).toBe(200);
  });

  it("leave to operators what is not a customer's to decide", async () => {
    const id = await newTenant({ limits: { keys: 1 } });
    const { token, name } = await operator("tenant-admin", { tenants: [id] });
    await ask("PUT", "/bases/plan", { json: { limits: { keys: 5 } } });
    const document = { mode: "open", hostnames: ["a.example"], extends: ["plan"] };
    const refused = await ask("PUT", `/tenants/${id}/document`, { token, json: document });
    const rule = "only an operator may change it";
    expect(rules(refused)).toEqual([
      403,
      ["extends", rule],
      ["hostnames", rule],
      ["limits.keys", "only an operator may raise it above 1"],
    ]);
    const allowed = { mode: "open", limits: { keys: 1 }, title: "mine" };
    expect((await ask("PUT", `/tenants/${id}/document`, { token, json: allowed })).status).toBe(200);
    expect((await ask("GET", `/tenants/${id}/audit?limit=1`)).body).toMatchObject({ items: [{ actor: name }] });
    const unpaid = { kind: "tenant", note: "unpaid" };
    expect((await ask("POST", `/tenants/${id}/suspensions`, { token, json: unpaid })).status).toBe(403);
    await ask("POST", `/tenants/${id}/suspensions`, { json: unpaid });
    expect((await ask("DELETE", `/tenants/${id}/suspensions/tenant`, { token })).status).toBe(403);
  });

  it("end with the tenant: one made later under its name is not the old admin's", async () => {
    const id = await newTenant();
    const { token } = await operator("tenant-admin", { tenants: [id] });
    await ask("DELETE", `/tenants/${id}`);
    await ask("POST", "/tenants", { json: { id } });
    expect((await ask("GET", `/tenants/${id}`, { token })).status).toBe(403);
    expect((await ask("GET", "/tenants", { token })).body).toEqual({ items: [] });
  });
});

describe("tokens", () => {
  it.each([
    ["none", null, "is missing"],
    ["an empty one", "", "not known"],
    ["a made-up one", "tno_0123456789_abc", "not known"],
    ["one that is nearly right", `${ROOT}x`, "not known"],
  ])("%s get nothing", async (_what, token, detail) => {
    const refused = await ask("GET", "/tenants", { token });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="tenantry admin"']);
    expect((refused.body as { detail: string }).detail).toContain(detail);
  });

  it("of an operator and keys of a tenant are distinct, and neither is accepted in place of the other", async () => {
    const { token } = await operator("owner");
    expect(token).toMatch(/^tno_/);
    expect([keyIdOf(token, "operator") !== undefined, keyIdOf(token)]).toEqual([true, undefined]);
    const id = await newTenant();
    const made = (await ask("POST", `/tenants/${id}/keys`, { json: { name: "k" } })).body as { token: string };
    expect(made.token).toMatch(/^tnt_/);
    expect((await ask("GET", "/tenants", { token: made.token })).status).toBe(401);
  });

  it("of an operator work until it is removed, at once", async () => {
    const { token, name } = await operator("operator");
    expect((await ask("GET", "/tenants", { token })).status).toBe(200);
    expect((await ask("DELETE", `/operators/${name}`)).status).toBe(204);
    expect((await ask("GET", "/tenants", { token })).status).toBe(401);
    expect((await ask("DELETE", `/operators/${name}`)).status).toBe(404);
  });

  it("expire", async () => {
    const expires = Date.now() + 60_000;
    const { token } = await operator("auditor", { expires: new Date(expires).toISOString() });
    expect((await ask("GET", "/tenants", { token })).status).toBe(200);
    vi.useFakeTimers({ toFake: ["Date"], now: expires });
    const refused = await ask("GET", "/tenants", { token });
    vi.useRealTimers();
    expect([refused.status, refused.body]).toMatchObject([401, { detail: "The token has expired" }]);
  });

  it("are kept as a hash, and are in no list and no log", async () => {
    const { token } = await operator("operator");
    for (const path of ["/operators?limit=1000", "/audit?limit=1000"]) {
      expect((await ask("GET", path)).text).not.toContain(token);
    }
  });

  it("of development work only where its variable is set, and never by the name of the host", async () => {
    const DEVELOPMENT = "dev-token-of-the-tests-0123456789";
    const request = (url: string) => new Request(url, { headers: { authorization: `Bearer ${DEVELOPMENT}` } });
    for (const host of [ORIGIN, "http://localhost:8362", "http://127.0.0.1:8362"]) {
      const url = `${host}/admin/v1/tenants`;
      expect((await appOf().fetch(request(url), adminEnv)).status).toBe(401);
      expect((await appOf().fetch(request(url), { ...adminEnv, DEV_ADMIN_TOKEN: "" })).status).toBe(401);
      expect((await appOf().fetch(request(url), { ...adminEnv, DEV_ADMIN_TOKEN: DEVELOPMENT })).status).toBe(200);
    }
  });

  it("of the first owner end with its secret", async () => {
    expect((await ask("GET", "/tenants", { env: { ADMIN_TOKEN: `${ROOT}-another` } })).status).toBe(401);
    expect((await ask("GET", "/tenants", { token: "", env: { ADMIN_TOKEN: "" } })).status).toBe(401);
  });
});

describe("making an operator", () => {
  it.each<[string, unknown, string, string]>([
    ["a role that is none", { name: "a", role: "king" }, "role", "one of owner, operator, auditor, tenant-admin"],
    ["a name that is kept", { name: "root", role: "owner" }, "name", "is a reserved word"],
    ["a name that is none", { name: "-a", role: "owner" }, "name", "1 to 64 characters"],
    ["no tenants for a tenant-admin", { name: "a", role: "tenant-admin" }, "tenants", "is required for a tenant-admin"],
    [
      "tenants for an auditor",
      { name: "a", role: "auditor", tenants: ["x"] },
      "tenants",
      "is only allowed for a tenant-admin",
    ],
    ["tenants that cannot be", { name: "a", role: "tenant-admin", tenants: ["X"] }, "tenants.0", "1 to 40 characters"],
    ["an end in the past", { name: "a", role: "owner", expires: "2020-01-01T00:00:00Z" }, "expires", "is in the past"],
  ])("with %s is refused", async (_what, json, field, rule) => {
    expect(rules(await ask("POST", "/operators", { json }))).toEqual([422, [field, expect.stringContaining(rule)]]);
  });

  it("under a name that is taken is refused, and the first stays", async () => {
    const { name, token } = await operator("operator");
    const second = await ask("POST", "/operators", { json: { name, role: "owner" } });
    expect(rules(second)).toEqual([409, ["name", `${name} already exists`]]);
    expect((await ask("GET", "/tenants", { token })).status).toBe(200);
  });

  it("is in the platform's log, with who did it", async () => {
    const owner = await operator("owner");
    const made = await ask("POST", "/operators", { token: owner.token, json: { name: "by-owner", role: "auditor" } });
    expect(made.status).toBe(201);
    const { items } = (await ask("GET", "/audit?limit=1")).body as { items: unknown[] };
    expect(items).toMatchObject([{ actor: owner.name, action: "operator.create", target: "operator by-owner" }]);
  });
});

describe("pages in browsers", () => {
  const CONSOLE = "https://console.example.com";
  const from = (origin: string) => ask("GET", "/tenants", { headers: { origin } });

  it("of an origin that is not allowed get nothing, token or not, and do nothing", async () => {
    for (const origin of ["https://evil.example", "null", ORIGIN, "http://localhost:8362"]) {
      const refused = await from(origin);
      expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
      const made = await ask("POST", "/tenants", { headers: { origin }, json: { id: "by-a-page" } });
      expect(made.status).toBe(403);
    }
    expect((await ask("GET", "/tenants/by-a-page")).status).toBe(404);
  });

  it("of an allowed origin get a preflight answer, and read the answers", async () => {
    const preflight = new Request(`${ORIGIN}/admin/v1/tenants`, { method: "OPTIONS", headers: { origin: CONSOLE } });
    const may = await appOf().fetch(preflight, adminEnv);
    expect([may.status, may.headers.get("access-control-allow-methods")]).toEqual([204, "GET, POST, PUT, DELETE"]);
    const answer = await from(CONSOLE);
    expect([answer.status, answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")]).toEqual([
      200,
      CONSOLE,
      "Origin",
    ]);
    const refused = await ask("GET", "/tenants", { token: null, headers: { origin: CONSOLE } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, CONSOLE]);
  });
});
