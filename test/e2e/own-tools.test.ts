// The package as its user has it: packed, installed into a copy of examples/own-tools outside this repository,
// type-checked, built, started with wrangler dev and called by the official client. wrangler and tsc are this
// repository's, so nothing is downloaded beyond the run-time dependencies.
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packedPackage } from "../support/packed-package.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const wrangler = join(repository, "node_modules/wrangler/bin/wrangler.js");
const vitest = join(repository, "node_modules/vitest/vitest.mjs");
const tsc = join(repository, "node_modules/typescript/bin/tsc");
const READY_WITHIN_MS = 60_000;

let folder: string;
let project: string;
let server: ChildProcess | undefined;
let base: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "own-tools-"));
  project = join(folder, "own-tools");
  await cp(join(repository, "examples/own-tools"), project, {
    recursive: true,
    filter: (source) => !/[/\\](node_modules|\.wrangler|package-lock\.json)$/.test(source),
  });
  await installPackedPackage();
}, 180_000);

afterAll(async () => {
  if (server !== undefined && server.exitCode === null && server.kill("SIGTERM")) await once(server, "exit");
  await rm(folder, { recursive: true, force: true });
}, 30_000);

describe("examples/own-tools on the packed package", () => {
  test("type-checks against the sources in the tarball", () => {
    run(process.execPath, [tsc, "--project", project], project);
  }, 60_000);

  test("passes its own tests, in Node and in workerd", () => {
    const output = run(process.execPath, [vitest, "run"], project);
    expect(output).toMatch(/Tests\s+10 passed/);
  }, 180_000);

  test("asks for no later date than the runtime of the test tools knows, which is older than wrangler's", async () => {
    const plugin = await readFile(join(repository, "node_modules/@cloudflare/vitest-plugin/package.json"), "utf8");
    const { miniflare } = (JSON.parse(plugin) as { dependencies: { miniflare: string } }).dependencies;
    const [, runtime = ""] = /^5\.(\d{8})\./.exec(miniflare) ?? [];
    const config = await readFile(join(project, "wrangler.toml"), "utf8");
    const [, date = ""] = /^compatibility_date = "([^"]+)"/m.exec(config) ?? [];
    expect(runtime).toMatch(/^\d{8}$/);
    expect(Number(date.replaceAll("-", ""))).toBeLessThanOrEqual(Number(runtime));
  });

  test("builds as wrangler deploy would", () => {
    const output = run(process.execPath, [wrangler, "deploy", "--dry-run", "--outdir", join(folder, "built")], project);
    expect(output).toContain("--dry-run: exiting now");
  }, 120_000);

  test("serves its own tools and prompt, per tenant, to the official client", async () => {
    base = await startDevServer();

    const acme = await connect("acme");
    expect(acme.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    expect(await toolNames(acme)).toEqual(["add_workdays", "quote_shipping"]);
    const quote = await acme.callTool({ name: "quote_shipping", arguments: { weightKg: 2 } });
    expect(quote.structuredContent).toEqual({ price: 7, currency: "EUR" });
    const defaulted = await acme.callTool({ name: "add_workdays", arguments: { date: "2026-11-20" } });
    expect(defaulted.content).toEqual([{ type: "text", text: "2026-11-23" }]);
    const tooHeavy = await acme.callTool({ name: "quote_shipping", arguments: { weightKg: 500 } });
    expect(tooHeavy.isError).toBe(true);
    const prompt = await acme.getPrompt({ name: "reply_to_customer", arguments: { question: "Where is it?" } });
    expect(JSON.stringify(prompt.messages)).toContain("Where is it?");
    const tones = await acme.complete({
      ref: { type: "ref/prompt", name: "reply_to_customer" },
      argument: { name: "tone", value: "f" },
    });
    expect(tones.completion.values).toEqual(["friendly", "formal"]);
    await acme.close();

    const globex = await connect("globex");
    expect(await toolNames(globex)).toEqual(["add_workdays"]);
    await globex.close();
  }, 120_000);
});

/** What `npm install` of the tarball does for a user; the tools of this repository stand in for its devDependencies. */
async function installPackedPackage(): Promise<void> {
  const { tarball } = await packedPackage();
  const manifest = join(project, "package.json");
  const parsed: { dependencies: Record<string, string> } = JSON.parse(await readFile(manifest, "utf8"));
  parsed.dependencies["tenantry"] = `file:${tarball}`;
  await writeFile(manifest, JSON.stringify(parsed));
  run("npm", ["install", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"], project);
  await mkdir(join(project, "node_modules/@cloudflare"), { recursive: true });
  for (const name of ["@cloudflare/workers-types", "@cloudflare/vitest-plugin", "vitest"]) {
    await symlink(join(repository, "node_modules", name), join(project, "node_modules", name), "dir");
  }
}

async function startDevServer(): Promise<string> {
  const port = await freePort();
  const options = ["--port", String(port), "--ip", "127.0.0.1", "--inspector-port", "0"];
  const quiet = ["--show-interactive-dev-session=false", "--persist-to", join(folder, "state")];
  const started = spawn(process.execPath, [wrangler, "dev", ...options, ...quiet], {
    cwd: project,
    env: environment(),
  });
  server = started;
  let output = "";
  started.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  started.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!output.includes("Ready on")) {
    if (started.exitCode !== null || Date.now() > deadline) throw new Error(`wrangler dev did not start:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return `http://127.0.0.1:${port}`;
}

async function connect(tenant: string): Promise<Client> {
  const client = new Client({ name: "own-tools-test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp/${tenant}`)));
  return client;
}

async function toolNames(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).toSorted();
}

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env: environment(), encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stdout + stderr}`);
  return stdout + stderr;
}

/** Without the npm_* variables of the script that runs the tests, which would point npm at this repository. */
function environment(): NodeJS.ProcessEnv {
  const others = /^(npm_|NODE_OPTIONS$|NODE_ENV$|VITEST|TEST$)/;
  const own = Object.entries(process.env).filter(([name]) => !others.test(name));
  return { ...Object.fromEntries(own), CI: "1", NO_COLOR: "1", WRANGLER_SEND_METRICS: "false" };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
