// Owns a Worker whose tenants take tokens of authorization servers on this machine, and asking it as their bearers do.
// Refuses assertions.

import { afterAll } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { bundleWorker, startWorker, type OneWorker } from "./worker-bundle.ts";
import { bearer } from "./fixture-admin.ts";
import { clientOf, type Json } from "./mcp.ts";
import { sendRaw, write, type RawReply } from "./raw-http.ts";

/** `{tenant}.` before it names a tenant. */
export const LOGIN_HOST = "mcp.login.example";

/** As deployed, but with servers of this machine for issuers. Stops after the tests of the file. */
export async function startLoginWorker(): Promise<OneWorker> {
  const modules = await bundleWorker("login-worker");
  const vars = { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1", TENANT_HOST: LOGIN_HOST };
  const worker = await startWorker(modules, { vars });
  afterAll(() => worker.stop());
  return worker;
}

/** One `tools/list`, in one request. */
export async function listAs(url: string, revision: string, token?: string): Promise<RawReply> {
  const { headers, body } = write(revision, "tools/list");
  const always = token === undefined ? {} : bearer(token);
  return sendRaw(url, { headers: { ...headers, ...always }, body: JSON.stringify(body) });
}

/** What the tool says of its caller, for a client of the era: with a session where there is one. */
export async function whoamiAs(url: string, revision: string, token: string, tool = "whoami"): Promise<Json> {
  const client = await clientOf(revision, url, {}, bearer(token));
  const { result, text } = await client.request("tools/call", { name: tool, arguments: {} });
  const [said] = (result["content"] ?? []) as { text: string }[];
  if (!said) throw new Error(`no answer: ${text}`);
  return JSON.parse(said.text) as Json;
}
