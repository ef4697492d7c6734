// Blocks name tools of upstreams as tenants list them.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished } from "vitest";
import { listedName } from "../../../src/gateway/listed-name.ts";
import { admin, createWorker, gateway } from "../../../src/tenantry.ts";
import {
  adminEnv,
  adminOptions,
  appOf,
  ask,
  newTenant,
  ORIGIN,
  waitForRollout,
  ROOT,
  rules,
} from "../../support/workerd/admin.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

interface Message {
  readonly id: number;
  readonly method: string;
}

const ODD = `delete/it.${"é".repeat(240)}`;
const worker = createWorker({ tenants: {}, features: [admin(), gateway()] });

function tracker(called: string[]): string {
  return upstreamAt(async (request) => {
    const { id, method } = await request.json<Message>();
    const tools = ["delete", "read", ODD].map((name) => ({ name, inputSchema: { type: "object" } }));
    const listed = method === "tools/list" ? { tools } : undefined;
    if (method === "tools/call") called.push(method);
    const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    const result = listed ?? (method === "tools/call" ? { content: [] } : discovered);
    return Response.json({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } });
  });
}

async function tenantWith(url: string, id: string): Promise<string> {
  const tenant = await newTenant({ maxStalenessMs: 300 });
  await ask("PUT", `/tenants/${tenant}/upstreams/${id}`, { json: { url, era: "2026" } });
  await ask("POST", `/tenants/${tenant}/upstreams/${id}/refresh`);
  return tenant;
}

async function answerOf(place: string, method: string, params: object, more = {}): Promise<string> {
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-11-25",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params, ...more });
  const request = new Request(`${ORIGIN}/${place}`, { method: "POST", headers, body });
  return (await worker.fetch(request, env, createExecutionContext())).text();
}

const callOf = (tenant: string, name: string) => answerOf(`mcp/${tenant}`, "tools/call", { name, arguments: {} });

function lift(name: string): void {
  onTestFinished(async () => void (await ask("DELETE", `/tools/${name}/block`)));
}

describe("a tool of an upstream that is blocked in every tenant", () => {
  it("cannot be called from the acknowledgement on, by any endpoint, until it is unblocked", async () => {
    const called: string[] = [];
    const url = tracker(called);
    const [one, two] = await Promise.all([tenantWith(url, "tracker"), tenantWith(url, "tracker")]);
    const other = await tenantWith(url, "elsewhere");
    for (const tenant of [one, two]) expect(await callOf(tenant, "tracker__delete")).toContain('"content":[]');
    called.length = 0;
    lift("tracker__delete");
    const blocked = await waitForRollout(
      ask("POST", "/tools/tracker__delete/block", { json: { note: "broken into" } }),
    );
    expect([blocked.status, blocked.body]).toMatchObject([202, { name: "tracker__delete", changed: true }]);
    const later = await tenantWith(url, "tracker");
    for (const tenant of [one, two, later]) {
      expect(await callOf(tenant, "tracker__delete")).toContain("tracker__delete is suspended: broken into");
      const server = { server_id: "tracker" };
      const bare = await answerOf(`gateway/${tenant}`, "tools/call", { name: "delete", arguments: {} }, server);
      expect(bare).toContain("Unknown tool: delete");
      const listed = await answerOf(`mcp/${tenant}`, "tools/list", {});
      expect([listed.includes('"tracker__delete"'), listed.includes("tracker__read")]).toEqual([false, true]);
    }
    expect(called).toEqual([]);
    expect(await callOf(one, "tracker__read")).toContain('"content":[]');
    expect(await callOf(other, "elsewhere__delete")).toContain('"content":[]');
    expect((await ask("GET", "/tools/blocked")).text).toContain("tracker__delete");
    await ask("DELETE", "/tools/tracker__delete/block");
    await expect.poll(() => callOf(one, "tracker__delete")).toContain('"content":[]');
  });

  it.each([
    ["its own name", `tracker__${ODD}`],
    ["the name that is listed", listedName("tracker", ODD)],
  ])("is blocked by %s where the two differ, under both", async (_which, name) => {
    const tenant = await tenantWith(tracker([]), "tracker");
    const path = `/tools/${encodeURIComponent(name)}/block`;
    onTestFinished(async () => void (await ask("DELETE", path)));
    const blocked = await waitForRollout(ask("POST", path, { json: { note: "n" } }));
    expect(blocked.body).toMatchObject({ name, changed: true });
    expect(await callOf(tenant, listedName("tracker", ODD))).toContain("suspended: n");
    expect(await callOf(tenant, `tracker__${ODD}`)).toContain("suspended: n");
    expect((await ask("DELETE", path)).body).toMatchObject({ name, changed: true });
    await expect.poll(() => callOf(tenant, `tracker__${ODD}`)).toContain('"content":[]');
  });

  it.each(["tracker__", "__delete", "delete"])("is one of an upstream: not %s", async (name) => {
    const refused = await ask("POST", `/tools/${name}/block`, { json: { note: "n" } });
    expect(rules(refused)).toEqual([422, ["name", `there is no tool ${name} in the code`]]);
  });

  it("needs a Worker that has upstreams", async () => {
    const app = appOf({ ...adminOptions, features: [] });
    const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ note: "n" }) };
    const request = new Request(`${ORIGIN}/admin/v1/tools/tracker__delete/block`, init);
    expect((await app.fetch(request, adminEnv)).status).toBe(422);
  });
});
