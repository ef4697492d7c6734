// The official clients at the other end of a `tenantry stdio` that they start themselves, as a person's client does.

import { join } from "node:path";
import type { Stream } from "node:stream";
import { Client as ClientV2, type ConnectOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport as TransportV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { onTestFinished } from "vitest";

export const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const ABOUT = { name: "stdio-test", version: "1" };

export interface Started<Client> {
  readonly client: Client;
  readonly pid: number;
  /** Whatever was not MCP on stdout. */
  readonly faults: Error[];
  /** Until stderr has this; what its first group matches. */
  readonly said: (pattern: RegExp) => Promise<string>;
}

function parameters(args: readonly string[]) {
  return { command: process.execPath, args: [MAIN, "stdio", ...args], cwd: "/", stderr: "pipe" as const };
}

function hear(stderr: Stream | null): Started<unknown>["said"] {
  let all = "";
  const waiting: (() => void)[] = [];
  stderr?.on("data", (chunk: Buffer) => {
    all += chunk.toString();
    for (const wake of waiting.splice(0)) wake();
  });
  return async (pattern) => {
    for (;;) {
      const found = pattern.exec(all);
      if (found) return found[1] ?? "";
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
}

/** With `--local` a Worker is built first. */
const STARTED_WITHIN_MS = 240_000;

export async function startV1(
  args: readonly string[],
  client = new ClientV1(ABOUT),
): Promise<Started<ClientV1> & { transport: TransportV1 }> {
  const transport = new TransportV1(parameters(args));
  const untilLogged = hear(transport.stderr);
  const faults: Error[] = [];
  Object.assign(client, { onerror: (error: Error) => void faults.push(error) });
  await client.connect(transport, { timeout: STARTED_WITHIN_MS });
  onTestFinished(() => client.close());
  return { client, transport, faults, said: untilLogged, pid: transport.pid ?? 0 };
}

export async function startV2(
  args: readonly string[],
  client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } }),
  options: ConnectOptions = {},
): Promise<Started<ClientV2>> {
  const transport = new TransportV2(parameters(args));
  const untilLogged = hear(transport.stderr);
  const faults: Error[] = [];
  Object.assign(client, { onerror: (error: Error) => void faults.push(error) });
  await client.connect(transport, { timeout: STARTED_WITHIN_MS, ...options });
  onTestFinished(() => client.close());
  return { client, faults, said: untilLogged, pid: transport.pid ?? 0 };
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
