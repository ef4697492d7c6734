// `tenantry limits`: what holds, and setting one.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("each limit is shown with its value, who set it, what is used of it, and when it was met", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { exit, stdout } = await cli.run(["limits", "acme"]);
  expect(exit).toBe(0);
  expect(stdout).toMatch(/^toolCalls +1200 +a minute +3 +default +tenant +\S/m);
  expect(stdout).toMatch(/^dailyToolCalls +none +- +3 +default /m);
});

test("a limit is set, and taken away again", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  expect((await cli.run(["limits", "acme", "toolCalls=5000"])).stdout).toContain("toolCalls of acme is 5000");
  expect(admin.requests.at(-1)).toBe("PUT /admin/v1/tenants/acme/limits/toolCalls");
  expect((await cli.run(["limits", "acme"])).stdout).toMatch(/^toolCalls +5000 +a minute +3 +tenant /m);
  expect((await cli.run(["limits", "acme", "toolCalls=default"])).stdout).toContain("toolCalls of acme is default");
  expect(admin.requests.at(-1)).toBe("DELETE /admin/v1/tenants/acme/limits/toolCalls");
});

test.each(["7", "default"])("a limit whose first answer is lost is %s, not so already", async (value) => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const json = { revision: 2, changed: false, dryRun: false, effectiveAt: null, changes: [] };
  let attempts = 0;
  admin.intercept = () => {
    attempts += 1;
    if (attempts === 1) throw new Error("the connection breaks");
    return { json };
  };
  const args = ["limits", "acme", `toolCalls=${value}`];
  expect(await cli.run(args)).toMatchObject({ exit: 0, stdout: `toolCalls of acme is ${value}\n` });
  expect(attempts).toBe(2);
  expect((await cli.run(args)).stdout).toBe(`toolCalls of acme was ${value} already\n`);
});

test.each([
  ["toolCals", "unknown limit toolCals; did you mean toolCalls?"],
  ["bananas", "unknown limit bananas; limits are: toolCalls, dailyToolCalls"],
])("%s is no limit, and what may be meant is said", async (name, text) => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.intercept = ({ method }) =>
    method === "GET" ? undefined : { status: 400, json: { type: "about:blank", title: "Invalid input", status: 400 } };
  for (const value of ["5", "default"]) {
    const { exit, stderr } = await cli.run(["limits", "acme", `${name}=${value}`]);
    expect([exit, stderr]).toEqual([2, expect.stringContaining(text)]);
  }
});

test("a limit that is set is said with when it is in force, and without an option that the command does not have", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const json = { revision: 2, changed: true, dryRun: false, effectiveAt: "2999-01-01T00:00:00Z", changes: [] };
  admin.intercept = () => ({ json });
  const { stdout } = await cli.run(["limits", "acme", "toolCalls=5000"]);
  expect(stdout).toContain("In effect everywhere from 2999-01-01T00:00:00Z.");
  expect(stdout).not.toContain("--wait");
});

test.each(["toolCalls", "toolCalls=", "toolCalls=-1", "toolCalls=1.5", "toolCalls=many", "a b=5"])(
  "%s is refused before anything is sent",
  async (change) => {
    const { admin, cli } = await commandLine();
    admin.addTenant("acme");
    const { exit, stderr } = await cli.run(["limits", "acme", change]);
    expect(exit).toBe(2);
    expect(stderr).toContain("write NAME=NUMBER, or NAME=default");
    expect(admin.requests).toEqual([]);
  },
);
