// Owns the servers of others that are tried as upstreams: programs of test/foreign, each in a process or a workerd of its own,
// whose packages are installed when somebody asks. Refuses assertions.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { bundle, start, type Bindings } from "../../bench/runtime.ts";
import { freePort } from "../../scripts/fixture-server.ts";
import { installPackages } from "./install-packages.ts";

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
  const child = spawn(process.execPath, [join(FOREIGN, program), ...args], {
    cwd: FOREIGN,
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  for (const deadline = Date.now() + LISTENS_WITHIN_MS; !(await listens(port)); await wait(50)) {
    if (Date.now() < deadline && child.exitCode === null) continue;
    await stop();
    throw new Error(`${program} does not listen:\n${said}`);
  }
  return { url: `http://127.0.0.1:${port}/mcp`, stop };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
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
