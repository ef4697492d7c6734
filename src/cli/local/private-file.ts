// Owns files of one local server that hold what only their owner may read. Refuses to write into a file that was there
// before, because it would keep the mode that it had.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export async function writePrivate(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  await writeFile(file, text, { mode: 0o600, flag: "wx" });
}
