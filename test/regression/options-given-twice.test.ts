// `tenantry apply -f a.yaml -f b.yaml` applied the second file, said nothing of the first, and ended well; so did every other option with
// one value. A folder of several tenants' files was said to lack one file.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { collectOption } from "../../src/cli/command-context.ts";
import { createProgram } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { commandLine } from "../support/command-line.ts";

interface Given {
  readonly words: readonly string[];
  readonly flag: string;
}

function valued(command: Command, words: readonly string[] = []): Given[] {
  const own = command.options.flatMap((option) => {
    const isMany = option.parseArg === (collectOption as typeof option.parseArg) || option.long === "--audience";
    return option.long == null || isMany || option.isBoolean() ? [] : [{ words, flag: option.long }];
  });
  return [...own, ...command.commands.flatMap((below) => valued(below, [...words, below.name()]))];
}

const options = valued(createProgram({ stdout: {}, stderr: {} } as Terminal));

test("every option with one value is refused the second time, and nothing is sent", async () => {
  const { admin, cli } = await commandLine();
  expect(options.length).toBeGreaterThan(60);
  const taken: string[] = [];
  for (const { words, flag } of options) {
    const { exit, stderr } = await cli.run([...words, flag, "5", flag, "5"]);
    // A value that the option does not know is refused before.
    if (exit !== 2 || !/is given twice|is invalid/.test(stderr)) taken.push(`${words.join(" ")} ${flag}: ${stderr}`);
  }
  expect({ taken, requests: admin.requests }).toEqual({ taken: [], requests: [] });
});

test("two files are not taken for the second one", async () => {
  const { admin, cli, folder } = await commandLine();
  for (const id of ["a", "b"]) await writeFile(join(folder, `${id}.yaml`), `id: ${id}\n`);
  const { exit, stderr } = await cli.run(["apply", "-f", "a.yaml", "-f", "b.yaml"]);
  expect({ exit, stderr, requests: admin.requests }).toEqual({
    exit: 2,
    stderr: "tenantry: --file is given twice, and has one value\n",
    requests: [],
  });
});

test("what may be repeated is", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { stderr } = await cli.run(["key", "create", "acme", "-n", "ci", "-s", "read", "-s", "write"]);
  expect(stderr).not.toContain("twice");
});

test("a folder without tenant.yaml is said to be no tenant's", async () => {
  const { cli, folder } = await commandLine();
  await mkdir(join(folder, "tenants"));
  await writeFile(join(folder, "tenants/a.yaml"), "id: a\n");
  const { exit, stderr } = await cli.run(["apply", "-f", "tenants"]);
  expect(exit).toBe(2);
  expect(stderr).toContain("tenants: is not a folder of tenantry export, because it has no tenant.yaml");
  expect(stderr).toContain("one by one");
});
