// `tenantry init`: what it writes, and that it overwrites nothing. That the project works is shown by test/e2e/init.test.ts.

import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { experimental_readRawConfig as readToml } from "wrangler";
import { commandLine } from "../../support/command-line.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FILES = [
  "package.json",
  "tsconfig.json",
  "wrangler.toml",
  ".dev.vars",
  ".gitignore",
  "src/tools.ts",
  "src/worker.ts",
  "test/tools.test.ts",
  "README.md",
];

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const manifestIn = async (folder: string) =>
  JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;

test("a project is written here, or into a folder that is made, and is called as that", async () => {
  const { cli, admin, folder } = await commandLine();
  const { exit, stdout, stderr } = await cli.run(["init", "My Shop"]);
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: `${FILES.map((path) => `My Shop/${path}`).join("\n")}\n` });
  expect(stderr).toContain('cd "My Shop" && npm install && npm test && npm start');
  expect((await manifestIn(join(folder, "My Shop"))).name).toBe("my-shop");
  expect(readToml({ config: join(folder, "My Shop/wrangler.toml") }).rawConfig).toMatchObject({ name: "my-shop" });
  expect(await cli.json("init", "--name", "other")).toEqual({ folder, files: FILES });
  expect((await manifestIn(folder)).name).toBe("other");
  expect(admin.requests).toEqual([]);
});

test("a file that is there already is named, and nothing is written", async () => {
  const { cli, folder } = await commandLine();
  await mkdir(join(folder, "src"));
  await writeFile(join(folder, "src/worker.ts"), "mine");
  const { exit, stderr } = await cli.run(["init"]);
  expect(exit).toBe(2);
  expect(stderr).toContain("src/worker.ts would be overwritten");
  expect(await readdir(folder)).toEqual(["src"]);
  expect(await readFile(join(folder, "src/worker.ts"), "utf8")).toBe("mine");
});

test("nothing is left behind if a file cannot be written", async () => {
  const { cli, folder } = await commandLine();
  await writeFile(join(folder, "test"), "a file, where a folder belongs");
  const { exit, stderr } = await cli.run(["init"]);
  expect(exit).toBe(2);
  expect(stderr).toMatch(/^tenantry: [^\n]+\n$/);
  expect((await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile())).toHaveLength(
    1,
  );
});

test("secrets are made by chance, for the owner alone, and git does not see them", async () => {
  const { cli, folder } = await commandLine();
  await cli.run(["init", "one"]);
  await cli.run(["init", "two"]);
  const [one, two] = await Promise.all(["one", "two"].map((name) => readFile(join(folder, name, ".dev.vars"), "utf8")));
  expect(one).toMatch(/^ADMIN_TOKEN=[0-9a-f]{64}\nSECRETS_KEY=[\w-]{43}\n$/);
  expect(one).not.toBe(two);
  expect((await stat(join(folder, "one/.dev.vars"))).mode & 0o777).toBe(0o600);
  expect((await readFile(join(folder, "one/.gitignore"), "utf8")).split("\n")).toContain(".dev.vars");
});

test("its packages are those that this release is tested with", async () => {
  const { cli, folder } = await commandLine();
  await cli.run(["init"]);
  const { dependencies, devDependencies } = await manifestIn(folder);
  const { dependencies: needed, devDependencies: tested } = await manifestIn(ROOT);
  const ours = { ...needed, ...tested };
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, tenantry: undefined })) {
    expect(version, name).toBe(ours[name]);
  }
});

test.each([
  ["../tenantry-0.1.0.tgz", "file:../../tenantry-0.1.0.tgz"],
  ["tenantry-0.1.0.tgz", "file:../tenantry-0.1.0.tgz"],
  ["file:shop/x.tgz", "file:./x.tgz"],
  ["^0.1.0", "^0.1.0"],
  ["latest", "latest"],
])("--package %s is what npm finds from the project: %s", async (given, written) => {
  const { cli, folder } = await commandLine();
  expect((await cli.run(["init", "shop", "--package", given])).exit).toBe(0);
  expect((await manifestIn(join(folder, "shop"))).dependencies["tenantry"]).toBe(written);
});

test("a name that wrangler would refuse is refused", async () => {
  const { cli, folder } = await commandLine();
  expect((await cli.run(["init", "--name", "My_Shop"])).exit).toBe(2);
  expect(await readdir(folder)).toEqual([]);
});
