// An owner token that could be guessed is refused, and the log says why.

import { describe, expect, it } from "vitest";
import { tokenWeakness } from "../../src/admin/owner-tokens.ts";
import { adminEnv, adminOptions, appOf, ask, ORIGIN, operator } from "../support/workerd/admin.ts";

const WEAK = [
  ["secret", "it has fewer than 32 characters"],
  ["correct-horse-battery-staple-42", "it has fewer than 32 characters"],
  ["a".repeat(64), "it has fewer than 8 different characters"],
  ["passwordpasswordpasswordpassword", "it has fewer than 8 different characters"],
  ["admin12345admin12345admin12345admin12345", "it is a shorter text, repeated"],
] as const;

const VARIABLES = ["ADMIN_TOKEN", "DEV_ADMIN_TOKEN"] as const;

describe.each(VARIABLES)("%s", (variable) => {
  it.each(WEAK)("%s is refused to who has it, with the reason: %s", async (token, reason) => {
    const refused = await ask("GET", "/tenants", { token, env: { [variable]: token } });
    expect([refused.status, refused.body]).toMatchObject([
      401,
      { detail: `The Worker's ${variable} is not accepted: ${reason}. Create one with openssl rand -base64 32` },
    ]);
    expect(refused.text).not.toContain(token);
  });

  it("that is weak is not shown to others, and does not lock them out", async () => {
    const env = { [variable]: "weak" };
    const other = await ask("GET", "/tenants", { token: "another", env });
    expect([other.status, other.body]).toMatchObject([401, { detail: "The token is not known" }]);
    const { token } = await operator("owner");
    expect((await ask("GET", "/tenants", { token, env })).status).toBe(200);
  });
});

it("a weak ADMIN_TOKEN is reported in the log of an isolate once, and not shown there", async () => {
  const logged: unknown[] = [];
  const app = appOf({ ...adminOptions, onError: (error) => logged.push(error) });
  const env = { ...adminEnv, ADMIN_TOKEN: "hunter2" };
  for (const path of ["/admin/openapi.json", "/admin/v1/tenants"]) await app.fetch(new Request(ORIGIN + path), env);
  expect(logged.map((error) => (error as Error).message)).toEqual([
    "The Worker's ADMIN_TOKEN is not accepted: it has fewer than 32 characters. Create one with openssl rand -base64 32",
  ]);
});

it("a Worker without ADMIN_TOKEN says how to set it, in the log once and in every refusal", async () => {
  const logged: unknown[] = [];
  const app = appOf({ ...adminOptions, onError: (error) => logged.push(error) });
  const { ADMIN_TOKEN: _none, ...env } = adminEnv;
  for (const headers of [{}, { authorization: "Bearer anything" }]) {
    const response = await app.fetch(new Request(`${ORIGIN}/admin/v1/tenants`, { headers }), env);
    const problem = await response.json<{ detail: string }>();
    expect([response.status, problem.detail]).toEqual([
      401,
      expect.stringContaining("npx wrangler secret put ADMIN_TOKEN"),
    ]);
  }
  expect(logged.map((error) => (error as Error).message)).toEqual([
    expect.stringMatching(/has no ADMIN_TOKEN.* into \.dev\.vars and start wrangler dev again$/),
  ]);
});

it("a token as the README or npm start makes it is accepted, and so are 32 random hexadecimal digits", async () => {
  const bytes = (many: number) => [...crypto.getRandomValues(new Uint8Array(many))];
  const base64 = (many: number) => btoa(String.fromCharCode(...bytes(many)));
  const hexadecimal = () => bytes(16).map((byte) => byte.toString(16).padStart(2, "0"));
  for (let round = 0; round < 200; round += 1) {
    for (const token of [base64(32), base64(24), hexadecimal().join("")]) {
      expect([token, tokenWeakness(token)]).toEqual([token, undefined]);
    }
  }
  const token = base64(32);
  const request = new Request(`${ORIGIN}/admin/v1/tenants`, { headers: { authorization: `Bearer ${token}` } });
  expect((await appOf().fetch(request, { ...adminEnv, ADMIN_TOKEN: token })).status).toBe(200);
});
