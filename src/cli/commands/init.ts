// `tenantry init`: creates the files of a new project. If one of them exists already, it writes none.

import { randomBytes } from "node:crypto";
import { lstat, mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { fileError } from "../admin/file-error.ts";
import { shellWord } from "../../connect/recipes/recipe.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { usageError } from "../exit.ts";
import { installedSource, fileSpecifier, testedVersions } from "../init/installed-source.ts";
import { PINNED_PACKAGES, projectFiles, SECRET_FILE } from "../init/project-files.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface InitOptions {
  readonly name?: string;
  readonly package?: string;
}

/** A name that both wrangler (for a Worker) and npm (for a package) accept. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,52}[a-z0-9])?$/;

export function addInitCommand(program: Command, terminal: Terminal): void {
  const init = program
    .command("init")
    .description("Write a new project: a Worker with a tool, its test, and wrangler.toml.")
    .argument("[folder]", "the folder of the project (default: this one)")
    .option("--name <name>", "the name of the Worker (default: the folder's)")
    .option("--package <source>", "where npm gets tenantry from (default: where this program comes from)")
    .addHelpText(
      "after",
      `
Examples:
  tenantry init
  tenantry init shop
  npx ./tenantry-0.1.0.tgz init shop                   from a tarball of npm pack
  tenantry init shop --package ../tenantry-0.1.0.tgz

Nothing is overwritten, and nothing is installed: npm install comes next.`,
    );
  runCommand(init, terminal, runInit);
}

async function runInit(
  context: CommandContext,
  [folder]: readonly [string | undefined],
  options: InitOptions,
): Promise<void> {
  const { folder: cwd } = context.terminal;
  const project = resolve(cwd, folder ?? ".");
  const files = projectFiles({
    name: projectNameFor(project, options.name),
    source:
      options.package === undefined ? await installedSource(project) : resolveSource(project, cwd, options.package),
    versions: await testedVersions(PINNED_PACKAGES),
    adminToken: randomBytes(32).toString("hex"),
    secretsKey: randomBytes(32).toString("base64url"),
  });
  const existing = await existingFiles(project, [...files.keys()]);
  if (existing.length > 0)
    throw usageError(`${project}: nothing was written, ${existing.join(", ")} would be overwritten`);
  await writeAll(project, files);
  context.show({ folder: project, files: [...files.keys()] }, () =>
    [...files.keys()].map((path) => join(folder ?? "", path)),
  );
  const enter = folder === undefined ? "" : `cd ${shellWord(folder)} && `;
  context.note(
    `Next, with Node 22.12 or newer: ${enter}npm install && npm test && npm start. README.md there describes the next steps.`,
  );
}

function projectNameFor(project: string, option: string | undefined): string {
  if (option !== undefined && !NAME.test(option)) throw usageError("--name: 1 to 54 of a-z, 0-9 and hyphens inside");
  const bare = basename(project)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 54)
    .replaceAll(/^-+|-+$/g, "");
  return option ?? (bare || "mcp-server");
}

/** A path is relative to the user's folder, while the package.json lies in the project. */
function resolveSource(project: string, cwd: string, option: string): string {
  const path = option.replace(/^file:/, "");
  const isPath = path !== option || /^[./~]|\.t(?:ar\.)?gz$/.test(path);
  return isPath ? fileSpecifier(project, resolve(cwd, path)) : option;
}

async function existingFiles(project: string, paths: readonly string[]): Promise<string[]> {
  const existing = await Promise.all(
    paths.map(async (path) => {
      const stats = await lstat(join(project, path)).catch(() => undefined);
      return stats === undefined ? [] : [path];
    }),
  );
  return existing.flat();
}

/** Writes all files or none: a partial project would block the next try. */
async function writeAll(project: string, files: ReadonlyMap<string, string>): Promise<void> {
  const written: string[] = [];
  try {
    for (const [path, text] of files) {
      const file = join(project, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: "wx", mode: path === SECRET_FILE ? 0o600 : 0o644 });
      written.push(file);
    }
  } catch (error) {
    await Promise.all(written.map((file) => rm(file, { force: true })));
    throw fileError(error, project);
  }
}
