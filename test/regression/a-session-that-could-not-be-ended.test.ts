// DELETE of a session was noted as done in its isolate before the tenant's object had stored it: 503, then 404, and other isolates
// served the session on. A POST to an HTTP+SSE session waited as long as the session's object, or its stream, said nothing.

import { expect, test } from "vitest";
import { mcpClient } from "../support/mcp-client.ts";
import { sendRaw, write } from "../support/raw-http.ts";
import { connectSse } from "../support/sse-connection.ts";
import { workerPairWithFaults } from "../support/worker-pair-with-faults.ts";

const TENANT = "ending";
const REVISION = "2025-11-25";
/** So long the fixture has an object say nothing, after which it refuses. */
const HANGS_MS = 8000;

const makeTenant = (worker: ReturnType<typeof one>) =>
  worker.admin("POST", "/tenants", { id: TENANT, document: { mode: "open", maxStalenessMs: 10_000 } });
const { one, injectFaults } = workerPairWithFaults({}, makeTenant);
const url = () => `${one().origin}/mcp/${TENANT}`;

test("a session that could not be ended goes on, and is ended by the next DELETE", async () => {
  const begun = await mcpClient(REVISION, url());
  const headers = { ...write(REVISION, "ping").headers, "mcp-session-id": begun.headers["mcp-session-id"] ?? "" };
  const end = async () => (await sendRaw(url(), { method: "DELETE", headers })).status;
  const ping = async () =>
    (await sendRaw(url(), { headers, body: JSON.stringify(write(REVISION, "ping").body) })).status;
  await one().cutOff(TENANT);
  expect([await end(), await end(), await ping()]).toEqual([503, 503, 200]);
  await one().reconnect(TENANT);
  expect([await end(), await ping()]).toEqual([204, 404]);
});

test("a POST does not wait for an object that says nothing", async () => {
  const connection = await connectSse(url());
  await connection.request(1, "ping");
  await injectFaults({ "SessionObject deliver": "hung" });
  const since = performance.now();
  const { status } = await connection.send({ jsonrpc: "2.0", id: 2, method: "ping" });
  expect(status).toBe(202);
  expect(performance.now() - since).toBeLessThan(HANGS_MS);
  expect((await connection.event(2)).message).toHaveProperty("result");
});
