// Removes the lock file of a process that has ended.

import { linkSync, renameSync, rmSync } from "node:fs";

/**
 * Call it after `isStale` returned true for `file`. Another process may have removed the stale lock since then and
 * created its own, so the file is moved first, judged again, and put back if it is not stale.
 */
export function removeStaleLock(file: string, isStale: (file: string) => boolean): void {
  const moved = `${file}.${process.pid}.old`;
  try {
    renameSync(file, moved);
    if (!isStale(moved)) linkSync(moved, file);
  } catch (error) {
    // The lock is gone, or a third process has created its own.
    if (!["ENOENT", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    rmSync(moved, { force: true });
  }
}
