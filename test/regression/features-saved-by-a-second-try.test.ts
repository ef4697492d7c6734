// What features do where one of their calls to an object fails, or is done and its answer lost: upstreams had no tools for a minute,
// long results were lost, approvals stayed half done, people with a good token were kept out, a rotation ended a key for nothing.

import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { startAuthorizationServer } from "../support/authorization-server.ts";
import type { InjectedFaultKind } from "../support/injected-faults.ts";
import { VARS } from "../e2e/jitter/unreliable-workers.ts";
import { INITIALIZE } from "../support/stdio-client.ts";
import { client2025, client2026, type Json } from "../support/mcp-client.ts";
import { startUpstream } from "../support/upstream.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";
import { workerPairWithFaults } from "../support/worker-pair-with-faults.ts";

const KINDS = ["failed once", "answer lost"] as const satisfies readonly InjectedFaultKind[];

const { one, injectFaults, askAdmin } = workerPairWithFaults({ ...VARS, OUTBOUND_LOCAL: "http://127.0.0.1" });

let made = 0;
async function newTenant(document: object): Promise<string> {
  made += 1;
  const id = `second-${made}`;
  await one().admin("POST", "/tenants", { id, document: { mode: "open", maxStalenessMs: 50, ...document } });
  return id;
}

const endpointOf = (id: string) => `${one().origin}/mcp/${id}`;
const keyed = (url: string, key: unknown) => client2026(url, {}, {}, { authorization: `Bearer ${String(key)}` });

/** Until the tenant's upstream has so many tools. */
async function expectTools(id: string, count: number, client = client2026(endpointOf(id))): Promise<void> {
  const report = async () => {
    await client.request("tools/list");
    return (await askAdmin("GET", `/tenants/${id}/upstreams`)).text;
  };
  // A reading that nobody knows of is tried again after half a minute at the soonest.
  await expect.poll(report, { timeout: 15_000, interval: 200 }).toContain(`"tools":${count}`);
}

async function upstreamWith(text: string): Promise<string> {
  const upstream = await startUpstream({ go: () => ({ content: [{ type: "text", text }] }) });
  onTestFinished(() => upstream.close());
  return upstream.url;
}

test.each(
  ["gateway.claimDue", "gateway.completeRefresh", "gateway.claimUris", "sections.put"].flatMap((call) =>
    KINDS.map((kind) => [call, kind] as const),
  ),
)(
  "a new upstream's tools are listed soon where %s is %s",
  async (call, kind) => {
    const id = await newTenant({ upstreams: { up: { url: await upstreamWith("went") } } });
    await injectFaults({ [`TenantObject ${call}`]: kind });
    await expectTools(id, 1);
    expect(await injectFaults({})).toEqual([]);
  },
  120_000,
);

test.each(KINDS)(
  "an upstream is read at once where an operator's claim is %s",
  async (kind) => {
    const id = await newTenant({ upstreams: { up: { url: await upstreamWith("went") } } });
    await injectFaults({ "TenantObject gateway.tryClaim": kind });
    expect(await askAdmin("POST", `/tenants/${id}/upstreams/up/refresh`)).toMatchObject({ status: 200 });
    await expectTools(id, 1);
    expect((await askAdmin("GET", `/tenants/${id}/audit`)).text.match(/upstream\.refresh/g)).toHaveLength(1);
  },
  120_000,
);

test.each(KINDS)(
  "a change that an upstream tells of is read soon where asking for that is %s",
  async (kind) => {
    let listed: Json[] = [{ name: "go", inputSchema: { type: "object" } }];
    const endpoint = await ScriptedServer.start((exchange: Exchange) => {
      const about = { supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } };
      const lasting = { ttlMs: 3_600_000, cacheScope: "public" };
      if (exchange.name === "server/discover") exchange.result({ ...about, ...lasting });
      else if (exchange.name === "tools/list") exchange.result({ tools: listed, ...lasting });
      else if (exchange.name === "tools/call") {
        const result = { resultType: "complete", content: [] };
        exchange.stream().event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
        exchange.event({ jsonrpc: "2.0", id: exchange.message["id"], result }).end();
      } else exchange.refuse(400);
    });
    const id = await newTenant({ upstreams: { up: { url: endpoint.url, era: "2026" } } });
    await expectTools(id, 1);
    listed = [...listed, { name: "come", inputSchema: { type: "object" } }];
    await injectFaults({ "TenantObject gateway.markStale": kind });
    await client2026(endpointOf(id)).request("tools/call", { name: "up__go", arguments: {} });
    await expectTools(id, 2);
    expect(await injectFaults({})).toEqual([]);
  },
  120_000,
);

test.each(
  ["gateway-review.decide", "gateway-review.getState", "gateway-review.getGeneration", "sections.put"].flatMap((call) =>
    (["failed once", "answer lost", "overloaded"] as const).map((kind) => [call, kind] as const),
  ),
)(
  "what is approved is listed, at once or when it is approved again, where %s is %s",
  async (call, kind) => {
    const id = await newTenant({ upstreams: { up: { url: await upstreamWith("went"), trust: "review" } } });
    const client = client2026(endpointOf(id));
    const pending = async () => {
      await client.request("tools/list");
      return (await askAdmin("GET", `/tenants/${id}/upstreams/up/pending`)).text;
    };
    await expect.poll(pending, { timeout: 15_000 }).toContain('"digest"');
    // Until it is written down that nothing is listed yet: a decision is about that.
    await expect
      .poll(async () => (await askAdmin("GET", `/tenants/${id}/upstreams`)).text)
      .toContain("wait for approval");
    const { items } = JSON.parse(await pending()) as { items: { digest: string }[] };
    const approve = () =>
      askAdmin("POST", `/tenants/${id}/upstreams/up/approve?wait=1`, { digests: items.map(({ digest }) => digest) });
    await injectFaults({ [`TenantObject ${call}`]: kind });
    const first = await approve();
    // What has too much to do is left alone, and says so: whoever asked comes back.
    if (kind === "overloaded") expect(await approve()).toMatchObject({ status: 200 });
    else expect(first).toMatchObject({ status: 200 });
    await expectTools(id, 1);
    expect((await askAdmin("GET", `/tenants/${id}/audit`)).text.match(/upstream\.approve/g)).toHaveLength(1);
  },
  120_000,
);

test.each(
  ["results.put", "results.getInfo", "results.get"].flatMap((call) => KINDS.map((kind) => [call, kind] as const)),
)(
  "a result that is too long is kept and read where %s is %s",
  async (call, kind) => {
    const url = await upstreamWith("long ".repeat(2000));
    const id = await newTenant({
      mode: "key",
      upstreams: { up: { url } },
      profiles: { brief: { resultBudget: { bytes: 1500 } } },
    });
    const { token } = await one().admin("POST", `/tenants/${id}/keys`, { name: "k" });
    const client = keyed(`${endpointOf(id)}/brief`, token);
    await expectTools(id, 1, client);
    await injectFaults({ [`TenantObject ${call}`]: kind });
    const called = await client.request("tools/call", { name: "up__go", arguments: {} });
    const [uri] = /tenantry:\/\/results\/[0-9a-f-]+/.exec(called.text) ?? [];
    expect(uri, called.text).toBeDefined();
    expect((await client.request("resources/read", { uri })).text).toContain("long long");
    expect(await injectFaults({})).toEqual([]);
  },
  120_000,
);

test.each(
  ["issuers.claim", "issuers.settle", "sections.put"].flatMap((call) => KINDS.map((kind) => [call, kind] as const)),
)(
  "a token of a server that nobody has asked yet is taken where %s is %s",
  async (call, kind) => {
    const server = await startAuthorizationServer();
    const id = await newTenant({ mode: "oauth", auth: { issuers: [{ issuer: server.issuer }] } });
    await injectFaults({ [`TenantObject ${call}`]: kind });
    const token = await server.token({ aud: endpointOf(id) });
    expect(await keyed(endpointOf(id), token).request("tools/list")).toMatchObject({ status: 200 });
    expect(await injectFaults({})).toEqual([]);
  },
  120_000,
);

test.each(KINDS)("the keys by which a tenant signs are told where that is %s", async (kind) => {
  const server = await startAuthorizationServer();
  const identity = { via: "signed", audiences: ["https://api.acme.example"] };
  const id = await newTenant({ mode: "key+oauth", auth: { issuers: [{ issuer: server.issuer, identity }] } });
  await injectFaults({ "TenantObject login-signing-keys.listPublicKeys": kind });
  expect((await fetch(`${one().origin}/login/${id}/jwks`)).status).toBe(200);
});

test.each(KINDS)("a key is made, and rotated, where that is %s", async (kind) => {
  const id = await newTenant({ mode: "key" });
  await injectFaults({ "TenantObject policy.addKey": kind });
  const created = await askAdmin("POST", `/tenants/${id}/keys`, { name: "k" });
  expect(created.status).toBe(201);
  const { id: key } = JSON.parse(created.text) as { id: string };
  await injectFaults({ "TenantObject policy.rotateKey": kind });
  const rotated = await askAdmin("POST", `/tenants/${id}/keys/${key}/rotate`, { overlapSeconds: 0 });
  expect(rotated.status).toBe(201);
  const { token } = JSON.parse(rotated.text) as { token: string };
  expect((await keyed(endpointOf(id), token).request("tools/list")).status).toBe(200);
  const { items } = JSON.parse((await askAdmin("GET", `/tenants/${id}/keys`)).text) as { items: object[] };
  expect(items).toHaveLength(2);
});

test("an operator is removed where that fails once", async () => {
  const { token } = await one().admin("POST", "/operators", { name: "gone", role: "auditor" });
  await injectFaults({ "PlatformObject operators.removeOperator": "failed once" });
  expect(await askAdmin("DELETE", "/operators/gone")).toMatchObject({ status: 204 });
  const headers = { authorization: `Bearer ${String(token)}` };
  expect((await fetch(`${one().origin}/admin/v1/tenants`, { headers })).status).toBe(401);
});

test.each(["2025", "2026"] as const)(
  "a call of era %s under an exact limit of the day is made where counting it fails once",
  async (era) => {
    const id = await newTenant({ limits: { dailyToolCalls: 1000, exact: true } });
    const client = era === "2025" ? await client2025(endpointOf(id)) : client2026(endpointOf(id));
    await injectFaults({ "TenantObject limits.take": "failed once" });
    const { text } = await client.request("tools/call", { name: "lab_echo", arguments: { said: "yes" } });
    expect(text).not.toContain('"error"');
    expect(await injectFaults({})).toEqual([]);
  },
);

/** What a browser's or a client's request to a hostname gets. */
async function atHost(host: string): Promise<string> {
  const asking = request(`${one().origin}/mcp`, {
    method: "POST",
    headers: { host, "content-type": "application/json", accept: "application/json, text/event-stream" },
  });
  asking.end(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  return readText(answer);
}

test.each(["failed once", "answer lost", "overloaded"] as const)(
  "a hostname that the document names no more leads nowhere where giving it back is %s",
  async (kind) => {
    const host = `left-${kind.replace(" ", "-")}.acme.test`;
    const id = await newTenant({ hostnames: [host] });
    expect(await atHost(host)).toContain('"result"');
    await injectFaults({ "DirectoryObject releaseHostname": kind });
    const next = { mode: "open", maxStalenessMs: 50 };
    const first = await askAdmin("PUT", `/tenants/${id}/document`, next);
    if (kind === "overloaded")
      expect(await askAdmin("PUT", `/tenants/${id}/document`, next)).toMatchObject({ status: 200 });
    else expect(first).toMatchObject({ status: 200 });
    await expect.poll(() => atHost(host)).toContain('"error"');
    // Another tenant can have it.
    const other = await newTenant({});
    expect(await askAdmin("PUT", `/tenants/${other}/document`, { ...next, hostnames: [host] })).toMatchObject({
      status: 200,
    });
    await expect.poll(() => atHost(host), { timeout: 90_000, interval: 500 }).toContain('"result"');
  },
  120_000,
);
