// What `tenantry connect` prints, with the clients that it is for: the Inspector, and mcp-remote as Claude Desktop starts it. curl
// and the SDKs of TypeScript are in test/e2e/connect.test.ts. What is for Python is compiled: its packages are not npm's.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { CommandLine } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { FOREIGN, installForeign } from "../support/foreign-servers.ts";

const INSTALLED_WITHIN_MS = 180_000;
const INSPECTOR = join(FOREIGN, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const REMOTE = join(FOREIGN, "node_modules/mcp-remote/dist/proxy.js");
const TOOLS = { "*": { enabled: false }, lab_echo: { enabled: true } };

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "connected");
const run = promisify(execFile);

beforeAll(() => installForeign(), INSTALLED_WITHIN_MS);

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "connected-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

interface Printed {
  readonly text: string;
  readonly home: string;
}

/** For a tenant that wants a key. */
async function printed(client: string): Promise<Printed> {
  const id = await admin.tenant({ mode: "key", tools: TOOLS });
  const { token: key } = await admin.key(id);
  const home = await folder();
  const cli = new CommandLine(home, { HOME: home, TENANTRY_KEY: key });
  const { exit, stdout: text, stderr } = await cli.run(["connect", id, "--client", client, "--url", origin]);
  expect(exit, stderr).toBe(0);
  return { text, home };
}

test("the Inspector lists the tools with its command", async () => {
  const { text, home } = await printed("inspector");
  const script = `npx() { shift; "${process.execPath}" "${INSPECTOR}" "$@"; }\n${text}`;
  const { stdout } = await run("sh", ["-c", script], { env: { HOME: home, PATH: process.env["PATH"] } });
  expect(JSON.parse(stdout)).toMatchObject({ tools: [{ name: "lab_echo" }] });
});

test("mcp-remote, as Claude Desktop starts it, reaches the tenant with its key", async () => {
  const { text, home } = await printed("claude-desktop");
  const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, { args: string[]; env: object }> };
  const [server] = Object.values(mcpServers);
  const [yes, program, ...args] = server?.args ?? [];
  expect([yes, program]).toEqual(["-y", "mcp-remote"]);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [REMOTE, ...args],
    env: { HOME: home, PATH: "", ...server?.env },
    stderr: "ignore",
  });
  const client = new Client({ name: "connected-clients-test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["lab_echo"]);
});

test.each(["key", "open", "login"])("a program for Python is one, where callers get in by: %s", async (auth) => {
  const home = await folder();
  const cli = new CommandLine(home, { HOME: home });
  const { stdout } = await cli.run(["connect", "acme", "--client", "python", "--auth", auth, "--url", origin]);
  await writeFile(join(home, "client.py"), stdout);
  await run("python3", ["-m", "py_compile", "client.py"], { cwd: home });
});
