// From `npx` of the packed package in an empty folder to a passing test of one's own tool, and a first call: what is done word for
// word by whoever begins. Only the tools of this repository stand in for devDependencies, which are not downloaded.

import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { shellEnvironment } from "../support/application.ts";
import { CommandLine } from "../support/command-line.ts";
import { exampleClient, ExampleProject } from "../support/example-project.ts";
import { packedPackage } from "../support/packed-package.ts";

let project: ExampleProject;

beforeAll(async () => {
  const { tarball } = await packedPackage();
  const folder = await realpath(await mkdtemp(join(tmpdir(), "init-")));
  await copyFile(tarball, join(folder, "tenantry.tgz"));
  const env = { ...shellEnvironment(), npm_config_cache: join(folder, "npm") };
  // By a relative path: what is absolute, npx takes for a program.
  await promisify(execFile)("npx", ["--yes", "./tenantry.tgz", "init", "shop"], { cwd: folder, env });
  project = await ExampleProject.there(join(folder, "shop"));
}, 300_000);

afterAll(() => project.end(), 30_000);

test("it names the tarball that it came from, for npm to install", async () => {
  const { dependencies } = JSON.parse(await readFile(join(project.folder, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  expect(dependencies["tenantry"]).toBe("file:../tenantry.tgz");
});

test("the project's own test passes, and its types are right", async () => {
  expect(await project.run("vitest", "run")).toMatch(/Tests\s+\d+ passed/);
  await project.run("tsc");
}, 120_000);

test("it would be deployed, with a KV namespace and no other binding", async () => {
  const output = await project.run("wrangler", "deploy", "--dry-run");
  expect(output).toContain("--dry-run: exiting now");
  expect([...output.matchAll(/env\.(\w+)/g)].map(([, name]) => name)).toEqual(["BODIES"]);
}, 120_000);

test("it answers a client, and its operator with the token that was made", async () => {
  const origin = await project.start();
  const client = await exampleClient(`${origin}/mcp/demo`);
  onTestFinished(() => client.close());
  const called = await client.callTool({ name: "count_words", arguments: { text: "one two" } });
  expect(called.structuredContent).toEqual({ words: 2, characters: 7 });
  const vars = await readFile(join(project.folder, ".dev.vars"), "utf8");
  const token = /^ADMIN_TOKEN=(.*)$/m.exec(vars)?.[1] ?? "";
  const cli = new CommandLine(project.folder, { HOME: project.folder, TENANTRY_URL: origin, TENANTRY_TOKEN: token });
  expect((await cli.run(["tenant", "create", "acme", "--title", "Acme Inc."])).exit).toBe(0);
  const { stdout: key } = await cli.run(["key", "create", "acme", "--name", "laptop"]);
  const { exit, stdout } = await cli.run(["doctor", "acme", "--key", key.trim()]);
  expect([exit, stdout.includes("FAIL")]).toEqual([0, false]);
}, 120_000);
