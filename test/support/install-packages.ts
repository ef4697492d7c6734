// Owns packages that few tests need: installed in their folder when somebody asks for them.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** What the folder's package-lock.json names, unless it is there already. `more`: options of npm. */
export async function installPackages(folder: string, more: readonly string[] = []): Promise<void> {
  if (await isInstalled(folder)) return;
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...more], { cwd: folder });
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
