// Shell completion: what is offered where, and that a real bash gets it.

import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { commandLine, type CommandLine } from "../../../support/command-line.ts";

async function offered(cli: CommandLine, ...words: string[]): Promise<string[]> {
  const { stdout } = await cli.run(["__complete", "--", ...words]);
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

test("commands, subcommands, options, choices and tenants are offered where they can stand", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.addTenant("globex");
  expect(await offered(cli, "re")).toEqual(["restore", "resource", "resume"]);
  expect(await offered(cli, "")).not.toContain("__complete");
  expect(await offered(cli, "key", "")).toEqual(["create", "list", "rotate", "revoke"]);
  expect(await offered(cli, "key", "create", "")).toEqual(["acme", "globex"]);
  expect(await offered(cli, "call", "g")).toEqual(["globex"]);
  expect(await offered(cli, "stdio", "g")).toEqual(["globex"]);
  expect(await offered(cli, "watch", "--re")).toEqual(["--resources", "--resource"]);
  expect(await offered(cli, "__")).toEqual([]);
  expect(await offered(cli, "key", "create", "acme", "--s")).toEqual(["--scope"]);
  expect(await offered(cli, "tenant", "list", "--js")).toEqual(["--json"]);
  expect(await offered(cli, "operator", "create", "x", "--role", "o")).toEqual(["owner", "operator"]);
  expect(await offered(cli, "explain", "acme", "")).toEqual(["tool", "prompt", "resource"]);
  expect(await offered(cli, "tenant", "show", "--url", "")).toEqual([]);
  expect(await offered(cli, "completion", "")).toEqual(["bash", "zsh", "fish"]);
});

test("the upstreams of the tenant before it are offered where one can stand", async () => {
  const { admin, cli } = await commandLine();
  const url = "https://mcp.example.com/mcp";
  admin.addTenant("acme", { upstreams: { tracker: { url }, Wiki_2: { url }, "a;b": { url } } });
  for (const verb of ["show", "test", "refresh", "remove", "pending", "approve", "reject"]) {
    expect(await offered(cli, "upstream", verb, "acme", "")).toEqual(["tracker", "Wiki_2"]);
  }
  expect(await offered(cli, "upstream", "show", "acme", "t")).toEqual(["tracker"]);
  expect(await offered(cli, "upstream", "show", "nobody", "")).toEqual([]);
  expect(await offered(cli, "upstream", "list", "acme", "")).toEqual([]);
});

test("what a server calls a tenant is offered only where it is a name of one", async () => {
  const { admin, cli } = await commandLine();
  for (const id of ["acme", "a;reboot", "$(reboot)", "*", "a b", "a\nb"]) admin.addTenant(id);
  expect(await offered(cli, "tenant", "show", "")).toEqual(["acme"]);
});

test("without a server there are simply no tenants to offer", async () => {
  const { admin, cli } = await commandLine();
  await admin.stop();
  expect(await cli.run(["__complete", "--", "tenant", "show", ""])).toEqual({ exit: 0, stdout: "", stderr: "" });
});

test.each(["bash", "zsh", "fish"])("the script for %s is printed", async (shell) => {
  const { cli } = await commandLine();
  const { exit, stdout } = await cli.run(["completion", shell]);
  expect(exit).toBe(0);
  expect(stdout).toContain("tenantry __complete --");
});

// Only bash can be counted on to be installed: the others are held by what their scripts say.
test.each([
  { shell: "bash", files: "compopt -o default" },
  { shell: "zsh", files: "else _files" },
  { shell: "fish", files: '__fish_complete_path "$current"' },
])("$shell falls back to files where nothing is offered, as after resource put acme", async ({ shell, files }) => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  expect(await offered(cli, "resource", "put", "acme", "som")).toEqual([]);
  expect((await cli.run(["completion", shell])).stdout).toContain(files);
});

test.each([
  { shell: "bash", defines: ["complete -F _tenantry tenantry"] },
  { shell: "zsh", defines: ["compdef _tenantry tenantry"] },
  {
    shell: "fish",
    defines: [
      "complete -c tenantry -f -a '(__tenantry_complete)'",
      "complete -c tenantry -s f -l file -r -F",
      "complete -c tenantry -s o -l out -r -F",
      "complete -c tenantry -l state -r -F",
      "complete -c tenantry -l project -r -F",
    ],
  },
])("the script for $shell tells the shell what completes tenantry", async ({ shell, defines }) => {
  const { cli } = await commandLine();
  const { stdout } = await cli.run(["completion", shell]);
  const commands = stdout.split("\n").filter((line) => /complet\w* -|compdef _/i.test(line) && !/^\s|^#/.test(line));
  expect(commands.map((line) => line.replace(/^.* else (.*); fi$/, "$1"))).toEqual(defines);
});

test("a real bash knows what completes tenantry", async () => {
  const { cli } = await commandLine();
  const { stdout: script } = await cli.run(["completion", "bash"]);
  const { stdout, stderr } = await promisify(execFile)("bash", [
    "-c",
    'eval "$1"; complete -p tenantry',
    "bash",
    script,
  ]);
  expect({ stdout, stderr }).toEqual({ stdout: "complete -F _tenantry tenantry\n", stderr: "" });
});

test("a real bash completes with it", async () => {
  const { admin, cli, folder } = await commandLine();
  admin.addTenant("acme");
  const main = join(import.meta.dirname, "../../../../src/clients/cli/main.ts");
  await writeFile(join(folder, "tenantry"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  await chmod(join(folder, "tenantry"), 0o755);
  const { stdout: script } = await cli.run(["completion", "bash"]);
  const ask = `COMP_WORDS=(tenantry tenant show ""); COMP_CWORD=3; _tenantry; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...cli.env, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  const { stdout } = await promisify(execFile)("bash", ["-c", `${script}\n${ask}`], { env });
  expect(stdout).toBe("acme\n");
});
