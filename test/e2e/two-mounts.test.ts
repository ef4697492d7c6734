// Two deployments in one script: a call of one never runs, nor is let in, as a call of the other.

import { afterAll, beforeAll, expect, test } from "vitest";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, client2026 } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

let worker: OneWorker;
beforeAll(async () => {
  worker = await startWorker(await bundleWorker("two-mounts-worker"));
});
afterAll(() => worker.stop());

/** What a resumable call says last; a session's object stores it, and has it run by the class that is exported. */
async function reported(path: string, name = "report"): Promise<string> {
  const url = `${worker.origin}${path}`;
  const call = await ResumableCall.begin(url, await client2025(url), { id: "c", params: { name, arguments: {} } });
  const last = await call.next();
  await call.drop();
  return JSON.stringify(last);
}

test.each([
  ["/one/mcp/shared", "report", 'one for shared with \\\\\\"the DSN of one\\\\\\"'],
  ["/two/mcp/shared", "report", "two for shared with null"],
  ["/two/mcp/shared", "only_two", "two for shared"],
  ["/two/mcp/keyed", "report", "two for keyed"],
  ["/two/mcp/mine", "only_two", "two for mine"],
])("a stored call at %s of %s runs there", async (path, name, says) => {
  expect(await reported(path, name)).toContain(says.replaceAll('\\\\\\"', '\\"'));
});

test("a tenant of the other deployment is not served because this isolate has just served it there", async () => {
  const status = async (path: string) => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const headers = { "content-type": "application/json" };
    return (await fetch(`${worker.origin}${path}`, { method: "POST", headers, body })).status;
  };
  await client2026(`${worker.origin}/two/mcp/mine`).request("tools/list");
  expect(await status("/one/mcp/mine")).toBe(await status("/one/mcp/nobody"));
  expect(await status("/two/mcp/mine")).toBe(200);
});
