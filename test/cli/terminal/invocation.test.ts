// Commands in messages are typed as they stand: `npm run` in a checkout, `npx` in a project. A result is nobody's message.

import { expect, test } from "vitest";
import { rewriteInvocation } from "../../../src/cli/terminal/invocation.ts";
import { commandLine } from "../../support/command-line.ts";

const CHECKOUT = { npm_lifecycle_event: "tenantry" };
const PROJECT = { npm_lifecycle_event: "npx", npm_lifecycle_script: "tenantry key list" };

test.each<[string, Record<string, string>, string]>([
  ["tenantry key list acme", CHECKOUT, "npm run -s tenantry -- key list acme"],
  ["KEY=$(tenantry key create acme --name x)", CHECKOUT, "KEY=$(npm run -s tenantry -- key create acme --name x)"],
  ["npx tenantry doctor demo", CHECKOUT, "npm run -s tenantry -- doctor demo"],
  ["tenantry key list acme", PROJECT, "npx tenantry key list acme"],
  [
    "tenantry key list acme",
    { npm_lifecycle_event: "npx", npm_lifecycle_script: "'tenantry' key list" },
    "npx tenantry key list acme",
  ],
  ["tenantry key list acme", {}, "tenantry key list acme"],
  [
    "tenantry key list acme",
    { npm_lifecycle_event: "npx", npm_lifecycle_script: "vitest run" },
    "tenantry key list acme",
  ],
])("%s, by %o", (text, env, typed) => {
  expect(rewriteInvocation(text, env)).toBe(typed);
});

test.each([
  "tenantry: no such tenant",
  "no tenantry server answers there",
  "./tenantry-0.1.0.tgz",
  '"tenantry", "stdio"',
])("%s names no command", (text) => {
  expect(rewriteInvocation(text, CHECKOUT)).toBe(text);
});

test("errors, notes and help are said so; what is printed is not touched", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ json: { items: [], next: null } });
  const around = { env: CHECKOUT };
  expect((await cli.run(["foo"], around)).stderr).toContain("npm run -s tenantry -- help shows");
  expect((await cli.run(["key", "list", "acme"], around)).stderr).toContain("npm run -s tenantry -- key create acme");
  expect((await cli.run(["help", "key", "list"], around)).stdout).toContain("  npm run -s tenantry -- key list acme");
  admin.intercept = () => undefined;
  const made = await cli.run(["tenant", "create", "acme", "--mode", "key"], around);
  expect(made.stdout).toContain("It needs a key: npm run -s tenantry -- key create acme");
  const { stdout } = await cli.run(["completion", "bash"], around);
  expect(stdout).toBe((await cli.run(["completion", "bash"])).stdout);
});
