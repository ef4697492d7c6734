// `tenantry usage`: a table of what was called, or its lines as they are; and what a tenant has.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

const line = (tenant: string, name: string | null, calls: number, from = "2026-11-21T10:00:00.000Z") => ({
  id: `${tenant}/${from}/${name}`,
  tenant,
  from,
  to: "2026-11-21T11:00:00.000Z",
  profile: null,
  kind: "tool",
  name,
  upstream: null,
  calls,
  errors: 1,
  refused: 0,
  bytesIn: 10,
  bytesOut: 20,
  closed: true,
});

async function serving(lines: readonly ReturnType<typeof line>[]) {
  const { admin, cli } = await commandLine();
  const requests: string[] = [];
  for (const { tenant } of lines) admin.addTenant(tenant);
  admin.intercept = ({ url }) => {
    const [, tenant] = /tenants\/(\w+)\/usage\/calls/.exec(url) ?? [];
    if (tenant === undefined) return undefined;
    requests.push(url);
    const own = lines.filter((one) => one.tenant === tenant);
    return { body: Buffer.from(own.map((one) => `${JSON.stringify(one)}\n`).join("")) };
  };
  return { cli, requests };
}

test("the hours of a tenant are one row for each thing, the most called first", async () => {
  const { cli, requests } = await serving([
    line("acme", "sub", 1),
    line("acme", "add", 2),
    line("acme", "add", 3, "later"),
  ]);
  const { exit, stdout } = await cli.run(["usage", "--tenant", "acme", "--from", "2026-11-21"]);
  expect(exit).toBe(0);
  expect(stdout.split("\n").slice(1, 3)).toMatchObject([
    expect.stringMatching(/^acme +tool +add +5 +2 +0 +20 +40/),
    expect.stringMatching(/^acme +tool +sub +1 /),
  ]);
  expect(requests).toEqual([expect.stringContaining("by=hour&from=2026-11-21T00%3A00%3A00.000Z&open=1")]);
});

test("--json prints the lines of every tenant as they came, and --closed asks for closed ones only", async () => {
  const { cli, requests } = await serving([line("acme", "add", 2), line("beta", null, 3)]);
  const { stdout } = await cli.run(["usage", "--json", "--by", "day", "--closed"]);
  const lines = stdout.trim().split("\n");
  expect(lines.map((text) => (JSON.parse(text) as { tenant: string }).tenant)).toEqual(["acme", "beta"]);
  expect(requests.every((url) => url.includes("by=day&open=0"))).toBe(true);
});

test("a unit of time that there is not, and an end before the beginning, are refused before anything is asked", async () => {
  const { cli, requests } = await serving([line("acme", "add", 2)]);
  expect(await cli.run(["usage", "--by", "week"])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining("hour or day"),
  });
  const turned = await cli.run(["usage", "--from", "2027-02-01", "--to", "2027-01-01"]);
  expect(turned).toMatchObject({ exit: 2, stderr: expect.stringContaining("is not before --to 2027-01-01") });
  expect(requests).toEqual([]);
});

test("usage says that nothing was called", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.intercept = ({ url }) => (url.includes("/usage/calls") ? { body: Buffer.from("") } : undefined);
  expect((await cli.run(["usage"])).stderr).toContain("No calls in this time");
});

test("usage TENANT shows what the tenant has, and names the commands for its limits and its calls", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const held = { resources: 12, resourceBytes: 3_250_000, keys: 2, suspensions: 1, limits: { resources: 500 } };
  const requests: string[] = [];
  admin.intercept = ({ url }) => {
    requests.push(url);
    return { json: held };
  };
  const { exit, stdout, stderr } = await cli.run(["usage", "acme"]);
  expect(stdout.trim().split("\n")).toEqual([
    "resources    12",
    "stored       3.1 MiB",
    "keys         2",
    "suspensions  1",
  ]);
  expect([exit, stderr]).toEqual([0, expect.stringMatching(/tenantry limits acme .* tenantry usage --tenant acme /)]);
  const json = await cli.run(["usage", "acme", "--json"]);
  expect([JSON.parse(json.stdout), json.stderr]).toEqual([held, ""]);
  expect(requests).toEqual(["/admin/v1/tenants/acme/usage", "/admin/v1/tenants/acme/usage"]);
});

test.each([["--from", "7d"], ["--closed"], ["--by", "day"], ["--tenant", "beta"]])(
  "usage TENANT refuses %s, and says what was meant",
  async (...options) => {
    const { cli, requests } = await serving([line("acme", "add", 2)]);
    expect(await cli.run(["usage", "acme", ...options])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("tenantry usage --tenant acme --from 7d"),
    });
    expect(requests).toEqual([]);
  },
);
