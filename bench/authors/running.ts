// Starts an author's server and calls its tool: whether a mistake is found at its start, by a call, or by
// nobody; and how long a change takes to be called.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Product } from "./mistakes.ts";
import { PRODUCTS, type Finding } from "./products.ts";

const READY_WITHIN_MS = 60_000;
const LOOKED_EVERY_MS = 25;
/** What Cloudflare runs is what `NODE_ENV=production wrangler dev` runs: docs/mounting.md. */
// Offline, wrangler would say an error that is none of the author's.
const ENV = {
  NODE_ENV: "production",
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  CI: "true",
};

interface Started {
  readonly child: ChildProcess;
  readonly url: URL;
  readonly output: () => string;
}

async function start(product: Product, folder: string, watch: boolean): Promise<Started> {
  const port = await freePort();
  const { command, path } = PRODUCTS[product];
  const env = { ...process.env, ...(watch ? { ...ENV, NODE_ENV: "development" } : ENV), PORT: String(port) };
  const child = spawn(process.execPath, command(port, watch), { cwd: folder, env, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += stripVTControlCharacters(chunk)));
  }
  return { child, url: new URL(`http://127.0.0.1:${port}${path}`), output: () => output };
}

async function stop({ child }: Started): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  const gone = once(child, "exit");
  process.kill(-child.pid, "SIGTERM");
  const slow = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), 5000);
  await gone;
  clearTimeout(slow);
}

export async function caughtRunning(product: Product, folder: string): Promise<Finding> {
  const started = await start(product, folder, false);
  try {
    return (await untilReady(started)) ?? (await called(started.url));
  } finally {
    await stop(started);
  }
}

/** Undefined: it listens. */
async function untilReady({ child, url, output }: Started): Promise<Finding | undefined> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    const fault = /^.*\b(?:Uncaught )?((?:[A-Z]\w*)?Error: .*)$/m.exec(output());
    if (fault || child.exitCode !== null) return { when: "start", message: fault?.[1] ?? output().trim() };
    if (await answers(url)) return undefined;
    await sleep(LOOKED_EVERY_MS);
  }
  throw new Error(`not ready: ${output()}`);
}

async function answers(url: URL): Promise<boolean> {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(1000), headers: { accept: "application/json" } })).text();
    return true;
  } catch {
    return false;
  }
}

/** As a client does: looks at the list, and calls. */
async function called(url: URL): Promise<Finding> {
  try {
    const { isError, content, listed } = await ask(url);
    const text = content.map((block) => ("text" in block ? String(block.text) : block.type)).join(" ");
    if (isError) return { when: "call", message: text };
    return { when: "never", message: listed === 1 ? text : `${listed} tools are listed; ${text}` };
  } catch (error) {
    return { when: "call", message: (error as Error).message.split("\n")[0] ?? "" };
  }
}

interface Answer {
  readonly isError: boolean;
  readonly content: readonly { readonly type: string }[];
  readonly listed: number;
}

async function ask(url: URL): Promise<Answer> {
  const client = new Client({ name: "author", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(url));
  try {
    const { tools } = await client.listTools();
    const name = tools[0]?.name ?? "quote_shipping";
    const { isError = false, content } = await client.callTool({ name, arguments: { weightKg: 2 } });
    return { isError, content, listed: tools.length };
  } finally {
    await client.close();
  }
}

export interface Saves {
  readonly whole: string;
  readonly times: number;
}

/** Milliseconds from each save to the first call that answers with what was saved. */
export async function savedToCalled(product: Product, folder: string, { whole, times }: Saves): Promise<number[]> {
  const file = join(folder, "server.ts");
  await writeFile(file, whole);
  const started = await start(product, folder, true);
  try {
    await untilReady(started);
    await untilPriced(started, 7);
    const taken: number[] = [];
    for (let time = 1; time <= times; time += 1) {
      const text = await readFile(file, "utf8");
      const from = Date.now();
      await writeFile(file, text.replace(/price: \d+ \+/, `price: ${5 + time} +`));
      await untilPriced(started, 7 + time);
      taken.push(Date.now() - from);
    }
    return taken;
  } finally {
    await stop(started);
  }
}

async function untilPriced({ url, output }: Started, price: number): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    try {
      const { content } = await ask(url);
      if (JSON.stringify(content).includes(`\\"price\\":${price},`)) return;
    } catch {
      // It is starting again.
    }
    await sleep(LOOKED_EVERY_MS);
  }
  throw new Error(`the change did not arrive: ${output().slice(-2000)}`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
