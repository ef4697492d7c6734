// A tenant that the author's function declares was noted while an operator lifted a block: it kept the block for ever, because it
// was told of it after everybody had been told that it was lifted. Tenants are not told any more, so none can be told too late.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { admin, createWorker, defineTool, type Env } from "../../src/tenantry.ts";
import { ROOT } from "../support/worker/admin.ts";
import { sendTo } from "../support/worker/deployed.ts";

const mcp = createWorker({
  tenants: (id) => (id.startsWith("noted-") ? { maxStalenessMs: 50 } : undefined),
  tools: ["see", "wipe"].map((name) => defineTool({ name, description: name, handler: () => name })),
  features: [admin()],
});

/** Bindings with which this runs before a tenant is noted in the directory. */
function bindingsWith(before: () => Promise<void>): Env {
  const through = (stub: object) =>
    new Proxy(stub as Record<string | symbol, (...args: unknown[]) => unknown>, {
      get: (target, member) => {
        if (typeof target[member] !== "function") return target[member];
        return async (...args: unknown[]) => {
          if (member === "declare") await before();
          return target[member]?.(...args);
        };
      },
    });
  const DirectoryObject = new Proxy(exports.DirectoryObject, {
    get: (target, member) => {
      const found = Reflect.get(target, member) as (...args: unknown[]) => unknown;
      if (member === "getByName" || member === "get")
        return (...args: unknown[]) => through(found.apply(target, args) as object);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
  return Object.assign({ ...env, DirectoryObject }, { ADMIN_TOKEN: ROOT, BRAKE_LEASE_MS: "50" });
}

const plain = { ...env, ADMIN_TOKEN: ROOT, BRAKE_LEASE_MS: "50" } as unknown as Env;

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

/** Runs once. */
function beforeNoting(work: () => Promise<unknown>): Env {
  let isDone = false;
  return bindingsWith(async () => {
    if (isDone) return;
    isDone = true;
    await work();
  });
}

it("a block that is lifted while a tenant is noted is lifted there, too", async () => {
  expect(await ask("POST", "/tools/wipe/block", { note: "Not here" })).toBe(200);
  const slow = beforeNoting(async () => expect(await ask("DELETE", "/tools/wipe/block")).toBe(200));
  await toolsOf("noted-1", slow);
  expect(await toolsOf("noted-1")).toEqual(["see", "wipe"]);
});

it("a block that comes while a tenant is noted stays", async () => {
  expect(await ask("POST", "/tools/wipe/block", { note: "First" })).toBe(200);
  const slow = beforeNoting(async () => {
    expect(await ask("DELETE", "/tools/wipe/block")).toBe(200);
    expect(await ask("POST", "/tools/wipe/block", { note: "Second" })).toBe(200);
  });
  await toolsOf("noted-3", slow);
  expect(await toolsOf("noted-3")).toEqual(["see"]);
  expect(await ask("DELETE", "/tools/wipe/block")).toBe(200);
  await expect.poll(() => toolsOf("noted-3")).toEqual(["see", "wipe"]);
});
