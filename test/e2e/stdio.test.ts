// `tenantry stdio` before real Workers: the official clients over the bridge, and a server that starts and stops with it.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { isRunning, MAIN, startV1, startV2 } from "../support/official-stdio-clients.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;
const ROOT = join(import.meta.dirname, "../..");

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }, ...rest: never[]): Promise<object>;
}

const CLIENTS = [
  { title: "v1", start: startV1, revision: "2025-11-25" },
  { title: "v2", start: startV2, revision: "2026-07-28" },
] as const;

describe.each(CLIENTS)("the official $title client over the bridge", ({ start, revision }) => {
  test(`speaks ${revision}, lists and calls, and sees progress and errors`, async () => {
    const { client, faults, pid } = await start([lab]);
    expect((await (client as AnyClient).listTools()).tools.map(({ name }) => name)).toContain("lab_steps");
    const seen: number[] = [];
    const options = { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) };
    const call = { name: "lab_steps", arguments: { steps: 3, everyMs: 20 } };
    const result = await (client as AnyClient).callTool(
      call,
      ...((start === startV1 ? [undefined, options] : [options]) as never[]),
    );
    expect(result).toMatchObject({ content: [{ type: "text", text: "3 steps" }] });
    expect(seen).not.toEqual([]);
    await expect(client.readResource({ uri: "lab://nowhere" })).rejects.toThrow(/not found/i);
    await client.close();
    expect({ faults, running: isRunning(pid) }).toEqual({ faults: [], running: false });
  });
});

test.each([
  { what: "nothing", input: "", answers: [] },
  {
    what: "garbage between two pings",
    input: ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "garbage", "", '{"jsonrpc":"2.0","id":2,"method":"ping"}'].join(
      "\n",
    ),
    answers: [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
      { jsonrpc: "2.0", id: null, error: { code: -32700, message: "a line is not JSON" } },
    ],
  },
])("a client that says $what and closes stdin: exit 0, messages on stdout, the log on stderr", ({ input, answers }) => {
  const args = [MAIN, "stdio", "lab", "--url", fixtureOrigin()];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { input, encoding: "utf8" });
  const lines = stdout.split("\n").filter((line) => line !== "");
  // Each is answered as soon as it can be.
  expect(lines.toSorted().map((line) => JSON.parse(line) as unknown)).toEqual(answers);
  expect(status).toBe(0);
  expect(stderr).toContain(`tenantry: serving ${lab} on stdin and stdout\n`);
  expect(stderr.split("\n").every((line) => line === "" || line.startsWith("tenantry: "))).toBe(true);
});

describe("with --local", () => {
  let state: string;

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), "tenantry-local-"));
  });

  afterAll(() => rm(state, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

  test("a server starts and stops with the client, and keeps what it stored for the next one", async () => {
    const args = ["--local", "--project", ROOT, "--state", state];
    const first = await startV1(args);
    const note = { title: "Kept", text: "By the local server." };
    await first.client.callTool({ name: "note_write", arguments: note });
    const keeper = await keeperOf(state);
    expect(isRunning(keeper)).toBe(true);
    const other = spawnSync(process.execPath, [MAIN, "stdio", ...args], { input: "", encoding: "utf8" });
    expect({ status: other.status, stdout: other.stdout }).toEqual({ status: 6, stdout: "" });
    expect(other.stderr).toContain(`is in use by process ${keeper}`);
    await first.client.close();
    await gone(keeper);
    expect(processesOf(state)).toEqual([]);

    const client = new ClientV2(
      { name: "local", version: "1" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
    );
    client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { confirm: true } }));
    const second = await startV2([...args, "demo"], client);
    const listed = (await client.callTool({ name: "note_list", arguments: {} })) as { structuredContent?: unknown };
    const { notes } = listed.structuredContent as { notes: { id: string; title: string }[] };
    expect(notes).toMatchObject([{ title: "Kept" }]);
    const id = notes[0]?.id ?? "";
    const deleted = await client.callTool({ name: "note_delete", arguments: { id } });
    expect(deleted).toMatchObject({ structuredContent: { id, deleted: true } });
    await client.close();
    expect(second.faults).toEqual([]);
  });

  test("nothing is left when the bridge is killed without a chance to clean up", async () => {
    const bridge = spawn(process.execPath, [MAIN, "stdio", "--local", "--project", ROOT, "--state", state], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    bridge.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    const [line] = (await once(createInterface({ input: bridge.stdout }), "line")) as [string];
    expect(JSON.parse(line)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    const keeper = await keeperOf(state);
    bridge.kill("SIGKILL");
    await gone(keeper);
    expect(processesOf(state)).toEqual([]);
  });
});

/** The first of those that hold the folder. */
async function keeperOf(state: string): Promise<number> {
  const { runs } = JSON.parse(await readFile(join(state, "server.pid"), "utf8")) as { runs: { pid: number }[] };
  return runs[0]?.pid ?? 0;
}

/** A process that is not our child can only be looked at. */
async function gone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Command lines that name this folder. */
function processesOf(folder: string): string[] {
  const { stdout } = spawnSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return stdout.split("\n").filter((line) => line.includes(folder));
}
