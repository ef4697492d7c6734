// An app that mounts the Worker and does not hand on all that it was given: its author is told what, and no client is told that
// what it sent is no JSON.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, type Env } from "../../src/tenantry.ts";

const ctx = createExecutionContext();
const WANTS = "fetch needs three arguments: request, env, ctx. In Hono, write fetch(c.req.raw, c.env, c.executionCtx)";
const READ = "your app has already read the request body: read request.clone() instead";

function requestOf(): Request {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  return new Request("https://mcp.example.com/mcp/coded", { method: "POST", headers, body });
}

async function readBefore(): Promise<Request> {
  const request = requestOf();
  await request.json();
  return request;
}

type Handed = Parameters<ReturnType<typeof createWorker>["fetch"]>;

it.each<[what: string, hand: () => Promise<readonly unknown[]>, says: string]>([
  ["no ctx", async () => [requestOf(), env], WANTS],
  ["neither ctx nor bindings", async () => [requestOf()], WANTS],
  ["a body that it has read", async () => [await readBefore(), env, ctx], READ],
])("a Worker that gets %s reports it, also after a complete request", async (_what, hand, says) => {
  const notifications: string[] = [];
  const mcp = createWorker({
    tenants: { coded: {} },
    hooks: { onError: (error) => notifications.push((error as Error).message) },
  });
  const whole: Handed = [requestOf(), env as Env, ctx];
  for (const expected of [500, 200, 500]) {
    const handed = expected === 200 ? whole : ((await hand()) as unknown as Handed);
    const answered = await mcp.fetch(...handed);
    const text = await answered.text();
    if (says === READ || expected === 200) expect(answered.status).toBe(expected);
    expect(text.includes(says)).toBe(expected === 500);
    expect(text).not.toContain("Parse error");
  }
  expect(notifications).toEqual([says]);
});
