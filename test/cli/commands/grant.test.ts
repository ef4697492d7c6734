// `tenantry grant` and `tenantry login-client`: who may use what for whom, and ending it.

import { expect, test } from "vitest";
import type { GrantShape, Infer } from "../../../src/admin/contract.ts";
import { commandLine } from "../../support/command-line.ts";

const AT = "2026-11-21T10:00:00.000Z";
const ADA = "oauth https://login.example ada";

async function acme() {
  const { admin, cli } = await commandLine();
  const { grants, loginClients } = admin.addTenant("acme");
  const grant = (id: string, more: Partial<Infer<typeof GrantShape>>): void => {
    const person = { name: "Ada", email: null };
    const times = { created: AT, lastUsed: AT, expires: AT };
    const usual = {
      client: { id: "c1", name: "Claude\u001b[2J" },
      principal: ADA,
      person,
      profile: null,
      scopes: null,
    };
    grants.set(id, {
      id,
      ...usual,
      url: "https://a.example/mcp/acme",
      deny: [],
      allow: null,
      toolsOnly: false,
      ...times,
      ...more,
    });
  };
  grant("g1", {});
  grant("g2", { deny: ["note_write"], toolsOnly: true, profile: "public", scopes: ["reading"] });
  grant("g3", { allow: ["note_read"], principal: "key Yk3v0Qp8sD", person: { name: null, email: null } });
  const redirects = ["https://claude.ai/callback"];
  loginClients.set("c1", { id: "c1", kind: "registered", name: "Claude", redirects, lastUsed: AT });
  return { admin, cli, grants, loginClients };
}

test("grants are listed with what each may, and with names that do nothing to a terminal", async () => {
  const { cli } = await acme();
  const { exit, stdout } = await cli.run(["grant", "list", "acme"], { columns: 200 });
  expect(exit).toBe(0);
  const [, ...rows] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/).slice(0, 4));
  expect(rows.filter(([id]) => id?.startsWith("g"))).toEqual([
    ["g1", expect.stringContaining("Claude"), "Ada", "all"],
    [
      "g2",
      expect.stringContaining("Claude"),
      "Ada",
      "not note_write; no prompts or resources; profile public; reading",
    ],
    ["g3", expect.stringContaining("Claude"), "key Yk3v0Qp8sD", "only note_read"],
  ]);
  expect(stdout).not.toContain("\u001b");
  // What `suspend --principal` wants.
  expect(rows.length).toBe(stdout.split("\n").filter((line) => /(?:oauth \S+ ada|key Yk3v0Qp8sD)$/.test(line)).length);
});

test("grants of one principal are listed, and as JSON", async () => {
  const { admin, cli } = await acme();
  const { stdout } = await cli.run(["grant", "list", "acme", "--principal", ADA, "--json"]);
  expect((JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)).toEqual(["g1", "g2"]);
  expect(admin.requests.at(-1)).toContain(`principal=${encodeURIComponent(ADA).replaceAll("%20", "+")}`);
});

test("a grant is ended, and one that is not there is not said to have ended", async () => {
  const { cli, grants } = await acme();
  const run = () => cli.run(["grant", "end", "acme", "g1", "--yes"]);
  expect(await run()).toMatchObject({ exit: 0, stdout: "grant g1: ended everywhere\n" });
  expect([...grants.keys()]).toEqual(["g2", "g3"]);
  expect(await run()).toMatchObject({ exit: 3, stderr: expect.stringContaining("there is no grant g1 in acme") });
});

test("clients are listed and removed, by ids that are URLs too", async () => {
  const { admin, cli, loginClients } = await acme();
  const url = "https://client.example/a/b.json?c=d";
  loginClients.set(url, { id: url, kind: "document", name: "B", redirects: [], lastUsed: AT });
  const { stdout } = await cli.run(["login-client", "list", "acme"], { columns: 200 });
  expect(stdout).toMatch(/c1 +Claude +registered +https:\/\/claude.ai\/callback/);
  expect(await cli.run(["login-client", "remove", "acme", url, "--yes"])).toMatchObject({ exit: 0 });
  expect(admin.requests.at(-1)).toBe(`DELETE /admin/v1/tenants/acme/login-clients/${encodeURIComponent(url)}`);
  expect([...loginClients.keys()]).toEqual(["c1"]);
  expect((await cli.run(["login-client", "remove", "acme", url, "--yes"])).exit).toBe(3);
});

test("an empty list of grants or clients says that there are none", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  expect((await cli.run(["grant", "list", "acme"])).stderr).toContain("no person has given a client access");
  expect((await cli.run(["login-client", "list", "acme"])).stderr).toContain("no OAuth client has registered");
});
