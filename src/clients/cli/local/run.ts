// Owns telling one run of a program from another. Numbers of processes are used again: with when it began, it is this one
// and no other.

import { readFileSync } from "node:fs";

export interface Run {
  readonly pid: number;
  readonly began: string;
}

export function runOf(pid: number): Run {
  return { pid, began: beginOf(pid) };
}

export function isRunning({ pid, began }: Run): boolean {
  const now = beginOf(pid);
  return now === began && now !== ENDED && isAlive(pid);
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const ENDED = "ended";

/** Where the system tells it: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, the field starttime. */
function beginOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // It has ended, and nobody has asked how: in a container often nobody ever does.
    return state === "Z" || state === "X" ? ENDED : (fields[18] ?? "");
  } catch {
    return "";
  }
}
