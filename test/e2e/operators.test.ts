// Operators who sign in with an authorization server: what each role may, who is refused, and under which name they are
// remembered. The server is a real one, as far as the Worker sees it.

import { UnsecuredJWT } from "jose";
import { afterAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startAuthorizationServer } from "../support/authorization-server.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";

const server = await startAuthorizationServer({ ends: afterAll });
const OPERATORS = {
  issuer: server.issuer,
  clientId: "tenantry-cli",
  claim: "realm_access.roles",
  roles: { owners: "owner", support: "operator", audit: "auditor", acme: ["operators-1", "owner"] },
};
const worker = await startLoginWorker({ OPERATORS: JSON.stringify(OPERATORS) });
const admin = fixtureAdmin(worker.origin, "operators");

const NOW = Math.floor(Date.now() / 1000);

const claimsOf = (roles: string | readonly string[], more: Json = {}): Json => ({
  aud: "tenantry-cli",
  realm_access: { roles },
  ...more,
});
const tokenOf = (roles: string | readonly string[], more: Json = {}) => server.token(claimsOf(roles, more));

async function ask(token: string, path: string, method = "GET", json?: unknown) {
  const response = await fetch(`${worker.origin}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === "" ? {} : JSON.parse(text)) as Json };
}

async function actorsOf(id: string, token: string): Promise<unknown[]> {
  const { body } = await ask(token, `/tenants/${id}/audit`);
  return (body["items"] as Json[]).map(({ actor }) => actor);
}

const id = await admin.tenant();
const other = await admin.tenant();

describe("a role", () => {
  const PATHS = [
    ["GET", `/tenants/${id}`],
    ["GET", `/tenants/${other}`],
    ["GET", "/operators"],
    ["POST", `/tenants/${id}/suspensions`],
    ["POST", `/tenants/${other}/suspensions`],
    ["POST", "/operators"],
  ] as const;
  // An empty body breaks a rule (422) for whoever may send one.
  test.each([
    { value: "owners", may: [200, 200, 200, 422, 422, 422] },
    { value: "support", may: [200, 200, 403, 422, 422, 403] },
    { value: "audit", may: [200, 200, 200, 403, 403, 403] },
    { value: "acme", may: [200, 403, 403, 422, 403, 403] },
  ])("is what a value of the claim gives: $value", async ({ value, may }) => {
    expect(id).toBe("operators-1");
    const token = await tokenOf([value, "unknown"]);
    const replies = [];
    for (const [method, path] of PATHS) {
      replies.push((await ask(token, path, method, method === "POST" ? {} : undefined)).status);
    }
    expect(replies).toEqual(may);
  });

  test("is the widest of several, and never one that a tenant is called", async () => {
    expect((await ask(await tokenOf(["acme", "support"]), `/tenants/${other}`)).status).toBe(200);
    const acme = await tokenOf("acme");
    expect((await ask(acme, "/operators")).status).toBe(403);
    expect((await ask(acme, `/tenants/${id}`)).status).toBe(200);
  });
});

describe("a token is refused, with the reason, that", () => {
  const CASES: readonly { what: string; more?: Json; roles?: readonly string[]; why: string }[] = [
    { what: "is for another audience", more: { aud: "other-client" }, why: "it is for another audience" },
    { what: "is for nobody", more: { aud: undefined }, why: "it is for another audience" },
    { what: "has another issuer", more: { iss: "https://login.example.com" }, why: "it has another issuer" },
    { what: "has expired", more: { exp: NOW - 120, iat: NOW - 240 }, why: "it has expired" },
    { what: "is not valid yet", more: { nbf: NOW + 600 }, why: "it is not valid yet" },
    { what: "has no end", more: { exp: undefined }, why: "its exp claim is missing" },
    { what: "names nobody", more: { sub: undefined }, why: "its sub claim is missing or too long" },
    { what: "lives for longer than a day", more: { exp: NOW + 86_520 }, why: "its lifetime is longer than a day" },
    {
      what: "is said to be made later, so as to look short",
      more: { iat: NOW + 86_400, exp: NOW + 90_000 },
      why: "its lifetime is longer than a day",
    },
    { what: "was made long ago", more: { iat: NOW - 86_400 }, why: "its lifetime is longer than a day" },
    { what: "is bound to a key", more: { cnf: { jkt: "x" } }, why: "it is bound to a key, which is not supported" },
    {
      what: "has no role",
      roles: ["unknown"],
      why: "its claim realm_access.roles has no value with a role in OPERATORS",
    },
    { what: "has none at all", roles: [], why: "its claim realm_access.roles has no value with a role in OPERATORS" },
    {
      what: "has a member of objects for a role",
      roles: ["constructor"],
      why: "its claim realm_access.roles has no value",
    },
  ];

  async function expectRefused(token: string, why: string): Promise<void> {
    const reply = await ask(token, "/tenants");
    expect([reply.status, reply.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="tenantry admin"']);
    expect(reply.body["detail"]).toContain(`The token is not accepted: ${why}`);
    expect(JSON.stringify(reply.body)).not.toContain(token.split(".")[1]);
  }

  test.each(CASES)("$what", async ({ roles = ["owners"], more = {}, why }) => {
    await expectRefused(await tokenOf(roles, more), why);
    expect((await ask(await tokenOf(["owners"]), "/tenants")).status).toBe(200);
  });

  test("has no signature, or one with a public key for a secret", async () => {
    const why = "its algorithm is not allowed";
    const unsigned = new UnsecuredJWT({ ...claimsOf(["owners"]), iss: server.issuer, sub: "alice" });
    await expectRefused(unsigned.setIssuedAt().setExpirationTime("1h").encode(), why);
    const key = new TextEncoder().encode(JSON.stringify(server.publicKey));
    await expectRefused(await server.token(claimsOf(["owners"]), { alg: "HS256", key }), why);
  });

  test("another server signed, or that was changed", async () => {
    const stranger = await startAuthorizationServer();
    const forged = await stranger.token({ ...claimsOf(["owners"]), iss: server.issuer });
    await expectRefused(forged, "its signature matches no key of its issuer");
    const [header, payload] = (await tokenOf(["owners"])).split(".");
    const [, , signature] = (await tokenOf(["audit"])).split(".");
    await expectRefused([header, payload, signature].join("."), "it cannot be verified");
  });

  test("is another kind of token", async () => {
    const logout = await server.token(claimsOf(["owners"]), { header: { typ: "logout+jwt" } });
    await expectRefused(logout, "it is not an access token");
  });
});

describe("the audit log", () => {
  /** Who is said to have done what the bearer just did. */
  const last = async (token: string, name: string) => {
    await ask(token, `/tenants/${id}/keys`, "POST", { name });
    return (await actorsOf(id, await tokenOf(["audit"])))[0];
  };

  test("names who it was by role, issuer and subject, and as they are called", async () => {
    const person = { sub: "00u1", email: "alice@example.com" };
    expect(await last(await tokenOf(["support"], person), "a")).toBe(
      `operator ${server.issuer} 00u1 (alice@example.com)`,
    );
    expect(await last(await tokenOf(["support"], { sub: "7", name: "Bob" }), "b")).toBe(
      `operator ${server.issuer} 7 (Bob)`,
    );
    expect(await last(await tokenOf(["support"], { sub: "8" }), "c")).toBe(`operator ${server.issuer} 8`);
  });

  test("has nobody under a name that they chose to be taken for another", async () => {
    const name = `root) x ${"y".repeat(500)}\n`;
    expect(await last(await tokenOf(["support"], { sub: "9 (root)", name }), "d")).toBe(
      `operator ${server.issuer} 9%20%28root%29 (root  x ${"y".repeat(92)})`,
    );
    const taken = { name: `operator ${server.issuer} 00u1`, role: "owner" };
    expect((await ask(await tokenOf(["owners"]), "/operators", "POST", taken)).status).toBe(422);
  });

  test("tells a tenant's administrator who of their own did something, and of others that it was an operator", async () => {
    const own = await tokenOf(["acme"], { sub: "own", email: "own@acme.example" });
    await last(own, "e");
    await last(await tokenOf(["support"], { sub: "00u1" }), "f");
    const [ours, theirs] = await actorsOf(id, await tokenOf(["acme"], { sub: "colleague" }));
    expect([ours, theirs]).toEqual(["operator", `tenant-admin ${server.issuer} own (own@acme.example)`]);
  });
});

test("tokens of the platform's own are taken beside them", async () => {
  const made = await ask(await tokenOf(["owners"]), "/operators", "POST", { name: "ci", role: "auditor" });
  expect((await ask(made.body["token"] as string, "/operators")).status).toBe(200);
  await ask(await tokenOf(["owners"]), "/operators/ci", "DELETE");
  const gone = await ask(made.body["token"] as string, "/operators");
  expect([gone.status, gone.body["detail"]]).toEqual([401, "The token is not known"]);
});

test("a program is told how to have somebody sign in, without a token, and nothing of the roles", async () => {
  const response = await fetch(`${worker.origin}/admin/login`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    issuer: server.issuer,
    clientId: "tenantry-cli",
    scopes: ["openid", "email"],
  });
});

test("a key that is new is taken within seconds, and unknown ones have the server asked no more", async () => {
  const before = server.asked.length;
  await server.rotate();
  const token = await tokenOf(["owners"]);
  await expect.poll(async () => (await ask(token, "/tenants")).status, { timeout: 30_000, interval: 500 }).toBe(200);
  for (let at = 0; at < 20; at += 1) {
    const stranger = await server.token(claimsOf(["owners"]), { header: { kid: `none-${at}` } });
    expect((await ask(stranger, "/tenants")).status).toBe(401);
  }
  // Metadata and keys, once.
  expect(server.asked.length - before).toBe(2);
});

test("what is logged has no token in it", () => {
  expect(worker.log()).not.toMatch(/eyJ[\w-]+\.[\w-]+\./);
});
