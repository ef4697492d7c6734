// Identifies a process by id and start time, because the system reuses process ids.

import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  readonly began: string;
}

export function processIdentityOf(pid: number): ProcessIdentity {
  return { pid, began: startTimeOf(pid) };
}

export function isRunning({ pid, began }: ProcessIdentity): boolean {
  const now = startTimeOf(pid);
  return now === began && now !== EXITED && isAlive(pid);
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const EXITED = "ended";

/**
 * The start time, on systems that provide it: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, the field
 * starttime.
 */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // The process has ended, but no parent has read its exit status, which in a container may never happen.
    return state === "Z" || state === "X" ? EXITED : (fields[18] ?? "");
  } catch {
    return "";
  }
}
