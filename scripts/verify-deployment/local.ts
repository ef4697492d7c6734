// workerd on this machine, by wrangler as everybody uses it. A release takes the place of another as a new process over the same
// storage. Nothing of the platform is here: no replication of KV, no eviction, no other isolates, no bill.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { basename, extname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { convertV4MiniflareOptions, Miniflare, NoOpLog } from "miniflare";
import { COUNTERS_PATH, writeEntry } from "./entries.ts";
import { RELEASE_HEADER, type Counters, type Release, type Target, type TargetOptions } from "./target.ts";

const WRANGLER = join(import.meta.dirname, "../../node_modules/wrangler/bin/wrangler.js");
const READY_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 200;
const LOGGED_WITHIN_MS = 1000;
const OUTPUT_KEPT = 2000;
/** Of which the fastest counts: other programs make a start slower, never faster. */
const STARTS = 3;
/** Without these wrangler asks the network for a place to pretend to be at. */
const OFFLINE = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };

const production = () => ({ ...process.env, ...OFFLINE, NODE_ENV: "production" });

export function localTarget(options: TargetOptions): Target {
  const adminToken = randomBytes(24).toString("base64url");
  const secretsKey = randomBytes(32).toString("base64url");
  let running: ChildProcess | undefined;
  let origin = "";
  let output = "";

  const stop = async () => {
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill("SIGTERM");
    await ended;
  };

  const deploy = async (release: Release) => {
    await stop();
    const entry = await writeEntry(options, release, true);
    const port = await freePort();
    const settings = {
      config: options.config,
      port: String(port),
      ip: "127.0.0.1",
      "persist-to": join(options.folder, "state"),
      "inspector-port": "0",
      "show-interactive-dev-session": "false",
    };
    const vars = [`ADMIN_TOKEN:${adminToken}`, `SECRETS_KEY:${secretsKey}`, "OUTBOUND_LOCAL:http://127.0.0.1"];
    const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const given = [WRANGLER, "dev", entry, ...flags, ...vars.map((value) => `--var=${value}`)];
    running = spawn(process.execPath, given, {
      stdio: ["ignore", "pipe", "pipe"],
      env: production(),
    });
    output = "";
    for (const stream of [running.stdout, running.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-OUTPUT_KEPT);
      });
    }
    origin = `http://127.0.0.1:${port}`;
    await untilReleased(origin, release, running, () => output);
  };

  return {
    name: "workerd on this machine",
    adminToken,
    origin: () => origin,
    log: async () => {
      // wrangler prints a line some moments after the answer.
      await wait(LOGGED_WITHIN_MS);
      return `the log:\n${output}`;
    },
    deploy,
    rollback: () => deploy("first"),
    startupMs: () => startupMs(options),
    counters: async () => (await (await fetch(origin + COUNTERS_PATH)).json()) as Counters,
    cleanUp: stop,
  };
}

async function untilReleased(
  origin: string,
  release: Release,
  child: ChildProcess,
  output: () => string,
): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  while (Date.now() < until && child.exitCode === null) {
    const answer = await fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (answer?.headers.get(RELEASE_HEADER) === release) return;
    await wait(LOOK_EVERY_MS);
  }
  throw new Error(`wrangler dev does not serve release "${release}":\n${output()}`);
}

/**
 * How long a request takes longer that imports the Worker, than one after it. `wrangler check startup` would measure it too, but
 * prints a profile also of a Worker whose evaluation throws.
 */
async function startupMs({ folder, worker, config }: TargetOptions): Promise<number> {
  const out = join(folder, "startup");
  const args = [WRANGLER, "deploy", worker, `--config=${config}`, "--dry-run", `--outdir=${out}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env: production() });
  if (status !== 0) throw new Error(`wrangler deploy --dry-run: ${stdout}${stderr}`);
  const bundle = `${basename(worker, extname(worker))}.js`;
  const others = (await readdir(out)).filter((name) => name !== bundle && !name.endsWith(".map"));
  const read = async (type: "ESModule" | "Text", name: string) => ({
    type,
    path: join(out, name),
    contents: await readFile(join(out, name), "utf8"),
  });
  const importing = `export default {
    async fetch() {
      await import(${JSON.stringify(`./${bundle}`)});
      return new Response("imported");
    },
  };`;
  const modules = [
    { type: "ESModule" as const, path: join(out, "importing.mjs"), contents: importing },
    await read("ESModule", bundle),
    ...(await Promise.all(others.map((name) => read("Text", name)))),
  ];
  const compatibilityDate = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(await readFile(config, "utf8"))?.[1] ?? "";
  const times = [];
  for (let start = 0; start < STARTS; start += 1) {
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        log: new NoOpLog(),
        handleStructuredLogs: () => {},
        name: "startup",
        compatibilityDate,
        kvNamespaces: ["BODIES"],
        modulesRoot: out,
        modules,
      }),
    );
    try {
      await miniflare.ready;
      times.push((await askedMs(miniflare)) - (await askedMs(miniflare)));
    } finally {
      await miniflare.dispose();
    }
  }
  return Math.max(Math.round(Math.min(...times)), 0);
}

async function askedMs(miniflare: Miniflare): Promise<number> {
  const began = performance.now();
  const response = await miniflare.dispatchFetch("http://localhost/");
  const text = await response.text();
  if (!response.ok) throw new Error(`the Worker cannot be imported: ${text}`);
  return performance.now() - began;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
