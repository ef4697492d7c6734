// Owns telling one run of a program from another. Numbers of processes are used again: with when it began, it is this one
// and no other.

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

/** Where the system tells it: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, the field starttime. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // It has ended, and nobody has asked how: in a container often nobody ever does.
    return state === "Z" || state === "X" ? EXITED : (fields[18] ?? "");
  } catch {
    return "";
  }
}
