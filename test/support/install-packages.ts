// Packages that few tests need: installed in their folder when somebody asks for them.

import { execFile } from "node:child_process";
import { mkdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";

const WITHIN_MS = 300_000;

/** What the folder's package-lock.json names, unless it is there already. `more`: options of npm. */
export async function installPackages(folder: string, more: readonly string[] = []): Promise<void> {
  // Several files of tests ask at once, each in a process of its own.
  const lock = join(folder, ".installing");
  for (const deadline = Date.now() + WITHIN_MS; !(await isInstalled(folder)); await wait(200)) {
    if (await made(lock)) {
      try {
        const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...more];
        await promisify(execFile)("npm", args, { cwd: folder });
        return;
      } finally {
        await rmdir(lock);
      }
    }
    if (Date.now() > deadline) throw new Error(`somebody installs in ${folder}, or was killed: remove ${lock}`);
  }
}

async function made(folder: string): Promise<boolean> {
  return mkdir(folder).then(
    () => true,
    () => false,
  );
}

type Lock = Readonly<{ packages: Readonly<Record<string, { version?: string; optional?: boolean }>> }>;

/** npm writes down what it installed; what is optional is for this platform or for another. */
async function isInstalled(folder: string): Promise<boolean> {
  try {
    const [wanted, found] = await Promise.all(
      ["package-lock.json", "node_modules/.package-lock.json"].map(
        async (file) => (JSON.parse(await readFile(join(folder, file), "utf8")) as Lock).packages,
      ),
    );
    return Object.entries(wanted ?? {}).every(
      ([path, { version, optional }]) => path === "" || optional === true || found?.[path]?.version === version,
    );
  } catch {
    return false;
  }
}
