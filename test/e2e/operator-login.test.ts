// `tenantry login` from its first word to its last: a program, a Worker, an authorization server and a browser that follows
// redirects, each on its own.

import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { CommandLine } from "../support/command-line.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { startSignInServer } from "../support/sign-in-server.ts";

const issuer = await startSignInServer({ ends: afterAll, path: "/realms/staff" });
const worker = await startLoginWorker({
  OPERATORS: JSON.stringify({
    issuer: issuer.server.issuer,
    clientId: "tenantry-cli",
    claim: "groups",
    roles: { staff: "operator" },
  }),
});

/** A folder with a program in it that opens what it is given, and shows it to nobody. */
async function freshCommandLine(): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-login-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const browser = join(folder, "browser");
  const follow = "fetch(process.argv[1]).then((page) => page.text())";
  await writeFile(browser, `#!/bin/sh\nexec '${process.execPath}' -e '${follow}' "$1"\n`);
  await chmod(browser, 0o755);
  return new CommandLine(folder, { HOME: folder, TENANTRY_URL: worker.origin, BROWSER: browser });
}

test("a person who signs in works with the server as themselves, until they log out", async () => {
  const cli = await freshCommandLine();
  issuer.claims = { sub: "00u1", email: "alice@example.com", groups: ["staff"] };
  // What was got ends at once, so that every command needs the next one.
  issuer.lives = 0;
  const file = join(cli.folder, ".config/tenantry/config.json");
  expect(await cli.print("login", "--browser", "--yes")).toBe(
    `Logged in to ${worker.origin} as alice@example.com; stored in ${file}\n`,
  );
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe("600");
  await cli.print("tenant", "create", "acme");
  const audit = JSON.parse(await cli.print("audit", "acme", "--json")) as Json[];
  const name = `operator ${issuer.server.issuer} 00u1 (alice@example.com)`;
  expect(audit.map(({ actor }) => actor)).toEqual([name]);
  expect(issuer.requests.filter(({ form }) => form["grant_type"] === "refresh_token")).toHaveLength(2);
  const forbidden = await cli.execute(["operator", "list"]);
  expect([forbidden.exit, forbidden.stderr]).toEqual([4, expect.stringContaining("owner, auditor")]);
  await cli.print("tenant", "delete", "acme", "--yes");
  await cli.print("logout");
  expect(issuer.goodRefreshTokens()).toBe(0);
  expect(await readFile(file, "utf8")).not.toMatch(/eyJ|refreshToken/);
  const { exit, stderr } = await cli.execute(["tenant", "list"]);
  expect([exit, stderr]).toEqual([4, expect.stringContaining("run tenantry login")]);
});

test("a person without a role is told why, and nothing is kept", async () => {
  const cli = await freshCommandLine();
  issuer.claims = { groups: ["guests"] };
  issuer.lives = 3600;
  const { exit, stderr } = await cli.execute(["login", "--browser", "--yes"]);
  expect(exit).toBe(4);
  expect(stderr).toContain("its claim groups has no value with a role in OPERATORS");
  await expect(stat(join(cli.folder, ".config/tenantry/config.json"))).rejects.toThrow("ENOENT");
});

test("a token of the platform's own is taken at the same server", async () => {
  const cli = await freshCommandLine();
  await cli.print("login", "--token", ADMIN_TOKEN);
  await cli.print("operator", "list");
});

test("what the Worker logs has no token in it", () => {
  expect(worker.log()).not.toMatch(/eyJ[\w-]+\.[\w-]+\./);
});
