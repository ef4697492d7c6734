// Uploading files and folders: every file once, whatever breaks in between, and nothing of others overwritten.

import { once } from "node:events";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

async function writeFiles(folder: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

const numbered = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, number) => [`docs/${number}.md`, `# ${number}\n`]));

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("a folder becomes resources: path as URI and name, type by extension and content", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  await writeFiles(folder, {
    "site/intro.md": "# Hi",
    "site/img/logo.PNG": PNG,
    "site/Über uns & mehr.txt": "Grüße",
    "site/data": "plain",
    "site/blob": Buffer.from([0, 1, 2]),
    "site/latin1.txt": Buffer.from([0xe4, 0xf6]),
    "site/empty.md": "",
    "site/.git/config": "hidden",
    "site/.env": "SECRET",
  });
  const { exit, stdout, stderr } = await cli.run(["resource", "put", "acme", "site", "--tag", "a", "--tag", "b"]);
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: "7 files: 7 uploaded, 0 unchanged\n" });
  expect(stderr).toBe("2 hidden names left out; --hidden takes them too\n");
  const stored = [...resources.values()].map(({ about, body }) => [about.uri, about.name, about.mimeType, body.length]);
  expect(stored.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))).toEqual([
    ["file:///%C3%9Cber%20uns%20%26%20mehr.txt", "Über uns & mehr.txt", "text/plain", 7],
    ["file:///blob", "blob", "application/octet-stream", 3],
    ["file:///data", "data", "text/plain", 5],
    ["file:///empty.md", "empty.md", "text/markdown", 0],
    ["file:///img/logo.PNG", "img/logo.PNG", "image/png", PNG.length],
    ["file:///intro.md", "intro.md", "text/markdown", 4],
    ["file:///latin1.txt", "latin1.txt", "application/octet-stream", 2],
  ]);
  expect(resources.get("file:///intro.md")?.about.tags).toEqual(["a", "b"]);
});

test("the same command again sends nothing, and a changed file alone", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, numbered(20));
  const args = ["resource", "put", "acme", "docs", "--prefix", "docs://"];
  await cli.run(args);
  expect((await cli.run(args)).stdout).toBe("20 files: 0 uploaded, 20 unchanged\n");
  expect(admin.uploads).toHaveLength(20);
  await writeFile(join(folder, "docs/7.md"), "# 8\n");
  expect((await cli.run(args)).stdout).toBe("20 files: 1 uploaded, 19 unchanged\n");
  expect(admin.uploads.at(-1)).toBe("docs://7.md");
});

test("killed in the middle, the same command sends what is missing and doubles nothing", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  await writeFiles(folder, numbered(200));
  const child = cli.spawn(["resource", "put", "acme", "docs"]);
  admin.gate = async (moment) => {
    // The hundredth body and the five beside it are never answered: the process dies waiting for them.
    if (moment === "store" && admin.uploads.length >= 100) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  };
  await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
  admin.gate = () => {};
  expect(resources.size).toBeLessThan(200);
  const { exit } = await cli.run(["resource", "put", "acme", "docs"]);
  expect(exit).toBe(0);
  expect(resources.size).toBe(200);
  expect(new Set(admin.uploads).size).toBe(200);
  expect(admin.uploads).toHaveLength(200);
});

test("an upload whose server dies in the middle says how to go on, and goes on", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  await writeFiles(folder, numbered(200));
  const port = Number(new URL(admin.url).port);
  let stopped: Promise<void> | undefined;
  admin.gate = (moment) => {
    if (moment === "answer" && admin.uploads.length === 100) stopped = admin.stop();
  };
  const broken = await cli.run(["resource", "put", "acme", "docs"]);
  await stopped;
  expect(broken.exit).toBe(6);
  expect(broken.stderr).toMatch(
    /^tenantry: cannot reach .* \(\d+ of 200 are stored; run the same command again to send the rest\)\n$/,
  );
  admin.gate = () => {};
  await admin.start(port);
  const again = await cli.run(["resource", "put", "acme", "docs"]);
  expect(again.exit).toBe(0);
  expect(resources.size).toBe(200);
  expect(new Set(admin.uploads).size).toBe(admin.uploads.length);
});

test("a file whose answer was lost is not sent twice as somebody else's", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, { "a.md": "A" });
  // Stored by an earlier run after this one had looked.
  admin.gate = (moment) => {
    if (moment === "store") admin.addResource("acme", "file:///a.md", "A", { name: "a.md", mimeType: "text/markdown" });
  };
  expect((await cli.run(["resource", "put", "acme", "a.md"])).stdout).toBe("1 file: 0 uploaded, 1 unchanged\n");
});

test("a resource that somebody else changes meanwhile is kept, the rest is sent, and --force overwrites", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  await writeFiles(folder, { "docs/a.md": "A", "docs/b.md": "B", "docs/c.md": "C" });
  admin.addResource("acme", "file:///b.md", "old");
  const args = ["resource", "put", "acme", "docs"];
  admin.gate = (moment, uri) => {
    if (moment === "store" && uri === "file:///b.md") admin.addResource("acme", uri, "theirs");
  };
  const { exit, stdout, stderr } = await cli.run(args);
  expect({ exit, stdout }).toEqual({ exit: 5, stdout: "3 files: 2 uploaded, 0 unchanged, 1 failed\n" });
  expect(stderr).toContain("docs/b.md: file:///b.md was changed by somebody else meanwhile; --force overwrites it");
  expect(resources.get("file:///b.md")?.body.toString()).toBe("theirs");
  expect((await cli.run([...args, "--force"])).exit).toBe(0);
  expect(resources.get("file:///b.md")?.body.toString()).toBe("B");
});

test("at most six bodies are on their way at once", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, numbered(30));
  let inside = 0;
  let most = 0;
  let full = Promise.withResolvers<void>();
  admin.gate = async (moment) => {
    if (moment === "answer") return;
    inside += 1;
    most = Math.max(most, inside);
    // The sixth lets all six go, after a seventh has had its chance to come in.
    if (inside % 6 === 0) setTimeout(full.resolve, 20);
    await full.promise;
    inside = 0;
    full = Promise.withResolvers<void>();
  };
  await cli.run(["resource", "put", "acme", "docs"]);
  expect(most).toBe(6);
});

test("one file that the server refuses does not stop the others, and is named with its rule", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, { "docs/a.md": "A", "docs/b.md": "B", "docs/huge.bin": "" });
  await truncate(join(folder, "docs/huge.bin"), 26 * 1024 * 1024);
  const errors = [{ field: "body", rule: "at most 10 bytes" }];
  admin.intercept = ({ method, url }) =>
    method === "PUT" && url.includes("b.md") ? { status: 413, json: { title: "Too large", errors } } : undefined;
  const { exit, stdout, stderr } = await cli.run(["resource", "put", "acme", "docs"]);
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: "3 files: 1 uploaded, 0 unchanged, 2 failed\n" });
  expect(stderr).toContain("docs/huge.bin: 26 MiB, a resource has at most 25 MiB");
  expect(stderr).toContain("docs/b.md: Too large: body: at most 10 bytes");
});

test("a tenant that does not exist stops at once", async () => {
  const { admin, cli, folder } = await commandLine();
  await writeFiles(folder, numbered(10));
  expect((await cli.run(["resource", "put", "acme", "docs"])).exit).toBe(3);
  expect(admin.requests).toHaveLength(1);
});

test("names and descriptions of a resource stay when its body changes, unless they are given anew", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  await writeFiles(folder, { "a.md": "A" });
  const about = ["--name", "alpha", "--title", "Alpha", "--description", "First", "--tag", "x", "--priority", "0.5"];
  await cli.run(["resource", "put", "acme", "a.md", "--uri", "docs://a", ...about, "--audience", "user"]);
  await writeFiles(folder, { "a.md": "B" });
  await cli.run(["resource", "put", "acme", "a.md", "--uri", "docs://a", "--title", "Beta"]);
  const stored = resources.get("docs://a");
  expect(stored?.body.toString()).toBe("B");
  expect(stored?.about).toMatchObject({
    name: "alpha",
    title: "Beta",
    description: "First",
    tags: ["x"],
    priority: 0.5,
  });
  expect(stored?.about.audience).toEqual(["user"]);
});

test("only metadata that differs is reason enough to write", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, { "a.md": "A" });
  const args = ["resource", "put", "acme", "a.md"];
  await cli.run(args);
  expect((await cli.run([...args, "--title", "A"])).stdout).toBe("1 file: 1 uploaded, 0 unchanged\n");
  expect((await cli.run([...args, "--title", "A"])).stdout).toBe("1 file: 0 uploaded, 1 unchanged\n");
});

test("stdin becomes a resource, with the same care", async () => {
  const { admin, cli } = await commandLine();
  const { resources } = admin.addTenant("acme");
  const args = ["resource", "put", "acme", "-", "--uri", "note://now.md"];
  expect((await cli.run(args, { stdin: "now" })).exit).toBe(0);
  expect((await cli.run(args, { stdin: "now" })).stdout).toBe("1 file: 0 uploaded, 1 unchanged\n");
  expect(resources.get("note://now.md")).toMatchObject({ about: { mimeType: "text/markdown" } });
  expect((await cli.run(["resource", "put", "acme", "-"], { stdin: "now" })).exit).toBe(2);
});

test("--if-match writes only over the version it names", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  admin.addResource("acme", "file:///a.md", "old");
  const etag = resources.get("file:///a.md")?.about.etag ?? "";
  await writeFiles(folder, { "a.md": "new" });
  const args = ["resource", "put", "acme", "a.md", "--if-match"];
  expect((await cli.run([...args, '"other"'])).exit).toBe(5);
  expect((await cli.run([...args, etag])).exit).toBe(0);
  expect((await cli.run(["resource", "put", "acme", "a.md", "b", "--if-match", etag])).exit).toBe(2);
});

test("--dry-run says what would be sent and sends nothing", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, { "docs/a.md": "A" });
  const { stdout } = await cli.run(["resource", "put", "acme", "docs", "--dry-run"]);
  expect(stdout).toBe("file:///a.md  text/markdown  1 B\n1 file to upload, 0 unchanged\n");
  expect(admin.uploads).toEqual([]);
});

test("two files that would become one resource are refused before anything is sent", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, { "x/a.md": "A", "y/a.md": "B" });
  const { exit, stderr } = await cli.run(["resource", "put", "acme", "x", "y"]);
  expect(exit).toBe(2);
  expect(stderr).toContain("x/a.md and y/a.md would both have the URI file:///a.md");
  expect(admin.requests).toEqual([]);
});

test("links to files are followed, links to folders are not", async () => {
  const { admin, cli, folder } = await commandLine();
  const { resources } = admin.addTenant("acme");
  await writeFiles(folder, { "docs/a.md": "A", "elsewhere/b.md": "B" });
  await symlink("../elsewhere/b.md", join(folder, "docs/b.md"));
  await symlink("..", join(folder, "docs/circle"));
  await cli.run(["resource", "put", "acme", "docs"]);
  expect([...resources.keys()].toSorted()).toEqual(["file:///a.md", "file:///b.md"]);
});

test("on a terminal one line shows the progress and is gone in the end; elsewhere there is none", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, numbered(30));
  const args = ["resource", "put", "acme", "docs"];
  const { stderr } = await cli.run(args, { tty: true, columns: 70 });
  const lines = stderr.split("\r\u001b[2K").slice(1);
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.at(-1)).toBe("");
  expect(lines.at(-2)).toContain("[####################] 30/30 files");
  for (const line of lines) expect(line.length).toBeLessThan(70);
  await rm(join(folder, "docs/1.md"));
  await writeFiles(folder, { "docs/2.md": "changed" });
  expect((await cli.run(args)).stderr).toBe("");
  expect((await cli.run([...args, "--json"], { tty: true })).stderr).toBe("");
});

test("Ctrl+C says how far it came", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  await writeFiles(folder, numbered(30));
  const interrupt = new AbortController();
  admin.gate = (moment) => {
    if (moment === "store" && admin.uploads.length === 10) interrupt.abort();
  };
  const { exit, stderr } = await cli.run(["resource", "put", "acme", "docs"], { signal: interrupt.signal });
  expect(exit).toBe(130);
  expect(stderr).toMatch(
    /^tenantry: interrupted \(\d+ of 30 are stored; run the same command again to send the rest\)\n$/,
  );
});
