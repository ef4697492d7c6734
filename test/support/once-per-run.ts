// What several test files need and one of them makes, whichever asks first: the others wait for it.

import { access, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { inject } from "vitest";

const LOOK_EVERY_MS = 50;

/** The folder that `make` filled, in this file or in another one of this run; throws what it threw. */
export async function oncePerRun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject("runFolder"), name);
  const failed = `${folder}.failed`;
  if (await isFirst(`${folder}.asked`)) {
    const unfinished = `${folder}.unfinished`;
    await mkdir(unfinished);
    try {
      await make(unfinished);
    } catch (error) {
      await writeFile(failed, String(error));
      throw error;
    }
    await rename(unfinished, folder);
  }
  while (!(await isThere(folder))) {
    if (await isThere(failed)) throw new Error(await readFile(failed, "utf8"));
    await wait(LOOK_EVERY_MS);
  }
  return folder;
}

/** A folder is made by one only. */
async function isFirst(mark: string): Promise<boolean> {
  try {
    await mkdir(mark);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
