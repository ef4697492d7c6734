// Runs the command line in tests: inside this process with streams that remember, or as a process that can be killed.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { runCommandLine } from "../../src/cli/program.ts";
import type { ProcessContext } from "../../src/cli/terminal/terminal.ts";
import { FakeAdmin, TOKEN } from "./fake-admin.ts";

export interface Ended {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Around {
  readonly env?: Record<string, string>;
  readonly stdin?: string | Buffer;
  /** A person sits there; `stdin` is what they type. */
  readonly tty?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  onStderr?(text: string): void;
}

export class CommandLine {
  readonly folder: string;
  readonly env: Record<string, string>;

  constructor(folder: string, env: Record<string, string>) {
    this.folder = folder;
    this.env = env;
  }

  async run(args: readonly string[], around: Around = {}): Promise<Ended> {
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    const shape = { isTTY: around.tty ?? false, columns: around.columns ?? 100 };
    const stdin = Object.assign(Readable.from([Buffer.from(around.stdin ?? "")]), { isTTY: around.tty ?? false });
    const terminal: ProcessContext = {
      stdout: { ...shape, write: (chunk) => out.push(Buffer.from(chunk)) },
      stderr: {
        ...shape,
        write: (chunk) => {
          errors.push(Buffer.from(chunk));
          around.onStderr?.(chunk.toString());
        },
      },
      stdin,
      env: { ...this.env, ...around.env },
      cwd: this.folder,
      signal: around.signal ?? new AbortController().signal,
    };
    const exit = await runCommandLine(args, terminal);
    return { exit, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(errors).toString() };
  }

  /** The parsed output of `--json`. */
  async json<T>(...args: string[]): Promise<T> {
    const { exit, stdout, stderr } = await this.run([...args, "--json"]);
    if (exit !== 0) throw new Error(`exit ${exit}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** As a process of its own, from its start to its end. */
  async execute(args: readonly string[]): Promise<Ended> {
    const child = this.spawn(args);
    const [exit, stdout, stderr] = await Promise.all([
      new Promise<number>((resolve) => {
        child.once("close", (code) => resolve(code ?? -1));
      }),
      textOf(child.stdout),
      textOf(child.stderr),
    ]);
    return { exit, stdout, stderr };
  }

  /** What it prints, where it must succeed. */
  async print(...args: string[]): Promise<string> {
    const { exit, stdout, stderr } = await this.execute(args);
    if (exit !== 0) throw new Error(`tenantry ${args.join(" ")}: exit ${exit}: ${stderr}`);
    return stdout;
  }

  spawn(args: readonly string[]): ChildProcess {
    const main = join(import.meta.dirname, "../../src/cli/main.ts");
    const env = { PATH: process.env["PATH"] ?? "", ...this.env };
    return spawn(process.execPath, [main, ...args], { cwd: this.folder, env, stdio: ["ignore", "pipe", "pipe"] });
  }
}

async function textOf(stream: Readable | null): Promise<string> {
  return stream === null ? "" : text(stream);
}

/** A fake server, an empty folder to work in, and a command line that knows both; gone when the test ends. */
export async function commandLine(): Promise<{ admin: FakeAdmin; cli: CommandLine; folder: string }> {
  const admin = new FakeAdmin();
  await admin.start();
  const folder = await mkdtemp(join(tmpdir(), "tenantry-cli-"));
  onTestFinished(async () => {
    await admin.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const env = { HOME: folder, TENANTRY_URL: admin.url, TENANTRY_TOKEN: TOKEN };
  return { admin, folder, cli: new CommandLine(folder, env) };
}
