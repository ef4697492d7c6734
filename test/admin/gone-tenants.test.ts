// Tenants that the author's function no longer declares: operators see them and delete what is stored. A tenant that is
// declared again first is the same one; later it is another.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { admin, createWorker, defineTool, type Env, type TenantDefinition } from "../../src/tenantry.ts";
import { ROOT } from "../support/workerd/admin.ts";
import { readerOf, sendTo, sessionAt } from "../support/workerd/served-tenant.ts";

const rows = new Map<string, TenantDefinition>();
const state = { isBroken: false };
const bindings = { ...env, ADMIN_TOKEN: ROOT, SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" } as Env;

const mcp = createWorker({
  path: "/rows",
  tenants: (id) => {
    if (state.isBroken) throw new Error("no database");
    return rows.get(id);
  },
  tools: [
    defineTool({
      name: "kept",
      handler: async (_args, ctx) => (await ctx.resources.get("own:note"))?.uri ?? "nothing",
    }),
    defineTool({ name: "secret", handler: async (_args, ctx) => (await ctx.secret("TOKEN")) ?? "none" }),
  ],
  features: [admin()],
  hooks: { onError: () => {} },
});
/** The same under the path that the support knows. */
const worker = {
  fetch: (request: Request, at: Env, ctx: ExecutionContext) =>
    mcp.fetch(new Request(request.url.replace("/mcp/", "/rows/mcp/"), request), at, ctx),
};

async function ask(method: string, path: string, json?: unknown) {
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const request = new Request(`https://mcp.example.com/rows/admin/v1${path}`, { method, headers, body });
  const answered = await mcp.fetch(request, bindings, createExecutionContext());
  const text = await answered.text();
  return { status: answered.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
}

let made = 0;

/** One that keeps a resource, a secret and a suspension. */
async function keeping(): Promise<string> {
  made += 1;
  const id = `gone-${made}`;
  rows.set(id, { maxStalenessMs: 50 });
  await mcp.tenant(bindings, id).resources.write({ uri: "own:note", name: "note", text: "kept" });
  expect((await ask("PUT", `/tenants/${id}/secrets/TOKEN`, { value: "hidden" })).status).toBeLessThan(300);
  const suspension = { kind: "principal", name: "worker bad", note: "Not now" };
  expect((await ask("POST", `/tenants/${id}/suspensions`, suspension)).status).toBe(200);
  return id;
}

async function drop(id: string): Promise<void> {
  rows.delete(id);
  await mcp.tenant(bindings, id).invalidate();
}

const stateOf = async (id: string) => {
  const { body } = await ask("GET", "/tenants?limit=1000");
  return (body["items"] as { id: string; state: string }[]).find((one) => one.id === id)?.state;
};
const answerOf = async (id: string, name: string) =>
  JSON.stringify((await mcp.tenant(bindings, id).callTool(name, {}, { as: { id: "tests" } })).content);
const refusedBy = (id: string) =>
  answerOf(id, "kept").then(
    () => "nobody",
    ({ code }: { code?: unknown }) => code,
  );
const createdOf = async (id: string) => String((await ask("GET", `/tenants/${id}`)).body["created"]);

it("a tenant that is no longer declared is shown as gone, and can be neither used nor changed", async () => {
  const id = await keeping();
  expect(await stateOf(id)).toBe("code");
  await drop(id);
  expect(await stateOf(id)).toBe("gone");
  expect(await ask("GET", `/tenants/${id}`)).toMatchObject({ status: 200, body: { state: "gone" } });
  for (const path of ["keys", "document", "resources", "audit"]) {
    expect((await ask("GET", `/tenants/${id}/${path}`)).status, path).toBe(404);
  }
  await expect(answerOf(id, "kept")).rejects.toMatchObject({ code: "unknownTenant" });
});

it("a tenant is unknown, and not gone, where the function cannot say", async () => {
  const id = await keeping();
  state.isBroken = true;
  try {
    expect(await stateOf(id)).toBe("unknown");
    expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(503);
  } finally {
    state.isBroken = false;
  }
  expect(await answerOf(id, "kept")).toContain("own:note");
});

it("a gone tenant is restored with its data when it is declared again", async () => {
  const id = await keeping();
  const created = await createdOf(id);
  await drop(id);
  rows.set(id, { maxStalenessMs: 50 });
  await mcp.tenant(bindings, id).invalidate();
  expect(await answerOf(id, "kept")).toContain("own:note");
  expect(await answerOf(id, "secret")).toContain("hidden");
  expect(await createdOf(id)).toBe(created);
});

it("a gone tenant is deleted with its data, and the next one of its name is a new tenant", async () => {
  const id = await keeping();
  const created = await createdOf(id);
  expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(409);
  await drop(id);
  expect((await ask("DELETE", `/tenants/${id}?created=2020-01-01T00:00:00.000000Z`)).status).toBe(412);
  expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(204);
  expect(await stateOf(id)).toBeUndefined();
  expect((await ask("GET", `/tenants/${id}`)).status).toBe(404);
  rows.set(id, { maxStalenessMs: 50 });
  await mcp.tenant(bindings, id).invalidate();
  expect(await answerOf(id, "kept")).toContain("nothing");
  expect(await answerOf(id, "secret")).not.toContain("hidden");
  expect(await ask("GET", `/tenants/${id}/suspensions`)).toMatchObject({ body: { items: [] } });
  expect(await createdOf(id)).not.toBe(created);
  expect(await stateOf(id)).toBe("code");
});

it("the deletion of a gone tenant completes even if it is declared again meanwhile", async () => {
  const id = await keeping();
  await drop(id);
  let isCut = true;
  const cutOff = (stub: object) =>
    new Proxy(stub, {
      get:
        (target, member) =>
        (...args: readonly unknown[]) => {
          if (isCut && member === "policy.erase") throw new Error("cut off");
          return (Reflect.get(target, member) as (...args: readonly unknown[]) => unknown)(...args);
        },
    });
  const TenantObject = new Proxy(exports.TenantObject, {
    get: (target, member) =>
      member === "getByName"
        ? (name: string) => cutOff(target.getByName(name))
        : (Reflect.get(target, member) as unknown),
  });
  const headers = { authorization: `Bearer ${ROOT}` };
  const request = new Request(`https://mcp.example.com/rows/admin/v1/tenants/${id}`, { method: "DELETE", headers });
  const cut = await mcp.fetch(request, { ...bindings, TenantObject }, createExecutionContext());
  expect(cut.status).toBe(500);
  isCut = false;
  rows.set(id, { maxStalenessMs: 50 });
  await mcp.tenant(bindings, id).invalidate();
  expect(await stateOf(id)).toBe("deleting");
  await expect(answerOf(id, "kept")).rejects.toMatchObject({ code: "unknownTenant" });
  expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(204);
  await mcp.tenant(bindings, id).invalidate();
  expect(await answerOf(id, "kept")).toContain("nothing");
});

describe("an open stream", () => {
  it.each(["changed() says so", "somebody else is refused"])("ends once %s", async (how) => {
    const id = await keeping();
    const headers = await sessionAt(worker, id);
    const stream = readerOf(await sendTo(worker, id, { method: "GET", headers, at: bindings }));
    rows.delete(id);
    const ended = stream.until("never said");
    if (how === "changed() says so") await mcp.tenant(bindings, id).invalidate();
    else await expect.poll(() => refusedBy(id)).toBe("unknownTenant");
    expect(await ended).not.toContain("never said");
  });
});
