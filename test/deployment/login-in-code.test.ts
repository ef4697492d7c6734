// A tenant that is declared in code with `auth`: who gets in, what they see, and where they are told to log in.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { BuiltInFeature } from "../../src/deployment/deployment.ts";
import { createWorker, defineTool, login, type Env, type TenantDefinition } from "../../src/tenantry.ts";

/** Reads no issuers: the objects here are those of a Worker without it. */
const { refresh: _tend, ...feature } = login() as BuiltInFeature;
const tools = ["look", "change"].map((name) => defineTool({ name, handler: () => name }));
const scopes = { public: { tools: ["look"] }, all: { tools: ["*"] } };
const auth = {
  issuers: [{ issuer: "https://login.example.com", scopes: { claim: "scope", values: { write: ["all"] } } }],
  anonymous: { scopes: ["public"] },
};

async function send(id: string, definition: TenantDefinition, request: RequestInfo, init: RequestInit = {}) {
  const worker = createWorker({ tools, tenants: { [id]: definition }, features: [feature] });
  const ctx = createExecutionContext();
  const response = await worker.fetch(new Request(request, init), env as Env, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

function ask(id: string, definition: TenantDefinition, message: object) {
  return send(id, definition, `https://mcp.example.com/mcp/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
}

const CHALLENGE = (id: string) =>
  `Bearer realm="tenantry", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp/${id}", scope="write"`;

it("of the mode mixed shows public tools to everybody, and needs a login for the rest", async () => {
  const definition = { mode: "mixed", auth, scopes } as const;
  const listed = await ask("coded-mixed", definition, { method: "tools/list" });
  const { result } = await listed.json<{ result: { tools: { name: string }[] } }>();
  expect(result.tools.map(({ name }) => name)).toEqual(["look"]);
  const call = (name: string) => ask("coded-mixed", definition, { method: "tools/call", params: { name } });
  expect((await call("look")).status).toBe(200);
  const beyond = await call("change");
  expect([beyond.status, beyond.headers.get("www-authenticate")]).toEqual([401, CHALLENGE("coded-mixed")]);
});

it("of the mode oauth refuses calls without a token, and has metadata", async () => {
  const definition = { mode: "oauth", auth, scopes } as const;
  const refused = await ask("coded-oauth", definition, { method: "tools/list" });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, CHALLENGE("coded-oauth")]);
  const at = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp/coded-oauth";
  expect(await (await send("coded-oauth", definition, at)).json()).toMatchObject({
    resource: "https://mcp.example.com/mcp/coded-oauth",
    authorization_servers: ["https://login.example.com"],
    scopes_supported: ["write"],
  });
});
