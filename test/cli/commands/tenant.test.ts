// `tenantry tenant`: what is sent, and how the answer looks.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("a tenant is created, listed, shown and deleted", async () => {
  const { admin, cli } = await commandLine();
  const created = await cli.run([
    "tenant",
    "create",
    "acme",
    "--title",
    "Acme Inc.",
    "--mode",
    "key",
    "--region",
    "weur",
  ]);
  expect(created.stdout).toBe(
    `acme is at ${admin.url}/mcp/acme\nIt needs a key: tenantry key create acme --name first\n`,
  );
  expect(admin.tenants.get("acme")?.birth).toEqual({ region: "weur" });
  expect((await cli.run(["tenant", "list"])).stdout).toMatch(/^acme +active +2026-11-21T10:00:00Z/m);
  const shown = await cli.run(["tenant", "show", "acme"]);
  expect(shown.stdout).toContain("title     Acme Inc.\n");
  expect(shown.stdout).toContain("mode      key\n");
  expect(await cli.run(["tenant", "delete", "acme", "--yes"])).toEqual({
    exit: 0,
    stdout: "acme is deleted\n",
    stderr: "",
  });
  expect(admin.tenants.size).toBe(0);
});

test("a tenant that the Worker's function knows no more is listed and shown as gone, and deleted", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme").state = "gone";
  expect((await cli.run(["tenant", "list"])).stdout).toContain("acme    gone ");
  expect((await cli.run(["tenant", "show", "acme"])).stdout).toMatch(/^state +gone$/m);
  expect(JSON.stringify(admin.requests)).not.toContain("suspensions");
  expect((await cli.run(["tenant", "delete", "acme", "--yes"])).stdout).toBe("acme is deleted\n");
});

test("show names a tenant's upstreams", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme", { upstreams: { tracker: { url: "https://mcp.example.com/mcp" } } });
  expect((await cli.run(["tenant", "show", "acme"])).stdout).toMatch(/^upstreams +tracker$/m);
});

test("creating a tenant that exists is a conflict", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { exit, stderr } = await cli.run(["tenant", "create", "acme"]);
  expect({ exit, stderr }).toEqual({
    exit: 5,
    stderr: "tenantry: Conflict with the current state: id: acme already exists\n",
  });
});

test("a list goes through all pages, or as far as --limit", async () => {
  const { admin, cli } = await commandLine();
  for (let number = 0; number < 2100; number += 1) admin.addTenant(`t${String(number).padStart(4, "0")}`);
  expect(await cli.json("tenant", "list")).toHaveLength(2100);
  expect(admin.requests).toHaveLength(3);
  const some = await cli.json<{ id: string }[]>("tenant", "list", "--limit", "1500");
  expect(some.at(-1)?.id).toBe("t1499");
  expect(some).toHaveLength(1500);
});

test("an empty list is empty on stdout and says on stderr what to do", async () => {
  const { cli } = await commandLine();
  expect(await cli.run(["tenant", "list"])).toEqual({
    exit: 0,
    stdout: "",
    stderr: "No tenants yet: tenantry tenant create ID makes one.\n",
  });
  expect(await cli.run(["tenant", "list", "--json"])).toEqual({ exit: 0, stdout: "[]\n", stderr: "" });
  expect((await cli.run(["tenant", "list", "--quiet"])).stderr).toBe("");
});

test("deleting asks first, and where nobody can be asked it needs --yes", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  expect((await cli.run(["tenant", "delete", "acme"])).exit).toBe(2);
  const declined = await cli.run(["tenant", "delete", "acme"], { tty: true, stdin: "n\n" });
  expect(declined.exit).toBe(2);
  expect(declined.stderr).toContain("Delete acme with everything it has? [y/N]");
  expect((await cli.run(["tenant", "delete", "acme"], { tty: true, stdin: "" })).exit).toBe(2);
  expect(admin.tenants.has("acme")).toBe(true);
  expect((await cli.run(["tenant", "delete", "acme"], { tty: true, stdin: "y\n" })).exit).toBe(0);
  expect(admin.tenants.has("acme")).toBe(false);
});

test("a slip in the name is found before the question", async () => {
  const { cli } = await commandLine();
  const { exit, stderr } = await cli.run(["tenant", "delete", "acme"], { tty: true, stdin: "y\n" });
  expect(exit).toBe(3);
  expect(stderr).not.toContain("[y/N]");
});

test("show says who signs people in, and where they see what they allowed", async () => {
  const { admin, cli } = await commandLine();
  const issuer = "https://login.example.com";
  const login = { via: "oidc", issuer, clientId: "c" } as const;
  admin.addTenant("acme", { mode: "key+oauth", auth: { login, issuers: [{ issuer: "https://other.example" }] } });
  const { stdout } = await cli.run(["tenant", "show", "acme"]);
  expect(stdout).toMatch(/^sign-in +by oidc at https:\/\/login\.example\.com; tokens of https:\/\/other\.example$/m);
  expect(stdout).toContain(`${admin.url}/account/acme\n`);
});

test("`auth` in a mode that takes no token is said to do nothing, with the mode in which it does", async () => {
  const { admin, cli, folder } = await commandLine();
  const file = join(folder, "acme.yaml");
  await writeFile(file, "id: acme\nmode: key\nauth: { login: { via: key } }\n");
  for (const args of [
    ["apply", "-f", file],
    ["apply", "-f", file],
    ["tenant", "create", "globex", "-f", file],
  ]) {
    expect((await cli.run(args)).stderr).toContain("auth has no effect in the mode key");
  }
  const { stdout } = await cli.run(["tenant", "show", "acme"]);
  expect(stdout).toMatch(/^sign-in +auth has no effect in the mode key: .*set mode: key\+oauth/m);
  expect(stdout).not.toContain(`${admin.url}/account`);
  await writeFile(file, "id: initech\nmode: key+oauth\nauth: { login: { via: key } }\n");
  const { stderr, stdout: made } = await cli.run(["apply", "-f", file]);
  expect(stderr).not.toContain("auth");
  expect(made).toContain("It needs a key that somebody signs in with: tenantry key create initech --name first\n");
});
