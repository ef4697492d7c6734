// Every command that writes files, before a server that names them: nothing outside of the folder that it was given is touched.
// Which commands write is found by running all of them.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ANY_URI, ANY_VALUE, commandForms, GIVEN_FILE, TARGET, type CommandForm } from "./command-forms.ts";
import { CommandLine, commandLine } from "../support/command-line.ts";
import { FakeAdmin, TOKEN } from "../support/fake-admin.ts";
import { changedTexts, fill } from "./hostile-server.ts";

/** Beside what a command is told to write: `login` keeps a token, where no server names anything. */
const CONFIG = "home/config";
const OUTSIDE = "home/victim";
const WORK = "home/work";

/** Of resources below what was asked for, of bases, of whatever else: each in every text of every answer. */
const NAMES = [
  "../../victim/x",
  "../x",
  "a/../../../victim/x",
  "%2e%2e/%2e%2e/victim/x",
  "%2E%2E%2F%2E%2E%2Fvictim%2Fx",
  "..%5C..%5Cvictim%5Cx",
  "/etc/tenantry-test",
  "//etc/tenantry-test",
  "C:/x",
  "C%3A%5Cx",
  "x%00.md",
  ".bashrc",
  ".ssh/authorized_keys",
  "a/.git/hooks/post-checkout",
  "con",
  "aux.md",
  "x.",
  "x ",
  "x\u202etxt.exe",
  "link/x",
];
const KEPT = new Set(["sha256", "etag", "token"]);

interface Touched {
  readonly exit: number;
  /** Relative to the whole world of the test. */
  readonly paths: readonly string[];
}

async function touchedBy(form: CommandForm, name: string | undefined): Promise<Touched> {
  const workFolder = await mkdtemp(join(tmpdir(), "tenantry-names-"));
  for (const folder of [WORK, OUTSIDE, CONFIG]) await mkdir(join(workFolder, folder), { recursive: true });
  await writeFile(join(workFolder, WORK, GIVEN_FILE), "title: New\n");
  await writeFile(join(workFolder, OUTSIDE, "x"), "mine");
  const admin = new FakeAdmin();
  await admin.start();
  fill(admin);
  const named = (text: string, member: string) => {
    if (name === undefined || KEPT.has(member)) return text;
    return text.startsWith(ANY_VALUE) ? `${ANY_VALUE}/${name}` : name;
  };
  admin.rewrite = (json) => changedTexts(json, named);
  admin.tenants.get(ANY_VALUE)?.resources.delete(ANY_URI);
  const body = admin.tenants.get(ANY_VALUE)?.resources.get(`${ANY_URI}/one.md`)?.body;
  admin.intercept = ({ method, url }) => {
    if (name === undefined || method !== "GET") return undefined;
    if (url.includes("/content")) return { ...(body && { body }) };
    return url.includes("/bases/") ? { json: { title: "base" } } : undefined;
  };
  const before = await filesIn(workFolder);
  const env = { HOME: join(workFolder, CONFIG), TENANTRY_URL: admin.url, TENANTRY_TOKEN: TOKEN };
  const signal = AbortSignal.timeout(20_000);
  const { exit } = await new CommandLine(join(workFolder, WORK), env).run(form.args, { stdin: "token\n", signal });
  const after = await filesIn(workFolder);
  await admin.stop();
  await rm(workFolder, { recursive: true });
  return { exit, paths: [...after].flatMap(([path, text]) => (before.get(path) === text ? [] : [path])) };
}

async function filesIn(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, string>();
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(relative(folder, path), await readFile(path, "utf8"));
    else files.set(relative(folder, path), "");
  }
  return files;
}

const isOurs = (path: string) => path.startsWith(CONFIG);
/** What the command line names: a folder, or the tenant, whose name is that of the folder where none is given. */
const isTarget = (path: string) => [TARGET, ANY_VALUE].some((name) => `${path}/`.startsWith(`${WORK}/${name}/`));

let found: Promise<CommandForm[]> | undefined;

/** Found once, by the first test that asks. */
async function writersOf(): Promise<CommandForm[]> {
  found ??= findWriters();
  return found;
}

/** It asks no server: all names are its own. */
const ASKS_NOBODY = ["init"];

async function findWriters(): Promise<CommandForm[]> {
  const writers: CommandForm[] = [];
  for (const form of commandForms().filter(({ command }) => !ASKS_NOBODY.includes(command))) {
    const { paths } = await touchedBy(form, undefined);
    if (paths.some((path) => !isOurs(path))) writers.push(form);
  }
  return writers;
}

test("the commands that write files are found", async () => {
  const commands = (await writersOf()).map(({ command }) => command);
  expect(commands).toEqual(expect.arrayContaining(["export", "backup", "resource get"]));
});

test.each(NAMES)(
  "%s names no file outside of the folder that was given, in any answer to any command",
  async (name) => {
    for (const form of await writersOf()) {
      const { exit, paths } = await touchedBy(form, name);
      const where = `tenantry ${form.args.join(" ")}`;
      expect(
        paths.filter((path) => !isOurs(path) && !isTarget(path)),
        where,
      ).toEqual([]);
      expect(await readdir("/etc"), where).not.toContain("tenantry-test");
      const wild = paths.filter((path) => /(?:^|\/)\.|[. ]$|\u202e|(?:con|aux)\b/.test(path.slice(WORK.length)));
      if (!form.args.includes("--hidden"))
        expect(
          wild.filter((path) => !/x?(?:con|aux)[^/]*_/.test(path)),
          where,
        ).toEqual([]);
      expect(exit, where).toBeLessThanOrEqual(3);
    }
  },
);

test("an export whose bases lead elsewhere writes nothing at all", async () => {
  const { admin, cli, folder } = await commandLine();
  for (const base of ["../../x", "a/b", "..", ".x", "con", "C:x"]) {
    admin.addTenant("acme", { extends: ["standard", base] });
    admin.bases.set("standard", {}).set(base, {});
    const { exit, stderr } = await cli.run(["export", "acme"]);
    expect({ exit, stderr }).toEqual({
      exit: 1,
      stderr: expect.stringContaining(`the base ${base}: cannot be a file`),
    });
    expect(await readdir(folder)).toEqual([]);
  }
});

test.each([
  ["a", "A"],
  ["caf%C3%A9", "cafe%CC%81"],
  ["a%20b", "a b"],
  ["a", "a/b"],
])("%s and %s are not loaded into one file: the error names both and nothing is written", async (one, other) => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  for (const name of [one, other]) admin.addResource("acme", `file:///${name}`, name);
  const { exit, stderr } = await cli.run(["resource", "get", "acme", "--prefix", "file:///", "-o", "out"]);
  expect(exit).toBe(1);
  for (const name of [one, other]) expect(stderr).toContain(`file:///${name}`);
  expect(await readdir(folder)).toEqual([]);
});

test("a file and one with .part behind its name each get their own body, however their downloads meet", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  const names = ["a", "a.part", "a.part.part"];
  for (const name of names) admin.addResource("acme", `file:///${name}`, `body of ${name}`.repeat(10_000));
  expect((await cli.run(["resource", "get", "acme", "--prefix", "file:///", "-o", "out"])).exit).toBe(0);
  expect((await cli.run(["export", "acme", "-o", "whole"])).exit).toBe(0);
  for (const name of names) {
    for (const at of ["out", "whole/resources/file"]) {
      expect(await readFile(join(folder, at, name), "utf8")).toBe(`body of ${name}`.repeat(10_000));
    }
  }
});

test("names with a dot in front are loaded with --hidden, and refused by name without it", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  admin.addResource("acme", "file:///.ssh/authorized_keys", "key");
  const get = ["resource", "get", "acme", "--prefix", "file:///", "-o", "out"];
  expect((await cli.run(get)).stderr).toContain("file:///.ssh/authorized_keys: cannot be a file");
  expect(await readdir(folder)).toEqual([]);
  expect((await cli.run([...get, "--hidden"])).exit).toBe(0);
  expect(await readFile(join(folder, "out/.ssh/authorized_keys"), "utf8")).toBe("key");
});

test("a name that would be another path of the admin API is refused before anything is sent", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  onTestFinished(() => expect(admin.tenants.has("acme")).toBe(true));
  for (const args of [
    ["secret", "delete", "acme", "..", "-y"],
    ["key", "revoke", "acme", "..", "-y"],
    ["tenant", "show", "."],
  ]) {
    expect((await cli.run(args)).exit).toBe(2);
  }
  expect(admin.requests).toEqual([]);
});
