// Tenants that the author's function declares.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { admin, createWorker, defineTool, type Env, type TenantDefinition } from "../../src/tenantry.ts";
import { ROOT } from "../support/workerd/admin.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";

const rows = new Map<string, TenantDefinition>();
const state = { isBroken: false };
const faults: string[] = [];
const bindings = { ...env, ADMIN_TOKEN: ROOT } as Env;

const mcp = createWorker({
  tenants: (id) => {
    if (state.isBroken) throw new Error("no database");
    return rows.get(id);
  },
  tools: ["see", "write", "wipe"].map((name) => defineTool({ name, description: name, handler: () => name })),
  features: [admin()],
  hooks: { onError: (error) => faults.push(String(error)) },
});

async function ask(method: string, path: string, json?: unknown) {
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const request = new Request(`https://mcp.example.com/admin/v1${path}`, { method, headers, body });
  const answered = await mcp.fetch(request, bindings, createExecutionContext());
  const text = await answered.text();
  return {
    status: answered.status,
    headers: answered.headers,
    body: text === "" ? undefined : (JSON.parse(text) as never),
  };
}

async function toolsOf(id: string): Promise<readonly string[]> {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const listed = await (
    await sendTo(mcp, id, { message, at: bindings })
  ).json<{
    result: { tools: { name: string }[] };
  }>();
  return listed.result.tools.map(({ name }) => name);
}

async function waitForRollout({ status, body }: Awaited<ReturnType<typeof ask>>): Promise<void> {
  expect(status).toBe(202);
  const { rollout } = body as unknown as { rollout: number };
  await expect.poll(() => ask("GET", `/rollouts/${rollout}`)).toMatchObject({ body: { state: "done" } });
}

let made = 0;

function declare(definition: TenantDefinition = {}): string {
  made += 1;
  const id = `declared-${made}`;
  rows.set(id, { maxStalenessMs: 50, ...definition });
  return id;
}

it("a declared tenant has what operators wrote on top of what the function says", async () => {
  const id = declare({ title: "From code", profiles: { small: { tools: { allow: ["see"] } } } });
  expect(await ask("GET", `/tenants/${id}`)).toMatchObject({
    status: 200,
    body: { state: "code", effective: { title: "From code" } },
  });
  const document = { title: "From operators", tools: { wipe: { enabled: false } } };
  expect((await ask("PUT", `/tenants/${id}/document?wait=1`, document)).status).toBe(200);
  expect(await ask("GET", `/tenants/${id}`)).toMatchObject({ body: { effective: document } });
  expect(await toolsOf(id)).toEqual(["see", "write"]);
  const suspension = { kind: "profile", name: "small", note: "Not now" };
  expect((await ask("POST", `/tenants/${id}/suspensions`, suspension)).status).toBe(200);
  const worker = { kind: "principal", name: "worker nightly", note: "Not now" };
  expect((await ask("POST", `/tenants/${id}/suspensions`, worker)).status).toBe(200);
  const as = { id: "nightly" };
  await expect(mcp.tenant(bindings, id).callTool("see", {}, { as })).rejects.toMatchObject({ code: "suspended" });
  expect((await ask("DELETE", `/tenants/${id}/suspensions/principal/worker%20nightly`)).status).toBe(200);
});

it("declared tenants are listed once they were requested, and their names cannot be taken", async () => {
  const id = declare();
  await toolsOf(id);
  const listed = await ask("GET", "/tenants?limit=1000");
  expect(listed).toMatchObject({
    status: 200,
    body: { items: expect.arrayContaining([{ id, created: null, state: "code", suspended: null }]) },
  });
  expect((await ask("POST", "/tenants", { id })).status).toBe(409);
  expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(409);
  expect((await ask("GET", "/tenants/declared-never")).status).toBe(404);
});

it("a declared tenant has a block of all tenants, whichever came first", async () => {
  const early = declare();
  expect(await toolsOf(early)).toContain("wipe");
  await waitForRollout(await ask("POST", "/tools/wipe/block", { note: "Not here" }));
  try {
    expect(await toolsOf(early)).not.toContain("wipe");
    expect(await toolsOf(declare())).not.toContain("wipe");
  } finally {
    await waitForRollout(await ask("DELETE", "/tools/wipe/block"));
  }
  expect(await toolsOf(early)).toContain("wipe");
});

it("a declared tenant is 503 while the function fails, not 404", async () => {
  const id = declare();
  state.isBroken = true;
  try {
    const away = await ask("GET", `/tenants/${id}`);
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await ask("POST", "/tenants", { id })).status).toBe(503);
  } finally {
    state.isBroken = false;
  }
  expect((await ask("GET", `/tenants/${id}`)).status).toBe(200);
});

it("a declared tenant whose definition breaks a rule is away alone, and the log says why", async () => {
  const broken = declare({ profiles: { small: { title: "x".repeat(2001) } } });
  const message = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect((await sendTo(mcp, broken, { message, at: bindings })).status).toBe(503);
  const why = `TypeError: tenant "${broken}": profiles.small: title must have at most 2000 characters`;
  expect(faults).toContain(`Error: tenants("${broken}"): ${why}`);
  expect((await sendTo(mcp, declare(), { message, at: bindings })).status).toBe(200);
});

it("a declared tenant keeps a base that it extends from being deleted", async () => {
  const id = declare();
  expect((await ask("PUT", "/bases/common", { instructions: "Be brief." })).status).toBeLessThan(300);
  expect((await ask("PUT", `/tenants/${id}/document?wait=1`, { extends: ["common"] })).status).toBe(200);
  expect((await ask("DELETE", "/bases/common")).status).toBe(409);
});
