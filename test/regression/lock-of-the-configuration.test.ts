// The lock of the command line's configuration was taken from whoever had it for 60 s, while a renewal may take 90 s: two programs
// used one refresh token, and the sign-in ended. Ctrl+C was ignored while a command waited for it.

// Two programs that found the lock of a third, which had ended, both took it.

import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changeConfig, configFile } from "../../src/cli/config-file.ts";
import { processIdentityOf } from "../../src/cli/local/process-identity.ts";
import { commandLine } from "../support/command-line.ts";

test.each([0, 90, 3600])(
  "a program that has it for %i s keeps it, and whoever waits can be interrupted",
  async (age) => {
    const { admin, cli, folder } = await commandLine();
    const file = join(folder, ".config/tenantry/config.json");
    const config = JSON.stringify({ tokens: { [admin.url]: "fake-owner-token" } });
    const lock = JSON.stringify(processIdentityOf(process.pid));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, config);
    await writeFile(`${file}.lock`, lock);
    const since = new Date(Date.now() - age * 1000);
    await utimes(`${file}.lock`, since, since);
    const { exit, stderr } = await cli.run(["logout"], { signal: AbortSignal.abort() });
    expect([exit, stderr]).toEqual([130, "tenantry: interrupted\n"]);
    expect([await readFile(file, "utf8"), await readFile(`${file}.lock`, "utf8")]).toEqual([config, lock]);
  },
);

test("changes that find a stale lock at once are made one after the other", async () => {
  const home = await mkdtemp(join(tmpdir(), "tenantry-config-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const context = { env: { HOME: home }, cwd: home, signal: AbortSignal.timeout(10_000) };
  const folder = dirname(configFile(context));
  await mkdir(folder, { recursive: true });
  await writeFile(`${configFile(context)}.lock`, JSON.stringify({ pid: process.pid, began: "0" }));
  const names = Array.from({ length: 20 }, (_none, at) => `https://${at}.example.com`);
  const add = (name: string) => changeConfig(context, ({ tokens }) => ({ tokens: { ...tokens, [name]: "fake" } }));
  await Promise.all(names.map(add));
  const { tokens } = JSON.parse(await readFile(configFile(context), "utf8")) as { tokens: object };
  expect(Object.keys(tokens).toSorted()).toEqual(names.toSorted());
  expect(await readdir(folder)).toEqual(["config.json"]);
});
