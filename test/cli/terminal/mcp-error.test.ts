// What a person reads where an endpoint has people log in: what this command wants instead, and never a key that cannot help.

import { describe, expect, test } from "vitest";
import { CommandLine } from "../../support/command-line.ts";
import { StdioClient } from "../../support/stdio-client.ts";
import { ScriptedServer, type Exchange } from "../../support/scripted-server.ts";

const METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp/acme";
const LOG_IN =
  "people log in here with an MCP client that opens a browser; this command needs an access token, or a key if the tenant takes keys";
const NOTHING = `(no key or token: ${LOG_IN}: set TENANTRY_KEY or give --key-file)`;

const challenged = (challenge: string) => (one: Exchange) => {
  const error = { code: -32600, message: "Authorization required" };
  one.json({ jsonrpc: "2.0", id: one.message["id"] as string, error }, 401, { "www-authenticate": challenge });
};

describe.each([["call"], ["listen"]])("tenantry %s", (command) => {
  test.each([
    { challenge: `Bearer realm="x", resource_metadata="${METADATA}"`, args: [], says: NOTHING },
    { challenge: `bearer Resource_Metadata=${METADATA}`, args: [], says: NOTHING },
    { challenge: `Bearer resource_metadata="${METADATA}"`, args: ["--key", "tnt_1"], says: `(${LOG_IN})` },
    {
      challenge: 'Bearer realm="x"',
      args: [],
      says: "(no key: set TENANTRY_KEY or give --key-file; tenantry key create TENANT makes a key)",
    },
    {
      challenge: 'Bearer no_resource_metadata="x"',
      args: [],
      says: "(no key: set TENANTRY_KEY or give --key-file; tenantry key create TENANT makes a key)",
    },
    {
      challenge: 'Bearer realm="x"',
      args: ["--key", "tnt_1"],
      says: "(the key of --key was refused; give no key if the endpoint is open)",
    },
  ])("refused with $challenge and $args says what to bring", async ({ challenge, args, says }) => {
    const { url } = await ScriptedServer.start(challenged(challenge));
    const { exit, stderr } = await new CommandLine("/", { HOME: "/nowhere" }).run([command, url, ...args]);
    expect({ exit, stderr }).toEqual({ exit: 4, stderr: `tenantry: Authorization required ${says}\n` });
  });
});

test("a key of the environment that is refused is named, as a later shell may not know of it", async () => {
  const { url } = await ScriptedServer.start(challenged('Bearer realm="x"'));
  const { stderr } = await new CommandLine("/", { HOME: "/nowhere", TENANTRY_KEY: "tnt_1" }).run(["call", url]);
  expect(stderr).toBe(
    "tenantry: Authorization required (the key of TENANTRY_KEY was refused; give no key if the endpoint is open)\n",
  );
});

test.each([
  ["2025", "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } }],
  ["2026", "tools/list", {}],
])("a client of era %s behind tenantry stdio finds it in its log", async (_era, method, params) => {
  const { url } = await ScriptedServer.start(challenged(`Bearer resource_metadata="${METADATA}"`));
  const client = new StdioClient(["stdio", url]);
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  client.send({ id: 1, method, params: method === "initialize" ? params : { _meta } });
  await client.next();
  await client.end();
  expect(client.stderr).toContain(NOTHING);
});
