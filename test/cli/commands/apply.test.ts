// What apply and diff make of a file: nothing more than it says, nothing halfway, and nothing at all the second time.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("apply makes the tenant what the file says, creating it if need be, and then changes nothing", async () => {
  const { admin, cli, folder } = await commandLine();
  const file = join(folder, "tenant.yaml");
  await writeFile(file, "id: acme\nregion: weur\ntitle: Acme\nmode: key\n");
  const created = await cli.run(["apply", "-f", "tenant.yaml"]);
  expect(created.stdout).toBe(`acme: created at ${admin.url}/mcp/acme\n  + title: "Acme"\n  + mode: "key"\n`);
  expect(admin.tenants.get("acme")).toMatchObject({ own: { title: "Acme", mode: "key" }, birth: { region: "weur" } });
  expect((await cli.run(["apply", "-f", "tenant.yaml"])).stdout).toBe("acme: nothing to change (revision 1)\n");
  await writeFile(file, "id: acme\ntitle: Acme Inc.\nsearch: true\n");
  const diff = await cli.run(["diff", "-f", "tenant.yaml"]);
  expect(diff.stdout).toBe(
    'acme: 3 changes, not applied\n  - mode: "key"\n  + search: true\n  ~ title: "Acme" → "Acme Inc."\n',
  );
  expect((await cli.run(["diff", "-f", "tenant.yaml", "--exit-code"])).exit).toBe(7);
  expect((await cli.run(["apply", "-f", "tenant.yaml", "--dry-run"])).stdout).toBe(diff.stdout);
  expect(admin.tenants.get("acme")?.revision).toBe(1);
  expect((await cli.run(["apply", "-f", "tenant.yaml", "--wait"])).stdout).toContain("3 changes applied (revision 2)");
  expect(admin.requests.at(-1)).toContain("wait=1");
  expect((await cli.run(["diff", "-f", "tenant.yaml", "--exit-code"])).exit).toBe(0);
});

test("diff of a tenant that does not exist creates nothing", async () => {
  const { admin, cli } = await commandLine();
  const { stdout } = await cli.run(["diff", "-f", "-", "-t", "new"], { stdin: '{"title":"New"}' });
  expect(stdout).toBe('new: would be created\n  + title: "New"\n');
  expect(admin.tenants.size).toBe(0);
});

test("a dry run of a tenant that does not exist asks the server whether it could be made", async () => {
  const { admin, cli } = await commandLine();
  const stdin = "id: acme\nregion: moon\n";
  const { exit, stderr } = await cli.run(["apply", "-f", "-", "--dry-run"], { stdin });
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^tenantry: Invalid input: region \(stdin:2:1\): one of wnam, /);
  expect(admin.requests.at(-1)).toBe("POST /admin/v1/tenants?dryRun=1");
});

test("a dry run of a folder with bases that are not there yet says what it can", async () => {
  const { admin, cli, folder } = await commandLine();
  await mkdir(join(folder, "acme/bases"), { recursive: true });
  await writeFile(join(folder, "acme/tenant.yaml"), "id: acme\nextends: [standard]\n");
  await writeFile(join(folder, "acme/bases/standard.yaml"), "mode: key\n");
  const { exit, stdout, stderr } = await cli.run(["diff", "-f", "acme"]);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: "Base standard: would be created\n" });
  expect(stdout).toBe('acme: would be created\n  + extends: ["standard"]\n');
  expect(admin.requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
});

test("upstreams that a document adds are read, and of one that cannot be it is said why", async () => {
  const { admin, cli } = await commandLine();
  const reads = () => admin.requests.filter((request) => request.endsWith("/refresh"));
  const first =
    "id: acme\nupstreams:\n  a: { url: https://a.example/mcp }\n  off: { url: https://b.example, enabled: false }\n";
  expect(await cli.run(["apply", "-f", "-"], { stdin: first })).toMatchObject({ exit: 0, stderr: "" });
  expect(reads()).toEqual(["POST /admin/v1/tenants/acme/upstreams/a/refresh"]);
  const stdin = `${first}  b: { url: https://away.example/mcp }\n`;
  expect((await cli.run(["apply", "-f", "-", "--dry-run"], { stdin })).exit).toBe(0);
  expect(await cli.run(["apply", "-f", "-"], { stdin })).toMatchObject({
    exit: 0,
    stderr:
      "tenantry: b of acme is stored, but could not be read: gone fishing; try again with tenantry upstream refresh acme b\n",
  });
  expect(reads().slice(1)).toEqual(["POST /admin/v1/tenants/acme/upstreams/b/refresh"]);
});

test("a document that somebody changed meanwhile is not overwritten", async () => {
  const { admin, cli } = await commandLine();
  const tenant = admin.addTenant("acme");
  admin.intercept = ({ method }) => {
    if (method === "PUT") tenant.revision += 1;
    return undefined;
  };
  const { exit } = await cli.run(["apply", "-f", "-"], { stdin: "id: acme\ntitle: Mine\n" });
  expect(exit).toBe(5);
  expect(tenant.own).toEqual({});
});

test("a document whose first answer was lost is applied, and its repeat is no conflict", async () => {
  const { admin, cli } = await commandLine();
  const tenant = admin.addTenant("acme");
  let isLost = false;
  admin.intercept = ({ method }) => {
    if (method !== "PUT" || isLost) return undefined;
    isLost = true;
    Object.assign(tenant, { own: { title: "Mine" }, revision: 2 });
    throw new Error("the connection breaks");
  };
  const ended = await cli.run(["apply", "-f", "-"], { stdin: "id: acme\ntitle: Mine\n" });
  expect(ended).toMatchObject({ exit: 0, stdout: "acme: nothing to change (revision 2)\n" });
});

test("a document that breaks a rule changes nothing, and the rule is named", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const stdin = "id: acme\ntitle: Acme\nprofiles: { Staff: { tolls: {} } }\n";
  const { exit, stderr } = await cli.run(["apply", "-f", "-"], { stdin });
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^tenantry: Invalid input: profiles\.Staff.*\n$/);
  expect(admin.tenants.get("acme")?.own).toEqual({});
});

test.each([
  { what: "a tenant", args: ["apply"], id: "id: new" },
  { what: "a tenant that is there", args: ["apply"], id: "id: acme" },
  { what: "a difference", args: ["diff"], id: "id: new" },
  { what: "a new tenant", args: ["tenant", "create", "new"], id: "title: New" },
  { what: "a base", args: ["base", "put", "standard"], id: "title: New" },
])("what $what breaks is said with file, line and column, and what was meant", async ({ args, id }) => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  const file = `${id}
upstreams:
  a:
    timeout: 30
    era: 2025
  b.c:
    uris: [x, ""]
profiles: { p: { resultBudget: { tokens: 5 } } }
search: yes
`;
  await writeFile(join(folder, "bad.yaml"), file);
  const { exit, stderr } = await cli.run([...args, "-f", "bad.yaml"]);
  expect(exit).toBe(1);
  const lines = [
    "upstreams.a.timeout (bad.yaml:4:5): is not a known field: did you mean timeoutMs?",
    'upstreams.a.era (bad.yaml:5:5): expected string, received number: one of auto, 2025, 2026 (as a text: "2025")',
    "upstreams.b.c.uris.1 (bad.yaml:7:15): at least 1 character",
    "profiles.p.resultBudget.tokens (bad.yaml:8:34): at least 250",
    "search (bad.yaml:9:1): expected boolean, received string: write true or false",
  ];
  expect(stderr.split("\n")).toEqual(["tenantry: Invalid input:", ...lines.map((line) => `  ${line}`), ""]);
});

test("a rule that a prompt in a file breaks is said with its place, a member that is missing with that of its mapping", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFile(join(folder, "p.yaml"), "messages:\n  - role: user\n");
  const { stderr } = await cli.run(["prompt", "put", "acme", "p", "-f", "p.yaml"]);
  expect(stderr).toBe("tenantry: Invalid input: messages.0.content (p.yaml:2:5): is required\n");
});

test.each([
  { yaml: "id: acme\n  title: x", says: "tenant.yaml:1:5: a name inside a value" },
  {
    yaml: "id: acme\ntitle: Acme: the firm",
    says: "tenant.yaml:2:8: a name inside a value: put a text with a colon in quotes",
  },
  { yaml: "id: acme\ntools:\n\t- x", says: "tenant.yaml:3:1: a tab: indent YAML with spaces" },
  { yaml: "id: acme\ntitle Acme\nmode: key", says: "add the colon" },
  { yaml: "id: acme\nid: globex", says: "tenant.yaml:2:1: Map keys must be unique" },
  { yaml: "id: acme\n---\nid: globex", says: "a file must have one document" },
  { yaml: "- id: acme", says: "must be a mapping (name: value), not a list" },
  { yaml: "", says: "must be a mapping (name: value), not nothing" },
  { yaml: "id: acme\nupstreams: { a: { headers: { A: Bearer {{secret:X}} } } }", says: "tenant.yaml:2:40: {{ begins" },
  { yaml: "id: acme\ntitle: {{secret:X}}", says: "tenant.yaml:2:9: {{ begins a mapping in YAML" },
  { yaml: "title: Nobody", says: "names no tenant: add id: NAME, or --tenant NAME" },
  { yaml: "id: 7", says: "id: must be a string" },
  { yaml: "id: acme\ntitle: *nowhere", says: "tenant.yaml: Unresolved alias" },
])("the file $yaml is refused before anything is sent", async ({ yaml, says }) => {
  const { admin, cli, folder } = await commandLine();
  await writeFile(join(folder, "tenant.yaml"), yaml);
  const { exit, stderr } = await cli.run(["apply", "-f", "tenant.yaml"]);
  expect(exit).toBe(2);
  expect(stderr).toContain(says);
  expect(stderr.split("\n")).toHaveLength(2);
  expect(admin.requests).toEqual([]);
  expect(await readFile(join(folder, "tenant.yaml"), "utf8")).toBe(yaml);
});

test("warnings of the server are printed under the changes", async () => {
  const { admin, cli, folder } = await commandLine();
  await writeFile(join(folder, "acme.yaml"), "id: acme\ntitle: Acme\n");
  const warnings = Array.from({ length: 21 }, (_none, at) => ({ field: `tools.x${at}`, rule: "pending" }));
  admin.rewrite = (json) => ({ ...(json as object), warnings });
  for (const says of ["created at", "nothing to change"]) {
    const { stdout } = await cli.run(["apply", "-f", "acme.yaml", "--unknown-names"]);
    expect(stdout).toContain(says);
    expect(stdout).toContain("  ! tools.x0: pending\n");
    expect(stdout).toContain("  ! and 1 more\n");
  }
  const requests = admin.requests.filter((request) => request.includes("unknownNames=1"));
  expect(requests).toEqual([
    "POST /admin/v1/tenants?unknownNames=1",
    "PUT /admin/v1/tenants/acme/document?unknownNames=1",
  ]);
});
