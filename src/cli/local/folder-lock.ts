// Owns that a folder of stored data is its owner's alone, and one local server's at a time: two on the same files destroy them.
// Refuses to believe a lock whose processes have ended, however they did.

import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, usageError } from "../exit.ts";
import { fileError } from "../admin/file-error.ts";
import { isRunning, processIdentityOf, type ProcessIdentity } from "./process-identity.ts";

interface Lock {
  readonly port: string;
  readonly runs: readonly ProcessIdentity[];
}

export interface LockOptions {
  readonly port: string;
  /** How a person gives another folder. */
  readonly option: string;
}

export interface FolderLock {
  /** Another process works on the folder: as long as it runs the folder is not free, even when we are gone. */
  share(pid: number): void;
  release(): void;
}

export function lockFolder(folder: string, { port, option }: LockOptions): FolderLock {
  const file = join(folder, "server.pid");
  const temporary = `${file}.${process.pid}`;
  const write = (pids: readonly number[]) => {
    writeFileSync(temporary, JSON.stringify({ port, runs: pids.map(processIdentityOf) }));
  };
  // The server is started afterwards and inherits it: what it stores lets its reader sign in.
  process.umask(0o077);
  try {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700);
    write([process.pid]);
    while (!tryAcquire(temporary, file)) {
      const { holder, lock } = readLock(file);
      if (holder) throw inUseError(folder, lock, holder, option);
      removeStaleLock(file, `${temporary}.old`);
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

/** Where the folder is a file, even this fails, and must not hide why. */
function deleteTemporary(temporary: string): void {
  try {
    rmSync(temporary, { force: true });
  } catch {
    // What went wrong before it is said.
  }
}

function inUseError(folder: string, { port }: Lock, { pid }: ProcessIdentity, option: string): CliError {
  const at = port === "" ? "" : `, a server at port ${port}`;
  return usageError(`${folder} is in use by process ${pid}${at}; end that, or give ${option} another folder`);
}

/** A link is there with everything in it or not at all, and only one can be the first. */
function tryAcquire(temporary: string, file: string): boolean {
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Somebody else may have done so, and have taken the folder: what was moved is looked at once more. */
function removeStaleLock(file: string, backup: string): void {
  try {
    renameSync(file, backup);
    if (readLock(backup).holder) linkSync(backup, file);
    rmSync(backup, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function readLock(file: string): { readonly lock: Lock; readonly holder: ProcessIdentity | undefined } {
  const lock = parseLockFile(file);
  return { lock, holder: lock.runs.find(isRunning) };
}

function parseLockFile(file: string): Lock {
  try {
    const lock = JSON.parse(readFileSync(file, "utf8")) as Partial<Lock> | number;
    // A release before this one wrote the process alone.
    if (typeof lock === "number") return { port: "", runs: [processIdentityOf(lock)] };
    return { port: lock.port ?? "", runs: lock.runs ?? [] };
  } catch {
    // It is gone, or nothing that any release has written.
    return { port: "", runs: [] };
  }
}
