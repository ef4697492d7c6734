// `tenantry connect` and `doctor` where people log in: both go by what the endpoint says of itself, as clients do.

import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { CommandLine, type Ended } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "connect-login");
const LOGIN = { mode: "oauth", auth: { login: { via: "key" } } };

async function tenantry(...args: string[]): Promise<Ended> {
  return new CommandLine(tmpdir(), { HOME: tmpdir() }).run([...args, "--url", origin]);
}

test("connect prints no header, and how one logs in", async () => {
  const id = await admin.tenant(LOGIN);
  const { exit, stdout, stderr } = await tenantry("connect", id, "--client", "codex");
  expect([exit, stdout.includes("http_headers")]).toEqual([0, false]);
  expect(stderr).toContain(`codex mcp login ${id}`);
});

test("doctor finds the way to the login, and nothing wrong on it", async () => {
  const id = await admin.tenant(LOGIN);
  const { exit, stdout } = await tenantry("doctor", id, "--json");
  const findings = JSON.parse(stdout) as { check: string; state: string; detail: string }[];
  expect([exit, findings.filter(({ state }) => state === "failed")]).toEqual([0, []]);
  const checks = findings.filter(({ state }) => state === "ok").map(({ check }) => check);
  expect(checks).toEqual(expect.arrayContaining(["access", "login: the resource", "login: the server"]));
});

test("a key of a tenant that takes both is printed, and one of nobody is refused", async () => {
  const id = await admin.tenant({ ...LOGIN, mode: "key+oauth" });
  const { token } = await admin.key(id);
  const { stdout } = await tenantry("connect", id, "--client", "zed", "--key", token);
  expect(stdout).toContain(`Bearer ${token}`);
  const other = await admin.key(await admin.tenant({ mode: "key" }));
  expect((await tenantry("connect", id, "--client", "zed", "--key", other.token)).exit).toBe(4);
  expect((await tenantry("doctor", id, "--key", token)).exit).toBe(0);
});
