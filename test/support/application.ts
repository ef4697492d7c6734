// Runs the application as a person does, with `npm start` in a shell that knows nothing of this repository. Not the
// fixture Worker: this is src/demo-worker.ts with its demo tenant, and it keeps what it stores.

import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import { freePort } from "../../scripts/fixture-server.ts";

const ROOT = join(import.meta.dirname, "../..");
const READY_WITHIN_MS = 90_000;
const STOPPED_WITHIN_MS = 10_000;

export interface Application {
  /** `http://localhost:PORT`, without a path. */
  readonly origin: string;
  /** The token of this start, as it is printed. */
  readonly adminToken: string;
  /** npm's process; those that it began are below it. */
  readonly pid: number | undefined;
  /** Everything it has printed. */
  output(): string;
  /** Ends npm as a process monitor does; settles when no process is left that npm began. */
  stop(): Promise<void>;
  /** Ends everything that npm began at once, as a power cut does; settles when none of it is left. */
  kill(): Promise<void>;
}

/** `npm start -- --port N --persist-to STORAGE MORE...`; settles when it says where it serves. */
export async function startApplication(
  storage: string,
  at?: number,
  more: readonly string[] = [],
): Promise<Application> {
  const port = at ?? (await freePort());
  const child = spawn("npm", ["start", "--", "--port", String(port), "--persist-to", storage, ...more], {
    cwd: ROOT,
    detached: true,
    env: shellEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const ready = new Promise<void>((resolve) => {
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("Ctrl+C")) resolve();
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
  });
  // The pipes close when the last process that holds them has ended, workerd included.
  const closed = once(child, "close").then(() => "closed" as const);
  const first = await Promise.race([ready, closed, patience(READY_WITHIN_MS)]);
  if (first !== undefined) {
    endGroup(child);
    throw new Error(`npm start did not come up (${first}):\n${output}`);
  }
  return {
    origin: `http://localhost:${port}`,
    adminToken: /Admin token\s+(\S+)/.exec(output)?.[1] ?? "",
    pid: child.pid,
    output: () => output,
    stop: async () => {
      child.kill("SIGTERM");
      if ((await Promise.race([closed, patience(STOPPED_WITHIN_MS)])) === "closed") return;
      endGroup(child);
      throw new Error("ending npm left processes behind");
    },
    kill: async () => {
      endGroup(child);
      await closed;
    },
  };
}

/** What a new terminal would have: neither npm's nor vitest's variables, and no node_modules/.bin in the path. */
export function shellEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV$|NODE_OPTIONS$)/.test(name));
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...Object.fromEntries(own), PATH: path.join(delimiter) };
}

async function patience(milliseconds: number): Promise<"too late"> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds, "too late").unref();
  });
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nobody is left in the group, which is what was wanted.
  }
}
