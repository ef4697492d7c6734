// Of two mounted deployments the first one did what objects began for tenants: those in the second one's code were not known there.
// Their webhooks were never sent, and a rollout of their base was "done" without them.

import { beforeAll, afterAll, expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { startLocalServer, type LocalServer } from "../support/local-server.ts";
import { client2026 } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

const TENANTS = [
  ["/one", "first"],
  ["/two", "second"],
] as const;

const requests: string[] = [];
let receiver: LocalServer;
let worker: OneWorker;
beforeAll(async () => {
  receiver = await startLocalServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      requests.push(text);
      response.writeHead(204).end();
    });
  });
  const vars = { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1", HOOK_URL: `${receiver.origin}/` };
  worker = await startWorker(await bundleWorker("mounts-worker"), { vars });
});
afterAll(async () => {
  await worker.stop();
  receiver.stop();
});

async function admin(mount: string, method: string, path: string, json: unknown): Promise<string> {
  const answer = await fetch(`${worker.origin}${mount}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${text}`);
  return text;
}

test.each(TENANTS)("at %s, webhooks of %s are sent", async (mount, tenant) => {
  const client = client2026(`${worker.origin}${mount}/mcp/${tenant}`);
  for (let call = 0; call < 5; call += 1) await client.request("tools/call", { name: "report", arguments: {} });
  await expect.poll(() => requests.filter((text) => text.includes(`"tenant":"${tenant}"`)).length).toBe(1);
});

test("a base that is rolled out is in the tenants of both", async () => {
  await admin("/two", "PUT", "/bases/house", { title: "House 1" });
  for (const [mount, tenant] of TENANTS)
    await admin(mount, "PUT", `/tenants/${tenant}/document`, { extends: ["house"] });
  await admin("/two", "PUT", "/bases/house", { title: "House 2" });
  const begun = await admin("/two", "POST", "/bases/house/rollout", {});
  const version = String((JSON.parse(begun) as { rollout: number }).rollout);
  await expect.poll(() => admin("/two", "GET", `/rollouts/${version}`, undefined)).toContain('"state":"done"');
  for (const [mount, tenant] of TENANTS)
    expect(await admin(mount, "GET", `/tenants/${tenant}`, undefined)).toContain('"title":"House 2"');
});
