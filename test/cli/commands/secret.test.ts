// `tenantry secret`: values come in unseen and never come out.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("a value is read from stdin, without the line end at its very end", async () => {
  const { admin, cli } = await commandLine();
  const { secrets } = admin.addTenant("acme");
  const { exit, stdout } = await cli.run(["secret", "set", "acme", "api_token"], { stdin: "two\nlines\n\r\n" });
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: "api_token of acme is set\n" });
  expect([...secrets]).toEqual([["API_TOKEN", "two\nlines\n"]]);
});

test("a value is read from a file", async () => {
  const { admin, cli, folder } = await commandLine();
  const { secrets } = admin.addTenant("acme");
  await writeFile(join(folder, "token.txt"), "\ufeffhush\n");
  const { exit } = await cli.run(["secret", "set", "acme", "T", "--from-file", "token.txt", "--wait"]);
  expect(exit).toBe(0);
  expect(secrets.get("T")).toBe("\ufeffhush");
  expect(admin.requests.at(-1)).toBe("PUT /admin/v1/tenants/acme/secrets/T?wait=1");
});

test("a person is asked for it, and what is typed is not shown", async () => {
  const { admin, cli } = await commandLine();
  const { secrets } = admin.addTenant("acme");
  const { exit, stdout, stderr } = await cli.run(["secret", "set", "acme", "T"], { stdin: "hush\n", tty: true });
  expect(exit).toBe(0);
  expect(secrets.get("T")).toBe("hush");
  expect(stderr).toContain("Value of T: ");
  expect(stdout + stderr).not.toContain("hush");
});

test.each([
  ["nothing", "", "a secret must have at least one character"],
  ["only a line end", "\n", "a secret must have at least one character"],
  ["bytes that are no text", Buffer.from([0xff, 0xfe]), "stdin: is not UTF-8 text"],
])("%s is refused before anything is sent", async (_what, stdin, says) => {
  const { admin, cli } = await commandLine();
  const { exit, stderr } = await cli.run(["secret", "set", "acme", "T"], { stdin });
  expect(exit).toBe(2);
  expect(stderr).toContain(says);
  expect(admin.requests).toEqual([]);
});

test("a file that is not there is named", async () => {
  const { admin, cli } = await commandLine();
  const { exit, stderr } = await cli.run(["secret", "set", "acme", "T", "--from-file", "gone"]);
  expect(exit).toBe(2);
  expect(stderr).toContain("gone");
  expect(admin.requests).toEqual([]);
});

test("names are listed, as a table and as JSON, without values", async () => {
  const { admin, cli } = await commandLine();
  const { secrets } = admin.addTenant("acme");
  expect((await cli.run(["secret", "list", "acme"])).stderr).toContain("tenantry secret set acme NAME");
  secrets.set("B", "hush").set("A", "hush");
  expect((await cli.run(["secret", "list", "acme"])).stdout).toMatch(/^A +2026-11-21T10:00:00Z$\n^B /m);
  const updated = "2026-11-21T10:00:00.000Z";
  expect(await cli.json("secret", "list", "acme")).toEqual([
    { name: "A", updated },
    { name: "B", updated },
  ]);
});

test("delete asks first, and a name that is not there is a failure", async () => {
  const { admin, cli } = await commandLine();
  const { secrets } = admin.addTenant("acme");
  secrets.set("T", "hush");
  expect((await cli.run(["secret", "delete", "acme", "T"])).exit).toBe(2);
  expect((await cli.run(["secret", "delete", "acme", "T"], { stdin: "n\n", tty: true })).exit).toBe(2);
  expect(secrets.size).toBe(1);
  expect((await cli.run(["secret", "delete", "acme", "T", "--yes"])).stdout).toBe("T of acme is deleted everywhere\n");
  const again = await cli.run(["secret", "delete", "acme", "T", "--yes"]);
  expect(again).toMatchObject({ exit: 3, stderr: "tenantry: there is no secret T in acme, or not any more\n" });
});
