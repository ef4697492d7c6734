// The client that the official suite starts for a scenario, with the URL of its server as the last argument: it has a running
// gateway take that server for an upstream, and does through the gateway what the scenario asks of a client.
import { randomUUID } from "node:crypto";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ADMIN_TOKEN } from "./fixture-server.ts";

type Json = Record<string, unknown>;
type AnyClient = ClientV1 | ClientV2;

const UPSTREAM = "up";
const ABOUT = { name: "conformance-driver", version: "1.0.0" };
const READ_WITHIN_MS = 15_000;

const {
  GATEWAY = "",
  MCP_CONFORMANCE_PROTOCOL_VERSION: revision = "",
  MCP_CONFORMANCE_CONTEXT: context = "{}",
} = process.env;
const server = (process.argv.at(-1) ?? "").replace("localhost", "127.0.0.1");

async function makeTenant(): Promise<string> {
  const id = `client-${randomUUID().slice(0, 13)}`;
  const document = { mode: "open", maxStalenessMs: 50, upstreams: { [UPSTREAM]: { url: server } } };
  const answer = await fetch(`${GATEWAY}/admin/v1/tenants`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ id, document }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return `${GATEWAY}/mcp/${id}`;
}

/** A question with defaults is answered with them, and any other with yes. */
async function connect(url: string): Promise<AnyClient> {
  const elicitation = { form: { applyDefaults: true } };
  if (revision.startsWith("2026")) {
    const client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" }, capabilities: { elicitation } });
    client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { confirmed: true } }));
    await client.connect(new TransportV2(new URL(url)));
    return client;
  }
  const client = new ClientV1(ABOUT, { capabilities: { elicitation } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: {} }));
  await client.connect(new TransportV1(new URL(url)));
  return client;
}

/** A first list has nothing of the upstream: it is read beside it. */
async function untilRead(client: AnyClient): Promise<void> {
  for (const deadline = Date.now() + READ_WITHIN_MS; Date.now() < deadline;) {
    const { _meta } = await client.listTools();
    const missing = (_meta?.["tenantry/missing"] ?? []) as readonly { why: string }[];
    if (!missing.some(({ why }) => /not been read/.test(why))) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the upstream was not read");
}

/** What the scenario has to be called with; everything else is called with what it requires. */
function argumentsOf(name: string, inputSchema: Json, first: Json): Json {
  if (name === "add_numbers") return { a: 5, b: 3 };
  // The schema that came through the gateway, to be compared with the one that was sent.
  if (name === "json_schema_echo") return { schema: first };
  const required = (inputSchema["required"] ?? []) as string[];
  return Object.fromEntries(required.map((member) => [member, "test"]));
}

async function callAll(client: AnyClient): Promise<void> {
  const { toolCalls } = JSON.parse(context) as { toolCalls?: { name: string; arguments: Json }[] };
  const { tools } = await client.listTools();
  const listed = tools.map(({ name, inputSchema }) => {
    const own = name.slice(`${UPSTREAM}__`.length);
    return { name, arguments: argumentsOf(own, inputSchema, tools[0]?.inputSchema ?? {}) };
  });
  const named = toolCalls?.map((call) => ({ ...call, name: `${UPSTREAM}__${call.name}` }));
  for (const call of named ?? listed) await said(`call ${call.name}`, client.callTool(call));
}

async function readAll(client: AnyClient): Promise<void> {
  const { resources } = await client.listResources();
  for (const { uri } of resources) await said(`read ${uri}`, client.readResource({ uri }));
  const { prompts } = await client.listPrompts();
  for (const { name } of prompts) await said(`prompt ${name}`, client.getPrompt({ name, arguments: {} }));
}

/** The suite decides from what its server heard; what is printed is for who looks into a failure. */
async function said(what: string, asking: Promise<unknown>): Promise<void> {
  const answer = await asking.catch((error: unknown) => String(error));
  console.log(what, JSON.stringify(answer).slice(0, 300));
}

const client = await connect(await makeTenant());
await untilRead(client);
await callAll(client);
await readAll(client);
await client.close();
