// Owns a server on this machine for as long as the bridge runs. A keeper process starts and stops it: its stdin is a
// pipe from us, which the system closes however we end, so the keeper never outlives us for long.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError, EXIT } from "../exit.ts";
import { ENTRY } from "../own-place.ts";
import { startedAt, type Started } from "./development.ts";
import type { Terminal } from "../terminal/terminal.ts";

const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 100;
const STOPPED_WITHIN_MS = 5000;
const OUTPUT_KEPT = 4000;

export interface LocalServer extends Started {
  readonly url: string;
  stop(): Promise<void>;
}

export interface LocalOptions {
  readonly project: string;
  readonly state: string;
  readonly quiet: boolean;
}

export async function startLocalServer(terminal: Terminal, options: LocalOptions): Promise<LocalServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const keeper = spawnKeeper(terminal, [options.project, options.state, String(port)]);
  const output = follow(keeper, terminal, options.quiet);
  const gone = once(keeper, "exit");
  const stop = async () => {
    keeper.stdin?.end();
    // The keeper kills a server that does not stop. If the keeper itself does not stop, it is not waited for.
    await Promise.race([gone, sleep(STOPPED_WITHIN_MS, undefined, { ref: false })]);
    keeper.unref();
  };
  try {
    const { fault } = await untilStarted(url, keeper, terminal.signal);
    return { url, fault, stop };
  } catch (error) {
    await stop();
    if (!(error instanceof NotReady)) throw error;
    throw new CliError(EXIT.unreachable, [error.message, output()].filter(Boolean).join(": "));
  }
}

class NotReady extends Error {}

function spawnKeeper({ env, cwd }: Terminal, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [ENTRY, "__serve", "--", ...args], { cwd, env, stdio: ["pipe", "ignore", "pipe"] });
}

/** What the server says goes to stderr; its last words explain why it did not start. */
function follow(keeper: ChildProcess, terminal: Terminal, quiet: boolean): () => string {
  let kept = "";
  keeper.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    kept = (kept + chunk).slice(-OUTPUT_KEPT);
    if (!quiet) terminal.stderr.write(chunk);
  });
  keeper.stdin?.on("error", () => {});
  return () => kept.trim().replace(/^tenantry: /, "");
}

async function untilStarted(url: string, keeper: ChildProcess, signal: AbortSignal): Promise<Started> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const started = await startedAt(url);
    if (started !== undefined) return started;
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted");
    if (keeper.exitCode !== null || keeper.signalCode !== null) throw new NotReady("the local server did not start");
    if (Date.now() > deadline) throw new NotReady(`the local server did not answer in ${READY_WITHIN_MS / 1000} s`);
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
