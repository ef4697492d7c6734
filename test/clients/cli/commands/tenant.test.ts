// Tenants, keys, prompts, operators, suspensions, audit and explain: what is sent, and how the answer looks.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../../support/command-line.ts";

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
  expect((await cli.run(["tenant", "list"])).stdout).toBe(
    "TENANT  STATE   CREATED\nacme    active  2026-11-21T10:00:00Z\n",
  );
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
  expect({ exit, stderr }).toEqual({ exit: 5, stderr: "tenantry: The tenant exists: id: acme is taken\n" });
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

test("a key's token is alone on stdout, so that a script can keep it", async () => {
  const { admin, cli } = await commandLine();
  const keys = admin.addTenant("acme").keys;
  const args = ["key", "create", "acme", "-n", "ci", "-s", "read", "-s", "write", "--profile", "public"];
  const created = await cli.run([...args, "--expires", "2027-01-31"]);
  expect(created).toEqual({
    exit: 0,
    stdout: "tnt_key1_secret\n",
    stderr: "Key key1. This is the only time its token is shown:\n",
  });
  expect(keys.get("key1")).toMatchObject({
    scopes: ["read", "write"],
    profile: "public",
    expires: "2027-01-31T00:00:00.000Z",
  });
  expect((await cli.run(["key", "rotate", "acme", "key1", "--overlap", "2h"])).stdout).toBe("tnt_key1b_secret\n");
  expect(keys.get("key1")?.retires).toBe("2026-11-21T12:00:00.000Z");
  expect((await cli.run(["key", "list", "acme"])).stdout).toBe(
    [
      "KEY    NAME  SCOPES       PROFILE  CREATED               LAST USED, TO THE HOUR  ENDS",
      "key1   ci    read, write  public   2026-11-21T10:00:00Z  never                   2026-11-21T12:00:00Z",
      "key1b  ci    read, write  public   2026-11-21T10:00:00Z  never                   2027-01-31T00:00:00Z\n",
    ].join("\n"),
  );
  expect((await cli.run(["key", "revoke", "acme", "key1", "-y"])).stdout).toBe("key1 is revoked everywhere\n");
  expect([...keys.keys()]).toEqual(["key1b"]);
  expect((await cli.run(["key", "revoke", "acme", "key1", "-y"])).exit).toBe(3);
});

test("a relative expiry counts from now", async () => {
  const { admin, cli } = await commandLine();
  const keys = admin.addTenant("acme").keys;
  const before = Date.now();
  await cli.run(["key", "create", "acme", "-n", "x", "--expires", "30d"]);
  const expires = Date.parse(keys.get("key1")?.expires ?? "");
  expect(expires).toBeGreaterThanOrEqual(before + 30 * 86_400_000);
  expect(expires).toBeLessThanOrEqual(Date.now() + 30 * 86_400_000);
});

test("a prompt is what it was after get and put", async () => {
  const { admin, cli, folder } = await commandLine();
  const review = {
    description: "Reviews: a text",
    arguments: [{ name: "tone", required: true }, { name: "length" }],
    messages: [{ role: "user" as const, content: { type: "text" as const, text: "Review\n\n  this: {{tone}}\n" } }],
  };
  const tenant = admin.addTenant("acme", { prompts: { review } });
  const { stdout } = await cli.run(["prompt", "get", "acme", "review"]);
  await writeFile(join(folder, "review.yaml"), stdout);
  expect((await cli.run(["prompt", "put", "acme", "copy", "-f", "review.yaml"])).stdout).toBe("copy: written\n");
  expect(tenant.own.prompts).toEqual({ review, copy: review });
  expect((await cli.run(["prompt", "list", "acme"])).stdout).toBe(
    "PROMPT  ARGUMENTS      DESCRIPTION\nreview  tone [length]  Reviews: a text\ncopy    tone [length]  Reviews: a text\n",
  );
  expect((await cli.run(["prompt", "delete", "acme", "copy"])).exit).toBe(0);
  expect((await cli.run(["prompt", "get", "acme", "copy"])).exit).toBe(3);
});

test.each([
  { args: ["acme"], key: "tenant ", says: "acme" },
  { args: ["acme", "--profile", "public"], key: "profile public", says: "profile public of acme" },
  { args: ["acme", "--principal", "key1"], key: "principal key1", says: "principal key1 of acme" },
  { args: ["acme", "--tool", "note_write"], key: "tool note_write", says: "tool note_write of acme" },
])("suspend and resume $args", async ({ args, key, says }) => {
  const { admin, cli } = await commandLine();
  const tenant = admin.addTenant("acme");
  expect((await cli.run(["suspend", ...args, "--note", "Unpaid"])).stdout).toBe(`${says}: suspended\n`);
  expect(tenant.suspensions.get(key)?.note).toBe("Unpaid");
  expect((await cli.run(["tenant", "show", "acme"])).stdout).toMatch(/^suspended .*: Unpaid$/m);
  const state = key === "tenant " ? "suspended" : "active";
  expect((await cli.run(["tenant", "show", "acme"])).stdout).toMatch(new RegExp(`^state +${state}$`, "m"));
  const listed = async () => (await cli.run(["tenant", "list"])).stdout;
  expect(await listed()).toMatch(new RegExp(`^acme +${state} `, "m"));
  expect((await cli.run(["resume", ...args])).stdout).toBe(`${says}: resumed\n`);
  expect(await listed()).toMatch(/^acme +active /m);
  expect(tenant.suspensions.size).toBe(0);
  expect((await cli.run(["resume", ...args])).exit).toBe(3);
});

test("operators are created with a role, listed and deleted", async () => {
  const { admin, cli } = await commandLine();
  const args = ["operator", "create", "team", "--role", "tenant-admin", "-t", "acme", "-t", "globex"];
  expect((await cli.run(args)).stdout).toBe("tno_shown_once\n");
  expect(admin.operators.get("team")).toMatchObject({ role: "tenant-admin", tenants: ["acme", "globex"] });
  expect((await cli.run(["operator", "list"])).stdout).toBe(
    "OPERATOR  ROLE          TENANTS       CREATED               EXPIRES\n" +
      "team      tenant-admin  acme, globex  2026-11-21T10:00:00Z  -\n",
  );
  expect((await cli.run(["operator", "delete", "team", "-y"])).exit).toBe(0);
  expect(admin.operators.size).toBe(0);
});

test("the audit log shows who changed what, from what to what", async () => {
  const { admin, cli } = await commandLine();
  const { audit } = admin.addTenant("acme");
  const entry = { at: "2026-11-21T10:00:00.123Z", actor: "ci", action: "document.write", target: "document" };
  const [before, after] = [
    { mode: "open", title: "T", a: { b: [1] } },
    { mode: "key", title: "T", a: { b: [2] } },
  ];
  audit.push({ ...entry, sequence: 1, before, after });
  audit.push({ ...entry, sequence: 2, action: "key.revoke", target: "key a", before: { name: "a" }, after: null });
  audit.push({ ...entry, sequence: 3, action: "upstream.refresh", target: "upstream a", before: null, after: null });
  expect((await cli.run(["audit", "acme"])).stdout).toBe(
    [
      "AT                    WHO  ACTION            TARGET      CHANGE",
      "2026-11-21T10:00:00Z  ci   upstream.refresh  upstream a  -",
      '2026-11-21T10:00:00Z  ci   key.revoke        key a       was {"name":"a"}',
      '2026-11-21T10:00:00Z  ci   document.write    document    ~ mode: "open" → "key", ~ a.b: [1] → [2]\n',
    ].join("\n"),
  );
  expect(await cli.json("audit", "acme", "--limit", "1")).toHaveLength(1);
  const { stderr } = await cli.run(["audit", "acme", "--limit", "1"]);
  expect(stderr).toBe("tenantry: the newest 1; --limit shows more\n");
  expect((await cli.run(["audit", "acme", "--limit", "3"])).stderr).toBe("");
});

test("explain gives the reasons", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { stdout } = await cli.run(["explain", "acme", "tool", "note_write", "--profile", "public"]);
  expect(stdout).toBe("visible   no\ncallable  no\n\n- tools note_write\n- profile public denies it\n");
  expect((await cli.run(["explain", "acme", "resource", "file:///a b"])).stdout).toContain("- resources file:///a b");
});

test("explain says beside an upstream what helps, and what is asked where no key is named", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const ask = ["explain", "acme", "tool", "barred__find"];
  const { stdout, stderr } = await cli.run(ask);
  expect(stdout).toContain(
    "- barred went fishing\n  what helps: nobody listens there, or it broke: the server's log. tenantry secret set acme TOKEN, then tenantry upstream refresh acme barred\n",
  );
  expect(stdout).toContain("because   a key is what it takes\n");
  expect(stdout).toContain("\n> a key is what it takes\n");
  expect(stdout).toMatch(/\n\? principal: no key is named, so what limits one is not known\n\n> decides\n$/);
  expect(stderr).toBe(
    "Said of somebody without a key; --key ID says it of one, as tenantry key list acme shows them.\n",
  );
  expect((await cli.run([...ask, "--key", "k"])).stderr).toBe("");
});

test("the audit log shows times as times, of a tenant and of the whole server", async () => {
  const { admin, cli } = await commandLine();
  const entry = {
    sequence: 1,
    at: "2026-11-25T10:00:00.123Z",
    actor: "root",
    action: "key.rotate",
    target: "key Yk3v0Qp8sD",
    before: { retires: null },
    after: { id: "Zk3v0Qp8sD", retires: Date.parse("2026-12-01T00:00:00.500Z") },
  };
  admin.addTenant("acme").audit.push(entry);
  admin.intercept = ({ url }) =>
    url.startsWith("/admin/v1/audit") ? { json: { items: [{ ...entry, target: "operator ci" }] } } : undefined;
  const { stdout } = await cli.run(["audit", "acme"]);
  expect(stdout).toContain('retires: null → "2026-12-01T00:00:00Z"');
  expect((await cli.run(["audit"])).stdout).toContain("operator ci");
  expect(JSON.parse((await cli.run(["audit", "acme", "--json"])).stdout)).toEqual([entry]);
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

test("whoever sets auth in a mode that takes no token is told that it does nothing, and in which it does", async () => {
  const { admin, cli, folder } = await commandLine();
  const file = join(folder, "acme.yaml");
  await writeFile(file, "id: acme\nmode: key\nauth: { login: { via: key } }\n");
  for (const args of [
    ["apply", "-f", file],
    ["apply", "-f", file],
    ["tenant", "create", "globex", "-f", file],
  ]) {
    expect((await cli.run(args)).stderr).toContain("auth does nothing in the mode key");
  }
  const { stdout } = await cli.run(["tenant", "show", "acme"]);
  expect(stdout).toMatch(/^sign-in +auth does nothing in the mode key: .*write mode: key\+oauth/m);
  expect(stdout).not.toContain(`${admin.url}/account`);
  await writeFile(file, "id: initech\nmode: key+oauth\nauth: { login: { via: key } }\n");
  const { stderr, stdout: made } = await cli.run(["apply", "-f", file]);
  expect(stderr).not.toContain("auth");
  expect(made).toContain("It needs a key that somebody signs in with: tenantry key create initech --name first\n");
});
