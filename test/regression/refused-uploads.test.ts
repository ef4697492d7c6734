// What is refused for its headers, its address or its method is answered while its client still sends, and the client is let
// go: also behind the proxies of `npm start`, which keep both waiting for a body that nobody gives up.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApplication, type Application } from "../support/application.ts";
import { write } from "../support/raw-http.ts";
import { SlowClient, statusIn } from "../support/slow-client.ts";

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
/** Far more than an answer takes where everything is busy. A body that stops is ended sooner than that, and the answer says so. */
const LET_GO_WITHIN_MS = 60_000;
const IT_STOPPED = 408;
const KEPT = "nothing, and the connection was kept";
const JSON_TYPE = { "content-type": "application/json" };
/** Replaced by the token of this start. */
const OPERATOR = { ...JSON_TYPE, authorization: "" };

/**
 * What is answered to 4 MiB without their last byte, which is more than the way to a Worker that does not read has room for. Nothing,
 * where the connection ends while bytes are on their way.
 */
async function answerOf(path: string, method: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const signed =
    "authorization" in headers ? { ...headers, authorization: `Bearer ${application.adminToken}` } : headers;
  const body = " ".repeat(4 * MIB - 1);
  const client = new SlowClient(`${application.origin}${path}`, { method, headers: signed, body, declared: 4 * MIB });
  const late = new Promise<string>((resolve) => setTimeout(resolve, LET_GO_WITHIN_MS, KEPT));
  const text = await Promise.race([client.until(/^HTTP\/1\.1 \d{3}/), late]);
  client.leave();
  return text;
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
  const answers = await Promise.all(Array.from({ length: 20 }, () => answerOf(path, method, headers)));
  expect(answers.filter((text) => text === KEPT || statusIn(text) === IT_STOPPED)).toEqual([]);
});
