// Runs the fixture Worker in `wrangler dev`: a process of its own with storage of its own, gone after stop().
// It serves plain HTTP on the loopback interface only, which is where the conformance suite must be run.
import type { ChildProcess, StdioOptions } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const CONFIG = join(ROOT, "test/fixtures/wrangler.toml");
/** What the fixture Worker takes from whoever manages tenants; it is reached on the loopback interface only. */
export const ADMIN_TOKEN = "admin-token-of-the-fixtures-0123456789";
/** `{tenant}.mcp.test` is that tenant's. */
export const TENANT_HOST = "mcp.test";
const READY_WITHIN_MS = 90_000;
const STOPPED_WITHIN_MS = 5_000;
const OUTPUT_KEPT = 8_000;
/** Without these wrangler asks the network for a place to pretend to be at, and waits for it. */
const OFFLINE = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };

export interface FixtureServer {
  /** `http://localhost:PORT`, without a path. */
  url: string;
  stop(): Promise<void>;
}

export interface FixtureProcess {
  child: ChildProcess;
  /** Settles when the process is gone, with the code to exit with: 0 if it was told to stop. */
  exited: Promise<number>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface FixtureOptions {
  port?: number;
  vars?: Readonly<Record<string, string>>;
  /** Another Worker than the one under test: a file of test/fixtures. */
  entry?: string;
}

/** Starts the fixture Worker on a free port (or the given one) and waits until it answers. */
export async function startFixtureServer(options: FixtureOptions = {}): Promise<FixtureServer> {
  const chosen = options.port ?? (await freePort());
  const server = await spawnFixtureServer(chosen, ["ignore", "pipe", "pipe"], options);
  const output = keepOutput(server.child);
  const url = `http://localhost:${chosen}`;
  try {
    await untilHealthy(url, server, output);
  } catch (error) {
    await server.stop();
    throw new Error(`The fixture Worker did not start.\n${output()}`, { cause: error });
  }
  return { url, stop: () => server.stop() };
}

/** Starts `wrangler dev` and returns at once; `startFixtureServer` is this plus waiting. */
export async function spawnFixtureServer(
  port: number,
  stdio: StdioOptions,
  options: Pick<FixtureOptions, "vars" | "entry"> = {},
): Promise<FixtureProcess> {
  const storage = await mkdtemp(join(tmpdir(), "tenantry-fixtures-"));
  const vars = { ADMIN_TOKEN, TENANT_HOST, ...options.vars };
  const args = [
    "dev",
    ...(options.entry === undefined ? [] : [join(ROOT, "test/fixtures", options.entry)]),
    "--config",
    CONFIG,
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--persist-to",
    storage,
    ...Object.entries(vars).map(([name, value]) => `--var=${name}:${value}`),
  ];
  // A process group of its own, because wrangler starts workerd: whatever happens, the whole group can be ended.
  const child = spawn(
    process.execPath,
    [WRANGLER, ...args, "--inspector-port", "0", "--show-interactive-dev-session=false"],
    { cwd: ROOT, stdio, detached: true, env: { ...process.env, ...OFFLINE } },
  );
  const endGroup = () => killGroup(child, "SIGKILL");
  process.once("exit", endGroup);
  let stopping = false;
  const exited = exitCode(child).then(async (code) => {
    process.off("exit", endGroup);
    endGroup();
    await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    return stopping ? 0 : code;
  });
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    stopping = true;
    child.kill(signal);
    const impatience = setTimeout(endGroup, STOPPED_WITHIN_MS);
    await exited;
    clearTimeout(impatience);
  };
  return { child, exited, stop };
}

async function exitCode(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody is left in the group, which is what was wanted.
  }
}

function keepOutput(child: ChildProcess): () => string {
  let kept = "";
  const keep = (chunk: Buffer) => {
    kept = (kept + chunk.toString()).slice(-OUTPUT_KEPT);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => kept;
}

async function untilHealthy(url: string, server: FixtureProcess, output: () => string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  let gone = false;
  void server.exited.then(() => {
    gone = true;
  });
  let last = "no answer";
  while (Date.now() < deadline) {
    if (gone) throw new Error("wrangler ended before the Worker answered");
    // wrangler would wait for somebody to correct the source.
    if (output().includes("Build failed")) throw new Error("the Worker does not build");
    last = await healthOf(url);
    if (last === "200") return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`/healthz did not answer 200 within ${READY_WITHIN_MS} ms (last: ${last})`);
}

async function healthOf(url: string): Promise<string> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return String(response.status);
  } catch (error) {
    return String(error);
  }
}

/** A port of the loopback interface that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("The system gave no port");
  return address.port;
}
