// tenantry under a path of somebody's Hono app, between their middleware: everything works there that works at the root, and
// whatever names a URL names the one that the client has.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEvents } from "../support/event-reader.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, client2026, mcpClient, ERAS, post, type Json } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

const ADMIN_TOKEN = "admin-token-of-a-mounted-worker-0123456789";

let worker: OneWorker;
beforeAll(async () => {
  worker = await startWorker(await bundleWorker("mounted-worker"), { vars: { ADMIN_TOKEN } });
});
afterAll(() => worker.stop());

describe.each(["/ai", "/cut"])("under %s", (path) => {
  const url = () => `${worker.origin}${path}/mcp/acme`;
  const call = (name: string, key: string) =>
    client2026(url()).request("tools/call", { name, arguments: { key: `${path}-${key}`.replaceAll("/", "") } });

  test.each(ERAS)("era $era is served, and the app's middleware runs around it", async ({ revision }) => {
    const { result, headers } = await (await mcpClient(revision, url())).request("tools/list");
    expect((result.tools as Json[]).map(({ name }) => name)).toEqual(["wait", "open"]);
    expect(headers.get("x-app")).toBe("mine");
  });

  test("the app may refuse before", async () => {
    const response = await fetch(url(), { method: "POST", headers: { "x-blocked": "1" }, body: "{}" });
    expect([response.status, await response.text()]).toEqual([418, "blocked by the app"]);
  });

  test("streams of both eras hear of changes", async () => {
    const session = await client2025(url());
    const standing = await openEvents(url(), { headers: { ...session.headers, accept: "text/event-stream" } });
    const listening = await openEvents(url(), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: {
          notifications: { resourcesListChanged: true },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
    await listening.message(({ method }) => method === "notifications/subscriptions/acknowledged");
    await call("open", "heard");
    for (const stream of [standing, listening]) {
      await stream.message(({ method }) => method === "notifications/resources/list_changed");
      await stream.close();
    }
  });

  test("a resumable call that is cut is resumed, and its run needs nothing of the app's", async () => {
    const client = await client2025(url());
    const key = `${path}-cut`.replaceAll("/", "");
    const params = { name: "wait", arguments: { key }, _meta: { progressToken: "p" } };
    const followed = await ResumableCall.begin(url(), client, { id: "cut", params });
    expect(await followed.next()).toMatchObject({ method: "notifications/progress", params: { progress: 1 } });
    await followed.drop();
    await call("open", "cut");
    await followed.resume(url());
    expect(await followed.next()).toMatchObject({ params: { progress: 2 } });
    expect(await followed.next()).toMatchObject({ id: "cut", result: { content: [{ text: `done ${key}` }] } });
    await followed.drop();
  });

  test("HTTP+SSE names the endpoint as its client reaches it", async () => {
    const stream = await openEvents(url());
    const { event, data = "" } = (await stream.next()) ?? {};
    expect([event, data]).toEqual(["endpoint", expect.stringMatching(new RegExp(`^${path}/mcp/acme\\?sessionId=`))]);
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const body = { jsonrpc: "2.0", id: "begin", method: "initialize", params };
    expect((await post(new URL(data, worker.origin).href, body)).status).toBe(202);
    expect(await stream.message(({ id }) => id === "begin")).toMatchObject({ result: { serverInfo: {} } });
    await stream.close();
  });

  test("the page for people and what is not found name the URL with its path", async () => {
    const page = await fetch(url(), { headers: { accept: "text/html" } });
    expect(await page.text()).toContain(`${worker.origin}${path}/mcp/acme`);
    const missing = await fetch(`${worker.origin}${path}/nothing`, { method: "POST" });
    expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining(`${path}/mcp/{tenant}`)]);
  });

  test("the admin API is there, too", async () => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const response = await fetch(`${worker.origin}${path}/admin/v1/tenants`, { headers });
    expect(await response.json()).toMatchObject({ items: [{ id: "acme" }] });
  });
});

test("a path outside of tenantry's is the app's", async () => {
  expect(await (await fetch(worker.origin)).text()).toBe("the app's own page");
  expect((await fetch(`${worker.origin}/mcp/acme`, { method: "POST" })).status).toBe(404);
});
