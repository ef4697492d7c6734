// A Worker without operator sign-in: only the platform's tokens are accepted.

import { expect, it } from "vitest";
import { login } from "../../../src/login/login-feature.ts";
import { adminEnv, adminOptions, appOf, ORIGIN } from "../../support/workerd/admin.ts";

const JWT = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUuY29tIn0.c2ln";
const CONFIG = { issuer: "https://login.example.com", clientId: "x", claim: "groups", roles: { a: "owner" } };

const withLogin = { ...adminOptions, features: [login()] };

async function ask(app: ReturnType<typeof appOf>, path: string, env: object = {}) {
  const request = new Request(ORIGIN + path, { headers: { authorization: `Bearer ${JWT}` } });
  const response = await app.fetch(request, { ...adminEnv, ...env });
  return { status: response.status, body: await response.json<{ readonly detail?: string }>() };
}

it.each([
  { what: "the feature", options: adminOptions, env: { OPERATORS: CONFIG } },
  { what: "the variable", options: withLogin, env: {} },
])("without $what no challenge names an authorization server", async ({ options, env }) => {
  const reply = await ask(appOf(options), "/admin/login", env);
  expect(reply).toMatchObject({
    status: 404,
    body: { detail: "There is no sign-in: operators have tokens here" },
  });
  expect((await ask(appOf(options), "/admin/v1/tenants", env)).status).toBe(401);
});

it("a mistake in the variable is logged once in an isolate, and not shown to callers", async () => {
  const logged: unknown[] = [];
  const app = appOf({ ...withLogin, onError: (error) => logged.push(error) });
  const env = { OPERATORS: { ...CONFIG, roles: { "secret-group": "boss" } } };
  expect((await ask(app, "/admin/login", env)).status).toBe(404);
  const refused = await ask(app, "/admin/v1/tenants", env);
  expect(refused).toMatchObject({
    status: 401,
    body: {
      detail: "The token is not accepted: the Worker's OPERATORS is missing or invalid",
    },
  });
  expect(logged.map(String)).toEqual([
    "Error: The Worker's OPERATORS is invalid: roles.secret-group: must be owner, operator, auditor, or a list of tenants",
  ]);
});

it("the variable may be a table or its JSON, and a changed text is parsed again", async () => {
  const app = appOf(withLogin);
  const claims = { issuer: CONFIG.issuer, clientId: "x", scopes: ["openid", "email"] };
  for (const env of [{ OPERATORS: CONFIG }, { OPERATORS: JSON.stringify(CONFIG) }]) {
    expect(await ask(app, "/admin/login", env)).toEqual({ status: 200, body: claims });
  }
  const env = { OPERATORS: { ...CONFIG, audience: "api://x" } };
  expect((await ask(app, "/admin/login", env)).body).toEqual({ ...claims, audience: "api://x" });
});
