#!/usr/bin/env node

import { runCommandLine } from "./program.ts";

const interrupt = new AbortController();
// The first signal lets the command clean up; a second one ends the process at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => interrupt.abort());
// A reader of the output may stop early: `tenantry tenant list | head -1`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
// A closed stderr is ignored: the command continues without its log.
process.stderr.on("error", () => {});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  cwd: process.cwd(),
  signal: interrupt.signal,
});
// Node waits until stdout is read, but an interrupted process should end now.
const exit = () => process.exit();
interrupt.signal.addEventListener("abort", exit);
if (interrupt.signal.aborted) exit();
// An unread stdin must not keep the process alive.
process.stdin.unref?.();
