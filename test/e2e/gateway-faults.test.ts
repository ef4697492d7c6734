// What upstreams do that do not work, each beside two that do: those are listed and called as ever, and whoever calls the
// faulty one gets a clear answer in time.

import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient, type Client, type Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";
import { at, CALLING, LISTING, TIMEOUT_MS } from "../support/upstream-faults.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "fault");

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

interface Faulty {
  readonly timeoutMs?: number;
  readonly isClosed?: boolean;
  /** Of its configuration. */
  readonly more?: Json;
}

async function tenantBeside(
  script: (exchange: Exchange) => void,
  { timeoutMs = TIMEOUT_MS, isClosed = false, more = {} }: Faulty = {},
) {
  const endpoint = await ScriptedServer.start(script);
  if (isClosed) await endpoint.stop();
  const faulty = { url: endpoint.url, era: "2025", timeoutMs, ...more };
  const upstreams = { left: { url: left.url }, faulty, right: { url: right.url } };
  const tenant = await gatewayTenant(origin, admin, upstreams);
  return { tenant, endpoint };
}

type Listing = Awaited<ReturnType<typeof allTools>>;

async function allTools(client: { request(method: string, params?: Json): Promise<{ result: Json }> }) {
  const names: string[] = [];
  let missing: ReturnType<typeof missingOf> = [];
  for (let cursor: unknown; ;) {
    const { result } = await client.request("tools/list", cursor === undefined ? {} : { cursor });
    names.push(...namesIn(result));
    missing = missingOf(result);
    cursor = result["nextCursor"];
    if (cursor === undefined) return { names, missing };
  }
}

/** Also while a call of the faulty one waits. */
async function expectNeighbours(client: Client): Promise<void> {
  for (const side of ["left", "right"]) {
    const { result } = await client.request("tools/call", { name: `${side}__ok`, arguments: {} });
    expect(result["content"]).toEqual([{ type: "text", text: side }]);
  }
}

describe("beside an upstream that", () => {
  test.each(LISTING)(
    "$what, the others are listed and called, and the list says why",
    async ({ script, why, listed, ...faulty }) => {
      const { tenant } = await tenantBeside(script, faulty);
      const client = await tenant.client();
      const wanted: Listing = {
        names: ["left__ok", ...(listed ?? []), "right__ok"],
        missing: [{ source: "faulty", why: expect.stringMatching(why) as string }],
      };
      await expect.poll(() => allTools(client), { timeout: 20_000 }).toEqual(wanted);
      await expectNeighbours(client);
    },
  );
});

describe("a call of an upstream that", () => {
  test.each(CALLING)(
    "$what ends with an error that says so, once and in time",
    async ({ answer, error, timeoutMs = TIMEOUT_MS, isClosed = false }) => {
      const { tenant, endpoint } = await tenantBeside(at("tools/call", answer), { timeoutMs });
      if (isClosed) await endpoint.stop();
      const client = await tenant.client();
      const began = Date.now();
      const calling = client.request("tools/call", { name: "faulty__go", arguments: {} });
      await expectNeighbours(client);
      const reply = await calling;
      // Ten times what it may take: the machine may be busy, but nobody waits for a minute.
      expect(Date.now() - began).toBeLessThan(10 * timeoutMs);
      expect(reply.error).toMatchObject(error);
      expect(endpoint.names.filter((name) => name === "tools/call")).toHaveLength(isClosed ? 0 : 1);
      await expectNeighbours(client);
    },
  );
});

const TEXT_RESULT = { content: [{ type: "text", text: "went" }] };

describe("beside an upstream that forgot its session", () => {
  test("the others are called, and its call goes once more in a new one", async () => {
    const open = new Set<string>();
    let begun = 0;
    const { tenant } = await tenantBeside((exchange) => {
      const session = String(exchange.headers["mcp-session-id"]);
      if (exchange.name === "initialize") open.add(`s${(begun += 1)}`);
      else if (!open.has(session)) return exchange.refuse(404);
      const listed = { tools: [{ name: "go", inputSchema: { type: "object" } }] };
      sessionScript(`s${begun}`, (other) => other.result(other.name === "tools/list" ? listed : TEXT_RESULT), {
        tools: {},
      })(exchange);
    });
    const { token } = await admin.key(tenant.id);
    const client = await mcpClient("2025-11-25", tenant.url, {}, { authorization: `Bearer ${token}` });
    const call = () => client.request("tools/call", { name: "faulty__go", arguments: {} });
    expect((await call()).result).toMatchObject(TEXT_RESULT);
    open.clear();
    expect((await call()).result).toMatchObject({ ...TEXT_RESULT, _meta: { "tenantry/session": "new" } });
    await expectNeighbours(client);
    expect((await call()).result).toEqual(TEXT_RESULT);
  });
});

describe("beside an upstream whose definitions change under review", () => {
  test("the others are listed and called, and it lists what was approved, or nothing", async () => {
    let description = "First.";
    const listing = at("tools/list", (exchange) =>
      exchange.result({ tools: [{ name: "go", description, inputSchema: { type: "object" } }] }),
    );
    const script = at("tools/call", (exchange) => exchange.result(TEXT_RESULT));
    const { tenant } = await tenantBeside((exchange) => (exchange.name === "tools/list" ? listing : script)(exchange), {
      more: { trust: "review" },
    });
    const client = await tenant.client();
    expect((await allTools(client)).names).toEqual(["left__ok", "right__ok"]);
    const path = `/tenants/${tenant.id}/upstreams/faulty`;
    const { items } = (await admin.ask("GET", `${path}/pending`)) as { items: { digest: string }[] };
    await admin.ask("POST", `${path}/approve?wait=1`, { digests: items.map(({ digest }) => digest) });
    const both = { names: ["left__ok", "faulty__go", "right__ok"], missing: [] };
    await expect.poll(() => allTools(client)).toMatchObject({ names: both.names });
    description = "Changed.";
    await admin.ask("POST", `${path}/refresh?wait=1`);
    await expect
      .poll(async () => (await allTools(client)).missing)
      .toEqual([{ source: "faulty", why: "1 definition waits for approval" }]);
    const { result } = await client.request("tools/list");
    expect((result["tools"] as Json[]).map((tool) => tool["description"])).toContain("First.");
    expect(JSON.stringify(result)).not.toContain("Changed.");
    await expectNeighbours(client);
  });
});
