// A key's holder makes it anew with the key alone; and a key that stands where its id belongs is not sent, and not said again.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

const KEY = "tnt_Yk3v0Qp8sD_UBdf4MBHsMu3Olx56pu3EbAvZlNYGYbR2mzvIh";

test("a key's token is alone on stdout, so that a script can keep it", async () => {
  const { admin, cli } = await commandLine();
  const keys = admin.addTenant("acme").keys;
  const args = ["key", "create", "acme", "-n", "ci", "-s", "read", "-s", "write", "--profile", "public"];
  const created = await cli.run([...args, "--expires", "2027-01-31"]);
  expect(created).toEqual({
    exit: 0,
    stdout: "tnt_key0000001_secret\n",
    stderr: "Key key0000001 created. Its token is on stdout and cannot be shown again.\n",
  });
  expect(keys.get("key0000001")).toMatchObject({
    scopes: ["read", "write"],
    profile: "public",
    expires: "2027-01-31T00:00:00.000Z",
  });
  expect((await cli.run(["key", "rotate", "acme", "key0000001", "--overlap", "2h"])).stdout).toBe(
    "tnt_key000000b_secret\n",
  );
  expect(keys.get("key0000001")?.retires).toBe("2026-11-21T12:00:00.000Z");
  const { stdout: listed } = await cli.run(["key", "list", "acme"]);
  expect(listed).toMatch(/^key0000001 +ci +read, write +public .* 2026-11-21T12:00:00Z$/m);
  expect(listed).toMatch(/^key000000b +ci +read, write +public .* 2027-01-31T00:00:00Z$/m);
  expect((await cli.run(["key", "revoke", "acme", "key0000001", "-y"])).stdout).toBe(
    "key0000001 is revoked everywhere\n",
  );
  expect([...keys.keys()]).toEqual(["key000000b"]);
  expect((await cli.run(["key", "revoke", "acme", "key0000001", "-y"])).exit).toBe(3);
});

test("a key's token follows its note in a terminal", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { stderr } = await cli.run(["key", "create", "acme", "-n", "ci"], { tty: true });
  expect(stderr).toBe("Key key0000001. This is the only time its token is shown:\n");
});

test("a relative expiry counts from now", async () => {
  const { admin, cli } = await commandLine();
  const keys = admin.addTenant("acme").keys;
  const before = Date.now();
  await cli.run(["key", "create", "acme", "-n", "x", "--expires", "30d"]);
  const expires = Date.parse(keys.get("key0000001")?.expires ?? "");
  expect(expires).toBeGreaterThanOrEqual(before + 30 * 86_400_000);
  expect(expires).toBeLessThanOrEqual(Date.now() + 30 * 86_400_000);
});

test("a key is rotated with itself, and no operator's token goes there", async () => {
  const { admin, cli } = await commandLine();
  const sent: unknown[] = [];
  admin.intercept = ({ method, url, header }) => {
    sent.push([method, url, header("authorization")]);
    return { status: 201, json: { id: "Zk3v0Qp8sD", token: "tnt_shown_once" } };
  };
  const { exit, stdout } = await cli.run(["key", "rotate", "acme", "--overlap", "7d"], { env: { TENANTRY_KEY: KEY } });
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: "tnt_shown_once\n" });
  expect(sent).toEqual([["POST", "/admin/v1/tenants/acme/keys/self/rotate", `Bearer ${KEY}`]]);
});

test.each(["rotate", "revoke"])("a key is named by its name for key %s", async (verb) => {
  const { admin, cli } = await commandLine();
  const { keys } = admin.addTenant("acme");
  const create = async (name: string) => cli.run(["key", "create", "acme", "--name", name]);
  for (const name of ["first", "twin", "twin"]) await create(name);
  const run = async (key: string) => cli.run(["key", verb, "acme", key, ...(verb === "revoke" ? ["--yes"] : [])]);
  expect(await run("frist")).toMatchObject({ exit: 3 });
  expect(await run("twin")).toMatchObject({
    exit: 2,
    stderr: "tenantry: acme has several keys with the name twin: use one of the ids key0000002, key0000003\n",
  });
  const { exit, stdout } = await run("first");
  expect(exit).toBe(0);
  expect(stdout).toBe(verb === "revoke" ? "first (key0000001) is revoked everywhere\n" : "tnt_key000000b_secret\n");
  expect(keys.has("key000000b")).toBe(verb === "rotate");
  expect(keys.has("key0000001")).toBe(verb === "rotate");
});

test("a profile behind the tenant is said to be an option, and nothing is sent", async () => {
  const { admin, cli } = await commandLine();
  const { exit, stderr } = await cli.run(["key", "create", "acme/readers", "--name", "ci"]);
  expect({ exit, requests: admin.requests }).toEqual({ exit: 2, requests: [] });
  expect(stderr).toContain("tenantry key create acme --profile readers");
});

test("key rotate without an id and a key is a usage error", async () => {
  const { admin, cli } = await commandLine();
  const { exit, stderr } = await cli.run(["key", "rotate", "acme"]);
  expect({ exit, stderr, requests: admin.requests }).toEqual({
    exit: 2,
    stderr: "tenantry: key rotate: name the key's id, or give the key itself with --key-file FILE\n",
    requests: [],
  });
});

test.each([
  ["key rotate acme", KEY],
  ["key revoke acme", KEY],
  ["suspend acme --note Left --principal", KEY],
  ["resume acme --principal", `key ${KEY}`],
  ["grant list acme --principal", `key ${KEY}`],
  ["explain acme note_write --key", KEY],
])("%s says that it was given a key, with the id that was meant", async (command, key) => {
  const { admin, cli } = await commandLine();
  const { exit, stderr } = await cli.run([...command.split(" "), key]);
  expect({ exit, requests: admin.requests }).toEqual({ exit: 2, requests: [] });
  expect(stderr).toBe(
    "tenantry: this is a key, not its id, which is Yk3v0Qp8sD. It is now in your shell's history, so replace it: tenantry key rotate TENANT Yk3v0Qp8sD\n",
  );
});

test("a key in front of which stands Bearer is not sent", async () => {
  const { admin, cli } = await commandLine();
  const { exit, stderr } = await cli.run(["call", "acme"], { env: { TENANTRY_KEY: `Bearer ${KEY}` } });
  expect({ exit, stderr, requests: admin.requests }).toEqual({
    exit: 2,
    stderr: 'tenantry: TENANTRY_KEY: must be the key or token alone, without "Bearer "\n',
    requests: [],
  });
});

test("an empty file of a key is said to be empty", async () => {
  const { cli, folder } = await commandLine();
  await writeFile(join(folder, "key.txt"), "\n");
  const { exit, stderr } = await cli.run(["call", "acme", "--key-file", "key.txt"]);
  expect({ exit, stderr }).toEqual({ exit: 2, stderr: "tenantry: --key-file: is empty\n" });
});
