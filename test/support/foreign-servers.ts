// Owns the servers of others that are tried as upstreams: programs of test/foreign, each in a process or a workerd of its own,
// whose packages are installed when somebody asks. Refuses assertions.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { bundle, start, type Bindings } from "../../bench/runtime.ts";
import { freePort } from "../../scripts/fixture-server.ts";

export const FOREIGN = join(import.meta.dirname, "../foreign");
const LISTENS_WITHIN_MS = 30_000;

export interface ForeignServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** What package-lock.json names, unless it is there already. */
export async function installForeign(): Promise<void> {
  if (await isInstalled()) return;
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: FOREIGN });
}

type Lock = Readonly<{ packages: Readonly<Record<string, { version?: string; optional?: boolean }>> }>;

/** npm writes down what it installed; what is optional is for this platform or for another. */
async function isInstalled(): Promise<boolean> {
  try {
    const [wanted, found] = await Promise.all(
      ["package-lock.json", "node_modules/.package-lock.json"].map(
        async (file) => (JSON.parse(await readFile(join(FOREIGN, file), "utf8")) as Lock).packages,
      ),
    );
    return Object.entries(wanted ?? {}).every(
      ([path, { version, optional }]) => path === "" || optional === true || found?.[path]?.version === version,
    );
  } catch {
    return false;
  }
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
