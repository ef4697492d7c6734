// Everything that servers of others offer, through a gateway: both official clients and mcp-remote are answered what the same
// client is answered by the server itself.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import {
  FOREIGN,
  installForeign,
  startForeignWorker,
  startProgram,
  type ForeignServer,
} from "../support/foreign-servers.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { logsOf, progressOf, survey, type AnyClient } from "./server-survey.ts";

await installForeign();
const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "foreign");
const ABOUT = { name: "foreign-test", version: "1" };

interface Row {
  readonly server: string;
  readonly start: () => Promise<ForeignServer>;
  readonly gateways?: number;
  /** A tool that tells progress, and one that logs; absent: the server has no such tool. */
  readonly progress: string;
  readonly logs?: string;
  /** Its log messages come on a stream that stands open beside the call. */
  readonly logsBeside?: true;
}

const EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const SESSIONS = { durableObjects: { MCP_OBJECT: "Everything" } };
const TELLS = { progress: "slow_steps", logs: "write_log" };
const SDK = { server: "official SDK v2", ...TELLS };

const ROWS: readonly Row[] = [
  { ...SDK, start: () => startProgram("sdk-2.ts") },
  { ...SDK, start: () => startProgram("sdk-2.ts"), gateways: 3 },
  {
    server: "server-everything",
    start: () => startProgram(EVERYTHING, ["streamableHttp"]),
    progress: "trigger-long-running-operation",
  },
  { server: "FastMCP", start: () => startProgram("fastmcp.ts"), ...TELLS, logsBeside: true },
  { server: "mcp-lite", start: () => startProgram("mcp-lite.ts"), progress: "slow_steps" },
  {
    server: "`McpAgent` of agents",
    start: () => startForeignWorker("agents-session.ts", SESSIONS),
    ...TELLS,
  },
  {
    server: "`createMcpHandler` of agents",
    start: () => startForeignWorker("agents-handler.ts"),
    ...TELLS,
  },
];

interface Place {
  readonly url: string;
  /** What stands before the server's own names. */
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function connectV1({ url, headers }: Place): Promise<ClientV1> {
  const client = new ClientV1(ABOUT);
  await client.connect(new TransportV1(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

async function connectV2({ url, headers }: Place): Promise<ClientV2> {
  const client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } });
  await client.connect(new TransportV2(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** As a person's client starts it: it keeps what it knows of a server in its home. */
async function connectRemote({ url, headers }: Place): Promise<ClientV1> {
  const home = mkdtempSync(join(tmpdir(), "tenantry-home-"));
  const proxy = join(FOREIGN, "node_modules/mcp-remote/dist/proxy.js");
  const lines = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
  const args = [proxy, url, "--allow-http", "--silent", ...lines];
  const client = new ClientV1(ABOUT);
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { HOME: home } }));
  onTestFinished(async () => {
    await client.close();
    rmSync(home, { recursive: true, force: true });
  });
  return client;
}

const OFFICIAL = [
  ["the v1 client", connectV1],
  ["the v2 client", connectV2],
] as const;
const CLIENTS = [...OFFICIAL, ["mcp-remote", connectRemote]] as const;

/** The tenant in front; each asker brings a key, whose calls share a session at the upstream that nobody else has. */
async function throughGateways(url: string, gateways: number): Promise<() => Promise<Place>> {
  let at = { url, prefix: "", tenant: "" };
  for (let depth = 1; depth <= gateways; depth += 1) {
    const id = `g${depth}`;
    const made = await gatewayTenant(origin, admin, { [id]: { url: at.url } });
    at = { url: made.url, prefix: `${id}__${at.prefix}`, tenant: made.id };
  }
  return async () => ({ ...at, headers: bearer((await admin.key(at.tenant)).token) });
}

describe.each(ROWS.map((row) => ({ gateways: 1, ...row })))("$server behind $gateways of ours", (row) => {
  const { gateways, progress, logs, logsBeside = false } = row;
  let server: ForeignServer;
  let there: Place;
  let come: () => Promise<Place>;
  beforeAll(async () => {
    server = await row.start();
    there = { url: server.url, prefix: "", headers: {} };
    come = await throughGateways(server.url, gateways);
  });
  afterAll(() => server.stop());

  test.each(CLIENTS)("answers %s as it does without a gateway", async (_name, connect) => {
    const here = await come();
    const direct: AnyClient = await connect(there);
    const through: AnyClient = await connect(here);
    const completes = direct.getServerCapabilities()?.completions !== undefined;
    const expected = await survey(direct, { prefix: "", completes });
    expect(await survey(through, { prefix: here.prefix, completes })).toEqual(expected);
    expect(expected.listed.tools.length * expected.listed.prompts.length).toBeGreaterThan(0);
    expect(expected.listed.resources.length * expected.listed.templates.length).toBeGreaterThan(0);
  });

  // mcp-remote itself loses some where they come fast.
  test.each(OFFICIAL)("tells its progress to %s", async (_name, connect) => {
    const here = await come();
    const values = await progressOf(await connect(here), `${here.prefix}${progress}`);
    expect(values).toEqual([1, 2, 3]);
    expect(values).toEqual(await progressOf(await connect(there), progress));
  });

  test("logs as far as its messages come on the stream of the call, and completes", async () => {
    const here = await come();
    const direct = await connectV1(there);
    const through = await connectV1(here);
    if (logs !== undefined) {
      expect(await logsOf(direct, logs)).toHaveLength(3);
      expect(await logsOf(through, `${here.prefix}${logs}`)).toHaveLength(logsBeside ? 0 : 3);
    }
    if (direct.getServerCapabilities()?.completions !== undefined) return;
    const [prompt] = (await through.listPrompts()).prompts;
    const ref = { type: "ref/prompt" as const, name: prompt?.name ?? "" };
    // What does not complete has nothing to complete: no client is refused for asking.
    const { completion } = await through.complete({ ref, argument: { name: "none", value: "" } });
    expect(completion.values).toEqual([]);
  });
});
