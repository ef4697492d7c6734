// An example as its reader has it: a copy outside this repository with the packed package installed, type-checked,
// built and started with wrangler. wrangler, tsc and vitest are this repository's, so only run-time dependencies are
// downloaded.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { freePort } from "../../scripts/fixture-server.ts";
import { shellEnvironment } from "./application.ts";
import { packedPackage } from "./packed-package.ts";

const ROOT = join(import.meta.dirname, "../..");
const READY_WITHIN_MS = 60_000;
/** What is the reader's own, or was made by running it. */
const LEFT_OUT = /[/\\](node_modules|\.wrangler|package-lock\.json)$/;
const PROGRAMS = {
  tsc: "typescript/bin/tsc",
  wrangler: "wrangler/bin/wrangler.js",
  vitest: "vitest/vitest.mjs",
} as const;

export class ExampleProject {
  readonly folder: string;
  #server: ChildProcess | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async of(name: string): Promise<ExampleProject> {
    const folder = join(await mkdtemp(join(tmpdir(), "example-")), name);
    await cp(join(ROOT, "examples", name), folder, { recursive: true, filter: (source) => !LEFT_OUT.test(source) });
    return ExampleProject.#installed(folder);
  }

  /** Of files that a page shows, by their path; `package.json` among them. */
  static async ofFiles(name: string, files: ReadonlyMap<string, string>): Promise<ExampleProject> {
    const folder = join(await mkdtemp(join(tmpdir(), "example-")), name);
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return ExampleProject.#installed(folder);
  }

  /** One that is there already, in a folder that ends with it, and names the package where that is. */
  static async there(folder: string): Promise<ExampleProject> {
    const project = new ExampleProject(folder);
    await project.#install();
    return project;
  }

  static async #installed(folder: string): Promise<ExampleProject> {
    const { tarball } = await packedPackage();
    const manifest = join(folder, "package.json");
    const parsed = JSON.parse(await readFile(manifest, "utf8")) as Manifest;
    parsed.dependencies["tenantry"] = `file:${tarball}`;
    await writeFile(manifest, JSON.stringify(parsed));
    return ExampleProject.there(folder);
  }

  /** What `npm install` does; the tools of this repository stand in for devDependencies. */
  async #install(): Promise<void> {
    const parsed = JSON.parse(await readFile(join(this.folder, "package.json"), "utf8")) as Manifest;
    const quiet = ["--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"];
    await promisify(execFile)("npm", ["install", ...quiet], { cwd: this.folder, env: environment() });
    const modules = join(this.folder, "node_modules");
    for (const name of Object.keys(parsed.devDependencies)) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(ROOT, "node_modules", name), join(modules, name), "dir");
    }
  }

  /** What the program wrote; throws with it where it failed. */
  async run(program: keyof typeof PROGRAMS, ...args: readonly string[]): Promise<string> {
    const file = join(ROOT, "node_modules", PROGRAMS[program]);
    const running = promisify(execFile)(process.execPath, [file, ...args], { cwd: this.folder, env: environment() });
    const { stdout, stderr } = await running.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`${program} ${args.join(" ")}: ${error.stdout}${error.stderr}`, { cause: error });
    });
    return stdout + stderr;
  }

  /** `wrangler dev`; gives the origin. Its variables and what it stores are in the example's folder. */
  async start(...args: readonly string[]): Promise<string> {
    const port = await freePort();
    const options = ["--port", String(port), "--ip", "127.0.0.1", "--inspector-port", "0"];
    const wrangler = join(ROOT, "node_modules", PROGRAMS.wrangler);
    const started = spawn(
      process.execPath,
      [wrangler, "dev", ...options, "--show-interactive-dev-session=false", ...args],
      { cwd: this.folder, env: environment() },
    );
    this.#server = started;
    let output = "";
    for (const stream of [started.stdout, started.stderr]) {
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    }
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!output.includes("Ready on")) {
      if (started.exitCode !== null || Date.now() > deadline) throw new Error(`wrangler dev did not start:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return `http://127.0.0.1:${port}`;
  }

  async end(): Promise<void> {
    const server = this.#server;
    if (server !== undefined && server.exitCode === null && server.kill("SIGTERM")) await once(server, "exit");
    await rm(dirname(this.folder), { recursive: true, force: true });
  }
}

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The official client, in era 2026, at an endpoint; `token` is its credential. */
export async function exampleClient(url: string, token?: string): Promise<Client> {
  const client = new Client(
    { name: "example-test", version: "1" },
    { versionNegotiation: { mode: "auto" }, capabilities: { elicitation: { form: {} } } },
  );
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

export async function toolNamesOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).toSorted();
}

function environment(): NodeJS.ProcessEnv {
  return { ...shellEnvironment(), CI: "1", NO_COLOR: "1", WRANGLER_SEND_METRICS: "false" };
}
