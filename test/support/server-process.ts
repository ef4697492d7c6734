// Programs of others that serve a port: started, waited for until they listen, and stopped.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Beside our own variables; `PORT` is added. */
  readonly env?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly withinMs: number;
}

/** Throws with the end of its stderr where it does not listen in time. */
export async function startServerProcess(program: Program): Promise<ChildProcess> {
  const { command, args, cwd, port } = program;
  const env = { ...process.env, ...program.env, PORT: String(port) };
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-4000)));
  for (const deadline = Date.now() + program.withinMs; !(await listens(port)); await wait(50)) {
    if (Date.now() < deadline && child.exitCode === null) continue;
    await stopProcess(child);
    throw new Error(`${[command, ...args].join(" ")} does not listen:\n${stderr}`);
  }
  return child;
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
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
