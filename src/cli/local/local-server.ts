// A local server that runs as long as the bridge. A keeper process starts and stops it. The keeper's stdin is a pipe
// from this process, which the system closes however this process ends, so the keeper stops soon after.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError, EXIT } from "../exit.ts";
import { ENTRY } from "../install-path.ts";
import { probeServer, type ServerStatus } from "./development.ts";
import type { Terminal } from "../terminal/terminal.ts";

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 100;
const STOP_TIMEOUT_MS = 5000;
const MAX_OUTPUT_CHARACTERS = 4000;

export interface LocalServer extends ServerStatus {
  readonly url: string;
  stop(): Promise<void>;
}

export interface LocalServerOptions {
  readonly project: string;
  readonly state: string;
  readonly quiet: boolean;
}

export async function startLocalServer(terminal: Terminal, options: LocalServerOptions): Promise<LocalServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const serverProcess = spawnServerProcess(terminal, [options.project, options.state, String(port)]);
  const output = forwardOutput(serverProcess, terminal, options.quiet);
  const exited = once(serverProcess, "exit");
  const stop = async () => {
    serverProcess.stdin?.end();
    // The keeper kills a server that does not stop. If the keeper itself hangs, stop waiting.
    await Promise.race([exited, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    serverProcess.unref();
  };
  try {
    const { error } = await waitUntilStarted(url, serverProcess, terminal.signal);
    return { url, error, stop };
  } catch (error) {
    await stop();
    if (!(error instanceof NotReadyError)) throw error;
    throw new CliError(EXIT.unreachable, [error.message, output()].filter(Boolean).join(": "));
  }
}

class NotReadyError extends Error {}

function spawnServerProcess({ env, cwd }: Terminal, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [ENTRY, "__serve", "--", ...args], { cwd, env, stdio: ["pipe", "ignore", "pipe"] });
}

/** Forwards the server's output to stderr. Returns a function for its last output, which explains a failed start. */
function forwardOutput(serverProcess: ChildProcess, terminal: Terminal, quiet: boolean): () => string {
  let output = "";
  serverProcess.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    output = (output + chunk).slice(-MAX_OUTPUT_CHARACTERS);
    if (!quiet) terminal.stderr.write(chunk);
  });
  serverProcess.stdin?.on("error", () => {});
  return () => output.trim().replace(/^tenantry: /, "");
}

async function waitUntilStarted(url: string, serverProcess: ChildProcess, signal: AbortSignal): Promise<ServerStatus> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const status = await probeServer(url);
    if (status !== undefined) return status;
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted");
    if (serverProcess.exitCode !== null || serverProcess.signalCode !== null)
      throw new NotReadyError("the local server did not start");
    if (Date.now() > deadline)
      throw new NotReadyError(`the local server did not answer in ${START_TIMEOUT_MS / 1000} s`);
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
