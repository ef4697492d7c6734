// A tenant as a folder: applied where it came from it changes nothing, applied elsewhere it gives the same.

import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FakeAdmin } from "../../support/fake-admin.ts";
import { commandLine } from "../../support/command-line.ts";

/** URIs that are no file names, or the same one on some systems, or both a file and a folder. */
const URIS = [
  "docs://guide",
  "docs://guide/intro.md",
  "docs://Guide/Intro.md",
  "docs://guide/intro.md/",
  "docs://guide?page=1&x=%2E%2E%2F",
  "file:///con",
  "file:///.hidden",
  "file:///%2Fetc%2Fpasswd",
  `file:///${"long/".repeat(20)}name.txt`,
  `file:///${"x".repeat(300)}.txt`,
  "file:///%C3%BC.md",
  "urn:isbn:0451450523",
  "docs://_under/score",
];

const DOCUMENT = {
  extends: ["standard"],
  title: "Acme: 'quoted' \"twice\" # not a comment",
  instructions: "Line one\n\n  indented\ntrailing space \n",
  tools: { "*": { enabled: false }, note_write: { config: { max: 1e21, list: [null, true, "0x10", "yes", "1:2"] } } },
  profiles: { public: { tools: { allow: ["note_*"] } } },
};

function fill(admin: FakeAdmin): void {
  admin.bases.set("standard", { mode: "key" });
  admin.addTenant("acme", DOCUMENT);
  URIS.forEach((uri, number) => {
    const body = number % 2 === 0 ? `text ${number}\r\n` : Buffer.from([number, 0, 255]);
    const binary = number % 2 === 1;
    const about = {
      binary,
      name: `name ${number}`,
      title: "T",
      tags: ["b", "a"],
      audience: ["user" as const],
      priority: 0,
      lastModified: `2020-01-01T00:00:${10 + number}Z`,
    };
    admin.addResource("acme", uri, body, { mimeType: "text/x-odd; charset=utf-8", ...about });
  });
  admin.addResource("acme", "plain:empty", "");
}

const contentOf = (admin: FakeAdmin, tenant: string) =>
  [...(admin.tenants.get(tenant)?.resources.values() ?? [])]
    .map(({ about: { etag: _etag, ...about }, body }) => ({
      about,
      body: body.toString("base64"),
    }))
    .toSorted((a, b) => (a.about.uri < b.about.uri ? -1 : 1));

test("apply of an export is a no-op", async () => {
  const { admin, cli } = await commandLine();
  fill(admin);
  const exported = await cli.run(["export", "acme"]);
  expect(exported.exit).toBe(0);
  expect(exported.stdout).toContain(`${URIS.length + 1} resources`);
  const before = contentOf(admin, "acme");
  const { exit, stdout } = await cli.run(["apply", "-f", "acme"]);
  expect(exit).toBe(0);
  expect(stdout).toBe(
    `acme: nothing to change (revision 1)\n${URIS.length + 1} files: 0 uploaded, ${URIS.length + 1} unchanged\n`,
  );
  expect((await cli.run(["diff", "-f", "acme", "--prune", "--exit-code"])).exit).toBe(0);
  expect(admin.uploads).toEqual([]);
  expect(contentOf(admin, "acme")).toEqual(before);
});

test("apply of an export elsewhere, and under another name, gives the same", async () => {
  const { admin, cli } = await commandLine();
  const elsewhere = await commandLine();
  fill(admin);
  await cli.run(["export", "acme"]);
  const there = await cli.run(["apply", "-f", "acme", "--url", elsewhere.admin.url]);
  expect(there).toMatchObject({ exit: 0, stderr: "Base standard: created\n" });
  expect(elsewhere.admin.tenants.get("acme")?.own).toEqual(DOCUMENT);
  expect(elsewhere.admin.bases.get("standard")).toEqual({ mode: "key" });
  expect(contentOf(elsewhere.admin, "acme")).toEqual(contentOf(admin, "acme"));
  expect((await cli.run(["apply", "-f", "acme", "--tenant", "copy"])).exit).toBe(0);
  expect(contentOf(admin, "copy")).toEqual(contentOf(admin, "acme"));
});

test("a time that differs is a difference, and apply brings it back", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.addResource("acme", "docs://a.md", "A", { lastModified: "2020-01-01T00:00:00Z" });
  await cli.run(["export", "acme"]);
  admin.addResource("acme", "docs://a.md", "A");
  expect((await cli.run(["apply", "-f", "acme"])).stdout).toContain("1 file: 1 uploaded");
  expect(admin.tenants.get("acme")?.resources.get("docs://a.md")?.about.lastModified).toBe("2020-01-01T00:00:00Z");
  expect((await cli.run(["diff", "-f", "acme", "--exit-code"])).exit).toBe(0);
});

test("every body is in a file of its own inside the folder, whatever its URI", async () => {
  const { admin, cli, folder } = await commandLine();
  fill(admin);
  await cli.run(["export", "acme", "-o", "out"]);
  const index = (await readFile(join(folder, "out/resources.ndjson"), "utf8")).trimEnd().split("\n");
  const entries = index.map((line) => JSON.parse(line) as { uri: string; file: string; size: number });
  expect(new Set(entries.map(({ file }) => file.toLowerCase())).size).toBe(URIS.length + 1);
  for (const { file, size } of entries) {
    expect(file).toMatch(/^resources(?:\/[a-z0-9_][a-z0-9._-]*)+$/);
    expect((await stat(join(folder, "out", file))).size).toBe(size);
  }
  expect(entries.map(({ uri }) => uri)).toEqual([...URIS, "plain:empty"].toSorted());
  expect(await readdir(join(folder, "out"))).toEqual(["bases", "resources", "resources.ndjson", "tenant.yaml"]);
});

test("exporting again loads only what changed and drops what is gone", async () => {
  const { admin, cli, folder } = await commandLine();
  fill(admin);
  await cli.run(["export", "acme"]);
  admin.downloads.length = 0;
  admin.addResource("acme", "docs://guide", "new");
  admin.tenants.get("acme")?.resources.delete("file:///con");
  const files = async () => (await readdir(join(folder, "acme/resources/file"), { recursive: true })).length;
  const before = await files();
  const { stdout } = await cli.run(["export", "acme"]);
  expect(stdout).toContain(`1 loaded, ${URIS.length - 1} unchanged`);
  expect(admin.downloads).toEqual(["docs://guide"]);
  expect(await files()).toBe(before - 1);
  expect(await readdir(join(folder, "acme"))).not.toContain("resources.ndjson.part");
});

test("an edited body and a pruned resource are what apply brings back", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  admin.addResource("acme", "docs://a.md", "A");
  await cli.run(["export", "acme"]);
  await writeFile(join(folder, "acme/resources/docs/a.md"), "B");
  admin.addResource("acme", "docs://b.md", "extra");
  const diff = await cli.run(["diff", "-f", "acme", "--prune", "--exit-code"]);
  expect(diff).toMatchObject({
    exit: 7,
    stdout: expect.stringContaining("  ~ docs://a.md\n  - docs://b.md\n") as string,
  });
  expect((await cli.run(["apply", "-f", "acme"])).stdout).toContain("1 file: 1 uploaded");
  expect(admin.tenants.get("acme")?.resources.size).toBe(2);
  // What was edited here did not change when the exported body did.
  expect(admin.requests.find((request) => request.startsWith("PUT") && request.includes("a.md"))).not.toContain(
    "lastModified",
  );
  expect((await cli.run(["apply", "-f", "acme", "--prune"])).stdout).toContain("1 resource deleted");
  expect([...(admin.tenants.get("acme")?.resources.keys() ?? [])]).toEqual(["docs://a.md"]);
});

test("an export says where the tenant was placed, and apply elsewhere places it alike", async () => {
  const { admin, cli, folder } = await commandLine();
  fill(admin);
  Object.assign(admin.tenants.get("acme")?.birth ?? {}, { region: "weur", jurisdiction: "eu" });
  await cli.run(["export", "acme"]);
  const file = await readFile(join(folder, "acme/tenant.yaml"), "utf8");
  expect(file).toContain("\nid: acme\nregion: weur\njurisdiction: eu\n");
  expect((await cli.run(["diff", "-f", "acme", "--exit-code"])).exit).toBe(0);
  expect((await cli.run(["apply", "-f", "acme", "-t", "copy"])).exit).toBe(0);
  expect(admin.tenants.get("copy")?.birth).toEqual({ region: "weur", jurisdiction: "eu" });
  const { stdout } = await cli.run(["tenant", "show", "copy"]);
  expect(stdout).toMatch(/^region +weur\njurisdiction +eu$/m);
});

test("a base that is different elsewhere is left alone and named", async () => {
  const { admin, cli } = await commandLine();
  fill(admin);
  await cli.run(["export", "acme"]);
  admin.bases.set("standard", { mode: "open" });
  const { exit, stderr } = await cli.run(["apply", "-f", "acme"]);
  expect(exit).toBe(0);
  expect(stderr).toContain("Base standard has other content on the server and was not changed");
  expect(admin.bases.get("standard")).toEqual({ mode: "open" });
});

test("an export broken off is no folder to apply, and is finished by the same command", async () => {
  const { admin, cli, folder } = await commandLine();
  fill(admin);
  let left = 5;
  admin.intercept = ({ url }) => {
    if (!url.includes("/content")) return undefined;
    left -= 1;
    return left < 0 ? { status: 500, json: { title: "Gone", status: 500 } } : undefined;
  };
  expect((await cli.run(["export", "acme"])).exit).toBe(1);
  expect((await cli.run(["apply", "-f", "acme"])).exit).toBe(2);
  const parts = (await readdir(join(folder, "acme"), { recursive: true })).filter((name) => name.endsWith(".part"));
  expect(parts).toEqual([]);
  admin.intercept = () => undefined;
  const { stdout } = await cli.run(["export", "acme"]);
  expect(stdout).toContain("5 unchanged");
  expect((await cli.run(["diff", "-f", "acme", "--exit-code"])).exit).toBe(0);
});

test("a folder with something else in it is not written into", async () => {
  const { admin, cli, folder } = await commandLine();
  fill(admin);
  await mkdir(join(folder, "mine"));
  await writeFile(join(folder, "mine/thesis.txt"), "years of work");
  expect((await cli.run(["export", "acme", "-o", "mine"])).exit).toBe(2);
  expect(await readdir(join(folder, "mine"))).toEqual(["thesis.txt"]);
});

test.each([
  { line: '{"uri":"a:b","file":"../outside","name":"n","mimeType":"text/plain"}', says: "within the folder" },
  { line: '{"uri":"a:b","file":"/etc/passwd","name":"n","mimeType":"text/plain"}', says: "within the folder" },
  { line: '{"uri":"a:b","file":"resources/gone","name":"n","mimeType":"text/plain"}', says: "no such file" },
  {
    line: '{"uri":"a:b","file":"resources/b","name":"n","mimeType":"text/plain","lastModified":7}',
    says: "lastModified: must be a string",
  },
  { line: '{"uri":"a:b"}', says: "resources.ndjson:1: uri, file, name and mimeType must be strings" },
  { line: "nonsense", says: "resources.ndjson:1: is not JSON" },
])("the index line $line is refused before anything is sent", async ({ line, says }) => {
  const { admin, cli, folder } = await commandLine();
  await mkdir(join(folder, "acme"));
  await writeFile(join(folder, "acme/tenant.yaml"), "id: acme\n");
  await writeFile(join(folder, "acme/resources.ndjson"), `${line}\n`);
  const { exit, stderr } = await cli.run(["apply", "-f", "acme"]);
  expect(exit).toBe(2);
  expect(stderr).toContain(says);
  expect(admin.requests).toEqual([]);
});

test("a folder without an index says nothing about resources, and --prune refuses it", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  admin.addResource("acme", "a:b", "A");
  await mkdir(join(folder, "acme"));
  await writeFile(join(folder, "acme/tenant.yaml"), "id: acme\ntitle: New\n");
  expect((await cli.run(["apply", "-f", "acme", "--prune"])).exit).toBe(2);
  expect((await cli.run(["apply", "-f", "acme"])).exit).toBe(0);
  expect(admin.tenants.get("acme")).toMatchObject({ own: { title: "New" } });
  expect(admin.tenants.get("acme")?.resources.size).toBe(1);
});

test("resource get prints text, writes bytes, and loads a prefix into a folder", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  admin.addResource("acme", "file:///a%20b/c.md", "C");
  admin.addResource("acme", "file:///a%20b/d.bin", Buffer.from([0, 1]));
  expect((await cli.run(["resource", "get", "acme", "file:///a%20b/c.md"], { tty: true })).stdout).toBe("C");
  const binary = ["resource", "get", "acme", "file:///a%20b/d.bin"];
  expect((await cli.run(binary, { tty: true })).exit).toBe(2);
  expect((await cli.run(binary)).stdout).toBe("\u0000\u0001");
  expect((await cli.run([...binary, "-o", "d.bin"])).stdout).toBe("d.bin: 2 B\n");
  expect([...(await readFile(join(folder, "d.bin")))]).toEqual([0, 1]);
  const all = ["resource", "get", "acme", "--prefix", "file:///", "-o", "out"];
  expect((await cli.run(all)).stdout).toContain("2 files in");
  expect(await readdir(join(folder, "out/a b"))).toEqual(["c.md", "d.bin"]);
  await rm(join(folder, "out/a b/c.md"));
  expect((await cli.run(all)).stdout).toContain("1 loaded, 1 unchanged");
});

test.each(["file:///../escape", "file:///a/%2E%2E/%2E%2E/b", "file:///a%00b", "file:///..%5Cb", "file:///a//b"])(
  "the URI %s is not written as a file",
  async (uri) => {
    const { admin, cli, folder } = await commandLine();
    admin.addTenant("acme");
    admin.addResource("acme", uri, "evil");
    const { exit, stderr } = await cli.run(["resource", "get", "acme", "--prefix", "file:///", "-o", "out"]);
    expect(exit).toBe(1);
    expect(stderr).toContain("cannot be a file under");
    expect(await readdir(folder)).toEqual([]);
  },
);

test("resources are listed by prefix and deleted by URI or prefix", async () => {
  const { admin, cli } = await commandLine();
  const { resources } = admin.addTenant("acme");
  for (const uri of ["a:1", "a:2", "b:1"]) admin.addResource("acme", uri, "x".repeat(2048), { tags: ["t"] });
  const { stdout: listed } = await cli.run(["resource", "list", "acme", "-p", "a:"]);
  expect(listed).toMatch(/^a:1 +text\/plain +2\.0 KiB .* t$\n^a:2 /m);
  expect(listed).not.toContain("b:1");
  expect((await cli.run(["resource", "delete", "acme", "a:1", "nope:1"])).exit).toBe(3);
  expect((await cli.run(["resource", "delete", "acme", "a:2", "--if-match", '"old"'])).exit).toBe(5);
  expect((await cli.run(["resource", "delete", "acme", "-p", "a:"])).exit).toBe(2);
  expect((await cli.run(["resource", "delete", "acme", "-p", "a:", "-y"])).exit).toBe(0);
  expect([...resources.keys()]).toEqual(["b:1"]);
});

test.each(["export", "backup"])(
  "%s into another tenant's folder is refused, and leaves that one whole",
  async (command) => {
    const { admin, cli, folder } = await commandLine();
    admin.addTenant("acme");
    admin.addTenant("globex");
    admin.addResource("acme", "docs://guide", "kept");
    expect((await cli.run(["export", "acme", "--out", "folder"])).exit).toBe(0);
    const before = await readFile(join(folder, "folder/tenant.yaml"), "utf8");
    const { exit, stderr } = await cli.run([command, "globex", "--out", "folder"]);
    expect([exit, stderr]).toEqual([2, expect.stringContaining("has an export of acme, not of globex")]);
    expect(await readFile(join(folder, "folder/tenant.yaml"), "utf8")).toBe(before);
    expect(await readFile(join(folder, "folder/resources/docs/guide"), "utf8")).toBe("kept");
  },
);

test("a folder with files beside its resources is no export that was cut off, and none of them is written over", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  admin.addResource("acme", "docs://guide", "the tenant's");
  await mkdir(join(folder, "acme/resources/docs"), { recursive: true });
  await writeFile(join(folder, "acme/resources/docs/guide"), "the user's");
  await writeFile(join(folder, "acme/main.py"), "");
  const { exit, stderr } = await cli.run(["export", "acme"]);
  expect([exit, stderr]).toEqual([
    2,
    expect.stringContaining("has other files, and is not a folder of tenantry export"),
  ]);
  expect(await readFile(join(folder, "acme/resources/docs/guide"), "utf8")).toBe("the user's");
  await rm(join(folder, "acme/main.py"));
  expect((await cli.run(["export", "acme"])).exit).toBe(0);
});
