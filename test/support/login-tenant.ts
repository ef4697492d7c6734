// A Worker whose tenants take tokens of authorization servers on this machine, and asking it as their bearers do.

import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "./start-worker.ts";
import { bearer } from "./fixture-admin.ts";
import { client2026, mcpClient, type Client, type Json } from "./mcp-client.ts";
import { sendRaw, write, type RawReply } from "./raw-http.ts";

/** `{tenant}.` before it names a tenant. */
export const LOGIN_HOST = "mcp.login.example";

const VARS = {
  ADMIN_TOKEN,
  OUTBOUND_LOCAL: "http://127.0.0.1",
  TENANT_HOST: LOGIN_HOST,
  /** 32 bytes that seal the secrets of its tenants. */
  SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
};

/** As deployed, but with servers of this machine for issuers. Shared with the files that ask for the same. */
export async function startLoginWorker(
  more: Readonly<Record<string, string>> = {},
  entry: "login-worker" | "acting-worker" | "bounded-worker" = "login-worker",
): ReturnType<typeof sharedWorker> {
  return sharedWorker(entry, { ...VARS, ...more });
}

/** One `tools/list`, in one request. */
export async function listAs(url: string, revision: string, token?: string): Promise<RawReply> {
  const { headers, body } = write(revision, "tools/list");
  const always = token === undefined ? {} : bearer(token);
  return sendRaw(url, { headers: { ...headers, ...always }, body: JSON.stringify(body) });
}

/** What the tool says of its caller, for a client of the era: with a session where there is one. */
export async function whoamiAs(url: string, revision: string, token: string, tool = "whoami"): Promise<Json> {
  return JSON.parse(await toolText(await mcpClient(revision, url, {}, bearer(token)), tool)) as Json;
}

/** For a client that wants to hear of progress. */
export async function actingClient(url: string, revision: string, token?: string): Promise<Client> {
  const always = token === undefined ? {} : bearer(token);
  return revision === "2026-07-28"
    ? client2026(url, {}, { progressToken: "p" }, always)
    : mcpClient(revision, url, {}, always);
}

/** The text that a tool answers. */
export async function toolText(client: Client, tool: string, args: Json = {}): Promise<string> {
  const { result, text, headers } = await client.request("tools/call", {
    name: tool,
    arguments: args,
    _meta: { progressToken: crypto.randomUUID() },
  });
  if (tool.endsWith("_streamed") && headers.get("content-type") !== "text/event-stream") throw new Error("no stream");
  const [said] = (result["content"] ?? []) as { text: string }[];
  if (!said) throw new Error(`no answer: ${text}`);
  return said.text;
}
