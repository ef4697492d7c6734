// Messages that name their upstream beside themselves, at POST /gateway/{tenant}: what arrives at the upstream, and what a
// view keeps from its callers.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker, type GatewayTenant } from "../support/gateway-tenant.ts";
import { post, type Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "envelope");
const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });

describe("POST /gateway/{tenant}", () => {
  let up: Upstream;
  let tenant: GatewayTenant;
  const sendEnvelope = (message: Json, path = tenant.id) => post(`${origin}/gateway/${path}`, message);
  const listing = (server_id?: unknown): Json => ({ server_id, jsonrpc: "2.0", id: 5, method: "tools/list" });

  beforeAll(async () => {
    up = await startUpstream({ shown: () => textResult("shown"), hidden: () => textResult("hidden") });
    const profiles = { few: { tools: { deny: ["*hidden"] } }, none: { tools: { allow: ["note_*"] } } };
    tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } }, { document: { profiles } });
  });
  afterAll(() => up.close());

  test("passes method and params, and neither server_id nor names of ours", async () => {
    const params = { name: "shown", arguments: { a: [1, { b: null }] } };
    const { id, result } = await sendEnvelope({
      server_id: "up",
      jsonrpc: "2.0",
      id: "x",
      method: "tools/call",
      params,
    });
    expect(id).toBe("x");
    expect(result).toEqual(textResult("shown"));
    const { message, body } = up.requests.at(-1) ?? { message: {}, body: "" };
    expect(message).toMatchObject({ method: "tools/call", params });
    expect(body).not.toContain("server_id");
  });

  test("lists what the upstream lists, apart from what the view hides, and hidden names are unknown", async () => {
    expect(namesIn((await sendEnvelope(listing("up"))).result)).toEqual(["shown", "hidden"]);
    expect(namesIn((await sendEnvelope(listing("up"), `${tenant.id}/few`)).result)).toEqual(["shown"]);
    const call = { server_id: "up", jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hidden" } };
    expect((await sendEnvelope(call)).result).toEqual(textResult("hidden"));
    const from = up.requests.length;
    expect((await sendEnvelope(call, `${tenant.id}/few`)).error).toMatchObject({ code: -32602 });
    expect(up.requests).toHaveLength(from);
  });

  test("knows no server of which the view shows nothing", async () => {
    expect((await sendEnvelope(listing("up"), `${tenant.id}/none`)).error).toMatchObject({ code: -32001 });
    const nobody = { code: -32001, message: "Server 'nobody' not found" };
    expect((await sendEnvelope(listing("nobody"))).error).toMatchObject(nobody);
    expect((await sendEnvelope(listing("code"))).error?.code).toBe(-32001);
  });

  test.each([undefined, 5, null])("asks for a server_id where it is %s", async (server) => {
    const { error, id } = await sendEnvelope(listing(server));
    expect(error).toMatchObject({ code: -32602, data: { path: "server_id" } });
    expect(id).toBe(5);
  });

  test("refuses methods of which no view can say what they show", async () => {
    const message = { server_id: "up", jsonrpc: "2.0", id: 1, method: "tasks/list" };
    expect((await sendEnvelope(message)).error?.code).toBe(-32601);
  });

  test("lets nobody in without a key where the tenant wants one", async () => {
    const upstreams = { up: { url: up.url } };
    const id = await admin.tenant({ mode: "key", upstreams });
    expect((await sendEnvelope(listing("up"), id)).status).toBe(401);
  });

  test("takes no other method of HTTP", async () => {
    const response = await fetch(`${origin}/gateway/${tenant.id}`, { headers: { accept: "text/event-stream" } });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST, OPTIONS");
    await response.body?.cancel();
  });
});
