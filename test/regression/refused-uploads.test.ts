// What is refused for its headers, its address or its method is answered while its client still sends, and the client is let
// go: also behind the proxies of `npm start`, which keep both waiting for a body that nobody gives up.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApplication, type Application } from "../support/application.ts";
import { write } from "../support/raw-http.ts";
import { SlowClient } from "../support/slow-client.ts";

let folder: string;
let application: Application;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tenantry-refused-"));
  application = await startApplication(folder);
});
afterAll(async () => {
  await application.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const MIB = 1024 * 1024;
/** Far more than an answer takes, and less than what ends a body that stops. */
const SOON_MS = 8000;
const JSON_TYPE = { "content-type": "application/json" };
/** Replaced by the token of this start. */
const OPERATOR = { ...JSON_TYPE, authorization: "" };

/** Of 4 MiB all but one byte; more than there is room for between a client and a Worker that does not read. */
async function isLetGo(path: string, method: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const signed =
    "authorization" in headers ? { ...headers, authorization: `Bearer ${application.adminToken}` } : headers;
  const body = " ".repeat(4 * MIB - 1);
  const client = new SlowClient(`${application.origin}${path}`, { method, headers: signed, body, declared: 4 * MIB });
  const ended = client.until("HTTP").then(() => true);
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, SOON_MS, false));
  const first = await Promise.race([ended, late]);
  client.leave();
  return first;
}

const mcp = write("2026-07-28", "tools/list").headers;

test.each([
  ["a path that nobody serves", "/nowhere", "POST", mcp],
  ["no tenant", "/mcp/demo/a/b", "POST", mcp],
  ["an unknown tenant", "/mcp/nobody", "POST", mcp],
  ["an origin that is not allowed", "/mcp/demo", "POST", { ...mcp, origin: "https://evil.example" }],
  ["a method that has no body", "/mcp/demo", "PUT", mcp],
  ["the end of a session that there is not", "/mcp/demo", "DELETE", mcp],
  ["a method that the gateway's endpoint has not", "/gateway/demo", "PUT", mcp],
  ["an operator without a token", "/admin/v1/tenants", "POST", JSON_TYPE],
  ["a route that there is not", "/admin/v1/nothing", "POST", OPERATOR],
  ["a parameter that there is not", "/admin/v1/tenants?nothing=1", "POST", OPERATOR],
  ["a route that takes no body", "/admin/v1/tenants/nobody", "DELETE", OPERATOR],
])("%s: who uploads to it is let go at once", async (_what, path, method, headers) => {
  const clients = Array.from({ length: 20 }, () => isLetGo(path, method, headers));
  expect(await Promise.all(clients)).not.toContain(false);
});
