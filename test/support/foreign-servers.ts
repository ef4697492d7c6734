// The servers of others that are tried as upstreams: programs of test/foreign, each in a process or a workerd of its
// own, whose packages are installed when somebody asks.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle, start, type Bindings } from "../../bench/runtime.ts";
import { freePort } from "../../scripts/fixture-server.ts";
import { installPackages } from "./install-packages.ts";
import { startServerProcess, stopProcess } from "./server-process.ts";

export const FOREIGN = join(import.meta.dirname, "../foreign");
const LISTENS_WITHIN_MS = 30_000;

export interface ForeignServer {
  readonly url: string;
  stop(): Promise<void>;
}

export function installForeign(): Promise<void> {
  return installPackages(FOREIGN);
}

/** A program that listens at `PORT` of its environment: a path from test/foreign. */
export async function startProgram(program: string, args: readonly string[] = []): Promise<ForeignServer> {
  const port = await freePort();
  const child = await startServerProcess({
    command: process.execPath,
    args: [join(FOREIGN, program), ...args],
    cwd: FOREIGN,
    port,
    withinMs: LISTENS_WITHIN_MS,
  });
  return { url: `http://127.0.0.1:${port}/mcp`, stop: () => stopProcess(child) };
}

/** A Worker of test/foreign, bundled as wrangler does and run in workerd. */
export async function startForeignWorker(entry: string, bindings: Bindings = {}): Promise<ForeignServer> {
  const scratch = await mkdtemp(join(tmpdir(), "tenantry-foreign-"));
  try {
    const { url, stop } = await start(await bundle(`../test/foreign/${entry}`, scratch), bindings);
    return { url: new URL("/mcp", url).href, stop };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
