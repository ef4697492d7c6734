// How much memory a workerd process has that a test started, as the kernel counts it. Linux only, as CI is.

import { readdirSync, readFileSync } from "node:fs";

const MIB = 1024 * 1024;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  /** Resident, in MiB. */
  readonly rss: number;
}

function processes(): Process[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const status = readFileSync(`/proc/${entry}/status`, "utf8");
      const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? "";
      const rss = (Number(field("VmRSS")) * 1024) / MIB;
      return { pid: Number(entry), parent: Number(field("PPid")), name: field("Name"), rss };
    } catch {
      // It ended in between.
      return [];
    }
  });
}

/** The workerd processes that this process started. */
export function startedWorkers(): number[] {
  return processes()
    .filter(({ parent, name }) => parent === process.pid && name === "workerd")
    .map(({ pid }) => pid);
}

/** In MiB. */
export function residentOf(pid: number): number {
  return Math.round(processes().find((one) => one.pid === pid)?.rss ?? 0);
}
