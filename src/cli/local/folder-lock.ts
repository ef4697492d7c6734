// Locks a data folder for one local server, and makes it private: two servers would destroy each other's files. A
// lock whose processes have ended does not count.

import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, usageError } from "../exit.ts";
import { fileError } from "../admin/file-error.ts";
import { isRunning, processIdentityOf, type ProcessIdentity } from "./process-identity.ts";
import { removeStaleLock } from "./stale-lock.ts";

interface Lock {
  readonly port: string;
  readonly runs: readonly ProcessIdentity[];
}

export interface LockOptions {
  readonly port: string;
  /** The option that selects another folder, for messages. */
  readonly option: string;
}

export interface FolderLock {
  /** Adds another process to the lock: the folder stays locked while that process runs, even after this one ends. */
  share(pid: number): void;
  release(): void;
}

export function lockFolder(folder: string, { port, option }: LockOptions): FolderLock {
  const file = join(folder, "server.pid");
  const temporary = `${file}.${process.pid}`;
  const write = (pids: readonly number[]) => {
    writeFileSync(temporary, JSON.stringify({ port, runs: pids.map(processIdentityOf) }));
  };
  // The server starts later and inherits this mask: its stored data would let a reader sign in.
  process.umask(0o077);
  try {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700);
    write([process.pid]);
    while (!tryAcquire(temporary, file)) {
      const { holder, lock } = readLock(file);
      if (holder) throw inUseError(folder, lock, holder, option);
      removeStaleLock(file, (path) => !readLock(path).holder);
    }
  } catch (error) {
    throw error instanceof CliError ? error : fileError(error, folder);
  } finally {
    deleteTemporary(temporary);
  }
  return {
    share: (pid) => {
      write([process.pid, pid]);
      renameSync(temporary, file);
    },
    release: () => rmSync(file, { force: true }),
  };
}

/** If the folder is a file, even this fails, and must not hide the first error. */
function deleteTemporary(temporary: string): void {
  try {
    rmSync(temporary, { force: true });
  } catch {
    // The caller reports the first error.
  }
}

function inUseError(folder: string, { port }: Lock, { pid }: ProcessIdentity, option: string): CliError {
  const at = port === "" ? "" : `, a server at port ${port}`;
  return usageError(
    `${folder} is in use by process ${pid}${at}: stop that process, or choose another folder with ${option}`,
  );
}

/** A link appears atomically with its content, and only one process can create it. */
function tryAcquire(temporary: string, file: string): boolean {
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readLock(file: string): { readonly lock: Lock; readonly holder: ProcessIdentity | undefined } {
  const lock = parseLockFile(file);
  return { lock, holder: lock.runs.find(isRunning) };
}

function parseLockFile(file: string): Lock {
  try {
    const lock = JSON.parse(readFileSync(file, "utf8")) as Partial<Lock> | number;
    // Older releases wrote only the process id.
    if (typeof lock === "number") return { port: "", runs: [processIdentityOf(lock)] };
    return { port: lock.port ?? "", runs: lock.runs ?? [] };
  } catch {
    // The file is gone, or no release wrote it.
    return { port: "", runs: [] };
  }
}
