// A tenant that the author's function declares was noted while an operator lifted a block: it kept the block for ever, because it
// was told of it after everybody had been told that it was lifted. So did a tenant that was blocked and lifted at the same time.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { admin, createWorker, defineTool, type Env } from "../../src/tenantry.ts";
import { ROOT } from "../support/worker/admin.ts";
import { sendTo } from "../support/worker/deployed.ts";

const mcp = createWorker({
  tenants: (id) => (id.startsWith("noted-") ? { maxStalenessMs: 50 } : undefined),
  tools: ["see", "wipe"].map((name) => defineTool({ name, description: name, handler: () => name })),
  features: [admin()],
});

/** Bindings whose calls to tenants' objects pass through this first. */
function bindingsWith(before: (method: string, args: readonly unknown[]) => Promise<void>): Env {
  const through = (stub: DurableObjectStub) =>
    new Proxy(stub, {
      get: (target, member) => {
        const found = Reflect.get(target, member) as unknown;
        if (member !== "run") return typeof found === "function" ? found.bind(target) : found;
        return async (tables: string, method: string, args: readonly unknown[], meant: string) => {
          await before(method, args);
          return (target as unknown as { run(...call: unknown[]): Promise<unknown> }).run(tables, method, args, meant);
        };
      },
    });
  const TENANTS = new Proxy(env.TENANTS, {
    get: (target, member) => {
      const found = Reflect.get(target, member) as (...args: unknown[]) => unknown;
      if (member === "getByName" || member === "get")
        return (...args: unknown[]) => through(found.apply(target, args) as DurableObjectStub);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
  return Object.assign({ ...env, TENANTS }, { ADMIN_TOKEN: ROOT });
}

const plain = { ...env, ADMIN_TOKEN: ROOT } as Env;

async function ask(method: string, path: string, json?: unknown, at = plain): Promise<number> {
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const request = new Request(`https://mcp.example.com/admin/v1${path}`, { method, headers, body });
  const { status } = await mcp.fetch(request, at, createExecutionContext());
  return status;
}

const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const toolsOf = async (id: string, at = plain) => {
  const { result } = await (
    await sendTo(mcp, id, { message: list, at })
  ).json<{ result: { tools: { name: string }[] } }>();
  return result.tools.map(({ name }) => name);
};

/** Runs once, before the first call of `blockTool`. */
function beforeBlocking(work: () => Promise<unknown>): Env {
  let isDone = false;
  return bindingsWith(async (method) => {
    if (method !== "blockTool" || isDone) return;
    isDone = true;
    await work();
  });
}

it("a block that is lifted while a tenant is noted is lifted there, too", async () => {
  expect(await ask("POST", "/tools/wipe/block", { note: "Not here" })).toBe(200);
  const slow = beforeBlocking(async () => expect(await ask("DELETE", "/tools/wipe/block")).toBe(200));
  await toolsOf("noted-1", slow);
  expect(await toolsOf("noted-1")).toEqual(["see", "wipe"]);
});

it("a block that is lifted while others are told of it is lifted everywhere", async () => {
  await toolsOf("noted-2");
  const slow = beforeBlocking(async () => expect(await ask("DELETE", "/tools/wipe/block")).toBe(200));
  expect(await ask("POST", "/tools/wipe/block", { note: "Not here" }, slow)).toBe(200);
  await expect.poll(() => toolsOf("noted-2")).toEqual(["see", "wipe"]);
});

it("a block that comes while a tenant is noted stays", async () => {
  expect(await ask("POST", "/tools/wipe/block", { note: "First" })).toBe(200);
  const slow = beforeBlocking(async () => {
    expect(await ask("DELETE", "/tools/wipe/block")).toBe(200);
    expect(await ask("POST", "/tools/wipe/block", { note: "Second" })).toBe(200);
  });
  await toolsOf("noted-3", slow);
  expect(await toolsOf("noted-3")).toEqual(["see"]);
  expect(await ask("DELETE", "/tools/wipe/block")).toBe(200);
  await expect.poll(() => toolsOf("noted-3")).toEqual(["see", "wipe"]);
});
