// A server that must not get a request any more can be slow on purpose: access is withdrawn during each kind of wait.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { keyPrincipalId } from "../../src/auth/principal.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import type { FreshTenant } from "../support/workerd/tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;

const worker = createWorker({ tenants: {}, features: [gateway()] });
const ACTOR = { name: "ann" };
const RESULTS: Json = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    serverInfo: { name: "up", version: "1" },
  },
  "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "say", arguments: [{ name: "what" }] }] },
  "resources/list": {
    resources: [
      { uri: "up://listed", name: "listed" },
      { uri: "ui://panel", name: "panel" },
    ],
  },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "up://of/{what}", name: "of" }] },
};
const WHAT = { argument: { name: "what", value: "w" } };

/** Each way to ask this upstream for something, by way of `/mcp` and of `/gateway`. */
const REQUESTS: readonly (readonly [where: "mcp" | "gateway", method: string, params: Json])[] = [
  ["mcp", "tools/call", { name: "up__go", arguments: {} }],
  ["mcp", "prompts/get", { name: "up__say" }],
  ["mcp", "resources/read", { uri: "up://listed" }],
  ["mcp", "resources/read", { uri: "up://of/x" }],
  ["mcp", "resources/read", { uri: "up://unlisted" }],
  ["mcp", "resources/read", { uri: "ui://up/panel" }],
  ["mcp", "completion/complete", { ref: { type: "ref/prompt", name: "up__say" }, ...WHAT }],
  ["mcp", "completion/complete", { ref: { type: "ref/resource", uri: "up://of/{what}" }, ...WHAT }],
  ["gateway", "tools/list", {}],
  ["gateway", "prompts/list", {}],
  ["gateway", "resources/list", {}],
  ["gateway", "resources/templates/list", {}],
  ["gateway", "tools/call", { name: "go", arguments: {} }],
  ["gateway", "prompts/get", { name: "say" }],
  ["gateway", "resources/read", { uri: "ui://panel" }],
  ["gateway", "completion/complete", { ref: { type: "ref/prompt", name: "say" }, ...WHAT }],
  ["gateway", "ping", {}],
];

interface UpstreamSetup {
  readonly tenant: FreshTenant;
  readonly key: { readonly id: string; readonly token: string };
  readonly document: TenantDocument;
  /** Of what is asked as it was when the world began. */
  readonly requests: string[];
  readonly send: (where: "mcp" | "gateway", method: string, params: Json) => Promise<string>;
  /** Sessions do not begin before the function that it gives is called; `begun`: all that is asked waits for one. */
  readonly hold: () => { readonly begun: Promise<void>; readonly go: () => void };
}

async function setup(): Promise<UpstreamSetup> {
  const requests: string[] = [];
  let waiting: { begun: () => unknown; go: Promise<void> } | undefined;
  const url = upstreamAt(async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method = "" } = await request.json<{ readonly id?: number; readonly method?: string }>();
    if (method === "initialize" && waiting) {
      waiting.begun();
      await waiting.go;
    }
    if (id === undefined) return new Response(null, { status: 202 });
    // What it lists is read anew where it is sent other headers.
    if (!request.headers.has("x-other")) requests.push(method);
    return Response.json({
      jsonrpc: "2.0",
      id,
      result: RESULTS[method] ?? { content: [], messages: [], contents: [] },
    });
  });
  const document: TenantDocument = {
    mode: "key",
    maxStalenessMs: 50,
    upstreams: { up: { url, era: "2025", uris: ["up:"] } },
  };
  const tenant = await servedTenant(document);
  const { id, token, hash } = await createKey();
  await createRpcClient(tenant.stub, policyStore).addKey(
    { id, hash, name: "k", scopes: null, profile: null, expires: null },
    ACTOR,
  );
  const send: UpstreamSetup["send"] = async (where, method, params) => {
    const message = { jsonrpc: "2.0", id: 1, method, params, ...(where === "gateway" && { server_id: "up" }) };
    const headers = {
      "content-type": "application/json",
      accept: "application/json",
      authorization: `Bearer ${token}`,
    };
    const at = `https://mcp.example.com/${where}/${tenant.id}`;
    const request = new Request(at, { method: "POST", headers, body: JSON.stringify(message) });
    return (await worker.fetch(request, env, createExecutionContext())).text();
  };
  await expect.poll(() => send("mcp", "tools/list", {}), { timeout: 10_000 }).toContain("up__go");
  const hold = () => {
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    let left = REQUESTS.length;
    waiting = { begun: () => (left -= 1) === 0 && begun.resolve(), go: go.promise };
    return { begun: begun.promise, go: go.resolve };
  };
  return { tenant, key: { id, token }, document, requests, send, hold };
}

async function write({ tenant, document }: UpstreamSetup, upstream: Json | undefined): Promise<void> {
  const policy = createRpcClient(tenant.stub, policyStore);
  const { up } = document.upstreams ?? {};
  const upstreams = upstream && up ? { up: { ...up, ...upstream } } : {};
  const changed = { ...document, upstreams };
  const ifRevision = (await policy.read(false))?.revision ?? 0;
  await policy.write({
    own: changed,
    effective: changed,
    deprecatedNames: [],
    ifRevision,
    actor: ACTOR,
    action: "apply",
  });
}

/** What was acknowledged last holds in every isolate. */
async function inForce({ tenant }: UpstreamSetup): Promise<void> {
  const at = Date.now() + (await createRpcClient(tenant.stub, policyStore).leftMs());
  await expect.poll(() => Date.now()).toBeGreaterThan(at);
}

const WITHDRAWN: Readonly<Record<string, (of: UpstreamSetup) => Promise<unknown>>> = {
  "the upstream is removed": (of) => write(of, undefined),
  "the upstream is switched off": (of) => write(of, { enabled: false }),
  "the upstream is moved": (of) => write(of, { url: "https://elsewhere.example.com/mcp" }),
  "the upstream is sent other headers": (of) => write(of, { headers: { "x-other": "1" } }),
  "the key is revoked": ({ tenant, key }) => createRpcClient(tenant.stub, policyStore).revokeKey(key.id, ACTOR),
  "the key is suspended": ({ tenant, key }) =>
    createRpcClient(tenant.stub, policyStore).suspend(
      { kind: "principal", name: keyPrincipalId(key.id), note: "x" },
      ACTOR,
    ),
  "the tenant is suspended": ({ tenant }) =>
    createRpcClient(tenant.stub, policyStore).suspend({ kind: "tenant", name: "", note: "x" }, ACTOR),
};

describe.each(Object.entries(WITHDRAWN))("while a session begins, %s", { timeout: 60_000 }, (_what, withdraw) => {
  it("a call asks the upstream for nothing more", async () => {
    const of = await setup();
    of.requests.length = 0;
    const { begun, go } = of.hold();
    const answers = REQUESTS.map(([where, method, params]) => of.send(where, method, params));
    await begun;
    await withdraw(of);
    await inForce(of);
    go();
    const notifications = await Promise.all(answers);
    expect(of.requests.filter((method) => method !== "initialize")).toEqual([]);
    for (const [at, [where, method]] of REQUESTS.entries())
      expect(notifications[at], `${where} ${method}`).toContain('"error"');
  });
});

it("calls go on where nothing was taken away while a session began", async () => {
  const of = await setup();
  of.requests.length = 0;
  const { begun, go } = of.hold();
  const answers = REQUESTS.map(([where, method, params]) => of.send(where, method, params));
  await begun;
  await write(of, { timeoutMs: 30_000 });
  await inForce(of);
  go();
  for (const answer of await Promise.all(answers)) expect(answer).toContain('"result"');
  expect(of.requests.filter((method) => method !== "initialize").toSorted()).toEqual(
    REQUESTS.map(([, method]) => method).toSorted(),
  );
});
