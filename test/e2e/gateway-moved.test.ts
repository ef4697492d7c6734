// An upstream that is not where it was, or not what it was: a name that stands for an address of a private network, and a
// server that speaks another era after a deploy. The upstreams beside it are listed and called all the while.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Client, Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";

/** What the resolver says, by name. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  "inside.example.com": ["127.0.0.1"],
  "half.example.com": ["1.1.1.1", "10.0.0.7"],
};
const resolver = createServer((request, response) => {
  const query = new URL(request.url ?? "", "http://resolver").searchParams;
  const name = query.get("name") ?? "";
  const found = query.get("type") === "A" ? (ADDRESSES[name] ?? []) : [];
  const Answer = found.map((data) => ({ name, type: 1, TTL: 60, data }));
  response.setHeader("content-type", "application/dns-json").end(JSON.stringify({ Status: 0, Answer }));
}).listen(0, "127.0.0.1");
await once(resolver, "listening");
afterAll(() => {
  resolver.closeAllConnections();
  resolver.close();
});

const { port } = resolver.address() as AddressInfo;
const origin = await startGatewayWorker({ OUTBOUND_RESOLVER: `http://127.0.0.1:${port}/dns-query` });
const admin = fixtureAdmin(origin, "moved");

let left: Upstream;
let right: Upstream;

beforeAll(async () => {
  left = await startUpstream({ ok: () => ({ content: [{ type: "text", text: "left" }] }) });
  right = await startUpstream({ ok: () => ({ content: [{ type: "text", text: "right" }] }) });
});

afterAll(() => {
  left.close();
  right.close();
});

async function tenantWith(url: string) {
  return gatewayTenant(origin, admin, { left: { url: left.url }, moved: { url }, right: { url: right.url } });
}

async function expectNeighbours(client: Client): Promise<void> {
  for (const side of ["left", "right"]) {
    const { result } = await client.request("tools/call", { name: `${side}__ok`, arguments: {} });
    expect(result["content"]).toEqual([{ type: "text", text: side }]);
  }
}

describe("an upstream whose name", () => {
  test.each([
    ["stands for an address of this machine", "inside.example.com", "address"],
    ["stands for a private address too", "half.example.com", "address"],
    ["stands for none", "nowhere.example.com", "resolution"],
  ])("%s is never asked, and the list says why", async (_what, name, rule) => {
    const tenant = await tenantWith(`https://${name}/mcp`);
    const client = await tenant.client();
    const { result } = await client.request("tools/list");
    expect(namesIn(result)).toEqual(["left__ok", "right__ok"]);
    const why: unknown = expect.stringContaining(`outbound request refused (${rule})`);
    expect(missingOf(result)).toEqual([{ source: "moved", why }]);
    await expectNeighbours(client);
  });
});

type Era = "2025" | "2026";

/** A server without sessions that lists one tool, and refuses the other era as servers do. */
function speaking(era: Era): (exchange: Exchange) => void {
  const stamp = era === "2026" ? { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public" } : {};
  const content = [{ type: "text", text: `in ${era}` }];
  const about = { capabilities: { tools: {} }, serverInfo: { name: "moved", version: "1" } };
  const results: Readonly<Record<string, Json>> = {
    ...(era === "2026"
      ? { "server/discover": { supportedVersions: ["2026-07-28"], ...about } }
      : { initialize: { protocolVersion: "2025-11-25", ...about } }),
    "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
    "tools/call": { content },
  };
  return (exchange) => {
    const is2026 = exchange.headers["mcp-protocol-version"] === "2026-07-28";
    if (is2026 !== (era === "2026")) {
      if (is2026) exchange.error(-32000, "Bad Request: Server not initialized", 400);
      else exchange.error(-32022, "Unsupported protocol version", 400);
    } else if (exchange.name === "notifications/initialized") exchange.refuse(202);
    else exchange.result({ ...stamp, ...results[exchange.name] });
  };
}

describe("an upstream that spoke era", () => {
  test.each([
    ["2025", "2026"],
    ["2026", "2025"],
  ] as const)("%s and speaks %s after a deploy is read again, and called in that era", async (before, after) => {
    const endpoint = await ScriptedServer.start(speaking(before));
    const tenant = await tenantWith(endpoint.url);
    const client = await tenant.client();
    const call = () => client.request("tools/call", { name: "moved__go", arguments: {} });
    expect((await call()).result["content"]).toEqual([{ type: "text", text: `in ${before}` }]);
    endpoint.script = speaking(after);
    // Nobody runs it again: the client is told, once.
    expect((await call()).error).toMatchObject({ data: { server: "moved" } });
    await expectNeighbours(client);
    const answered = async () => {
      const { result, error } = await call();
      return error ?? result["content"];
    };
    await expect.poll(answered, { timeout: 30_000, interval: 500 }).toEqual([{ type: "text", text: `in ${after}` }]);
    await expectNeighbours(client);
    const { result } = await client.request("tools/list");
    expect(namesIn(result)).toEqual(["left__ok", "moved__go", "right__ok"]);
  });
});
