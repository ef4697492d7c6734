// Shell completion: what is offered where, and that a real bash gets it.

import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { commandLine, type CommandLine } from "../../support/command-line.ts";

async function completions(cli: CommandLine, ...words: string[]): Promise<string[]> {
  const { stdout } = await cli.run(["__complete", "--", ...words]);
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

test("commands, subcommands, options, choices and tenants are offered where they can stand", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.addTenant("globex");
  const commands = await completions(cli, "re");
  expect(commands).toContain("resume");
  expect(commands.filter((word) => !word.startsWith("re"))).toEqual([]);
  expect(await completions(cli, "")).not.toContain("__complete");
  expect(await completions(cli, "__")).toEqual([]);
  expect(await completions(cli, "key", "")).toEqual(expect.arrayContaining(["create", "rotate"]));
  expect(await completions(cli, "key", "create", "")).toEqual(["acme", "globex"]);
  expect(await completions(cli, "call", "g")).toEqual(["globex"]);
  expect(await completions(cli, "key", "create", "acme", "--sc")).toEqual(["--scope"]);
  expect(await completions(cli, "tenant", "list", "--js")).toEqual(["--json"]);
  expect(await completions(cli, "operator", "create", "x", "--role", "o")).toEqual(["owner", "operator"]);
  expect(await completions(cli, "explain", "acme", "")).toContain("resource");
  expect(await completions(cli, "tenant", "show", "--url", "")).toEqual([]);
  expect(await completions(cli, "completion", "")).toContain("bash");
});

test("the upstreams of the tenant before it are offered where one can stand", async () => {
  const { admin, cli } = await commandLine();
  const url = "https://mcp.example.com/mcp";
  admin.addTenant("acme", { upstreams: { tracker: { url }, Wiki_2: { url }, "a;b": { url } } });
  expect(await completions(cli, "upstream", "show", "acme", "")).toEqual(["tracker", "Wiki_2"]);
  expect(await completions(cli, "upstream", "show", "acme", "t")).toEqual(["tracker"]);
  expect(await completions(cli, "upstream", "show", "nobody", "")).toEqual([]);
  expect(await completions(cli, "upstream", "list", "acme", "")).toEqual([]);
});

test("a tenant's id is offered only where it is a valid name", async () => {
  const { admin, cli } = await commandLine();
  for (const id of ["acme", "a;reboot", "$(reboot)", "*", "a b", "a\nb"]) admin.addTenant(id);
  expect(await completions(cli, "tenant", "show", "")).toEqual(["acme"]);
});

test("no tenants are offered without a server", async () => {
  const { admin, cli } = await commandLine();
  await admin.stop();
  expect(await cli.run(["__complete", "--", "tenant", "show", ""])).toEqual({ exit: 0, stdout: "", stderr: "" });
});

// Only bash can be counted on to be installed: the others are held by what their scripts say.
test.each([
  { shell: "bash", defines: "complete -F _tenantry tenantry", files: "compopt -o default" },
  { shell: "zsh", defines: "compdef _tenantry tenantry", files: "else _files" },
  {
    shell: "fish",
    defines: "complete -c tenantry -f -a '(__tenantry_complete)'",
    files: '__fish_complete_path "$current"',
  },
])("the script for $shell asks tenantry, and falls back to files where nothing is offered", async (script) => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { exit, stdout } = await cli.run(["completion", script.shell]);
  expect(exit).toBe(0);
  for (const part of ["tenantry __complete --", script.defines, script.files]) expect(stdout).toContain(part);
  expect(await completions(cli, "resource", "put", "acme", "som")).toEqual([]);
});

test("a real bash completes with it", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  const main = join(import.meta.dirname, "../../../src/cli/main.ts");
  await writeFile(join(folder, "tenantry"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  await chmod(join(folder, "tenantry"), 0o755);
  const { stdout: script } = await cli.run(["completion", "bash"]);
  const ask = `COMP_WORDS=(tenantry tenant show ""); COMP_CWORD=3; _tenantry; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...cli.env, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  const { stdout } = await promisify(execFile)("bash", ["-c", `${script}\n${ask}`], { env });
  expect(stdout).toBe("acme\n");
});
