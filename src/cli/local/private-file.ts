// Writes files that only the owner may read. An existing file is replaced, because overwriting it would keep its
// mode.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export async function writePrivate(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  await writeFile(file, text, { mode: 0o600, flag: "wx" });
}
