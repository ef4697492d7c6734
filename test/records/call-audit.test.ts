// `callAudit()`: what a tenant chose is recorded of each call, once, in a chain in which a change shows.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { callAudit, createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import {
  callAuditStore,
  FIRST_HASH,
  MAX_RECORDED_BYTES,
  MAX_RECORDED_CALLS,
} from "../../src/records/call-audit-store.ts";
import { redactValue, toRecordedArguments, sha256Of } from "../../src/records/redact-arguments.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { adminEnv, adminOptions, appOf, newTenant, ORIGIN, ROOT } from "../support/workerd/admin.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { withStore, tenantOf, type FreshTenant } from "../support/workerd/tenant.ts";
import { workerAt } from "../support/workerd/upstreams.ts";

const entry = (name: string) => JSON.stringify({ name });
const DAY_MS = 86_400_000;

describe("the record of a call's arguments", () => {
  it("leaves out what is named, by name or path, and what is named like a credential", () => {
    const args = {
      password: "p",
      ssn: "1",
      card: { number: "2", kind: "x" },
      list: [{ ssn: "3", price: 4, other: 5 }],
    };
    expect(redactValue(args, ["ssn", "card.number", "list.*.price"])).toEqual({
      password: "[redacted]",
      ssn: "[redacted]",
      card: { number: "[redacted]", kind: "x" },
      list: [{ ssn: "[redacted]", price: "[redacted]", other: 5 }],
    });
  });

  it("is the same digest for the same arguments in another order, and nothing in clear", async () => {
    const how = { calls: "digest" } as const;
    const one = await toRecordedArguments({ a: 1, b: { c: "clear", d: 2 } }, how);
    expect(one).toEqual(await toRecordedArguments({ b: { d: 2, c: "clear" }, a: 1 }, how));
    expect(Object.keys(one)).toEqual(["sha256", "bytes"]);
    expect(await toRecordedArguments({ a: 2 }, how)).not.toEqual(one);
  });

  it("is the digest alone of what is long", async () => {
    const long = await toRecordedArguments({ text: "x".repeat(10_000) }, { calls: "redacted" });
    expect(long.redacted).toBeUndefined();
  });
});

describe("the record of a tenant", () => {
  it("is a chain, and takes each batch once", async () => {
    await withStore(callAuditStore, async ({ methods }) => {
      const number = { source: "one", sequence: 1 };
      const both = await Promise.all([
        methods.append(number, [entry("a"), entry("b")], 30),
        methods.append(number, [entry("a"), entry("b")], 30),
      ]);
      expect(both).toEqual([true, false]);
      const { anchor, head, calls } = methods.page(0);
      expect([anchor.hash, calls.length, head.sequence]).toEqual([FIRST_HASH, 2, 2]);
      let hash = FIRST_HASH;
      for (const one of calls) expect((hash = await sha256Of(`${hash}\n${one.text}`))).toBe(one.hash);
      expect(head.hash).toBe(hash);
    });
  });

  it("loses what is old, and keeps the hash that the rest begins with", async () => {
    await withStore(callAuditStore, async ({ methods, open, clock }) => {
      await methods.append({ source: "one", sequence: 1 }, [entry("old"), entry("older")], 2);
      clock.now += DAY_MS;
      await methods.append({ source: "one", sequence: 2 }, [entry("new")], 2);
      const last = methods.page(0).calls[1];
      clock.now += 1.5 * DAY_MS;
      expect(await open.alarm?.(clock.now)).toBe(clock.now + DAY_MS / 2);
      const { anchor, calls } = methods.page(0);
      expect(anchor).toEqual({ sequence: 2, hash: last?.hash });
      expect(calls.map(({ text }) => JSON.parse(text) as unknown)).toEqual([{ sequence: 3, name: "new" }]);
    });
  });

  it("loses the oldest calls where there are more than it keeps", async () => {
    await withStore(callAuditStore, async ({ methods, sql }) => {
      await methods.append({ source: "one", sequence: 1 }, [entry("a"), entry("b")], 30);
      sql.exec("UPDATE recorded_call_chain SET head = ?", MAX_RECORDED_CALLS);
      await methods.append({ source: "one", sequence: 2 }, [entry("c")], 30);
      expect(methods.page(0).calls.map(({ sequence }) => sequence)).toEqual([2, MAX_RECORDED_CALLS + 1]);
    });
  });
});

describe("a caller who wants the record of their calls gone", () => {
  it("cannot leave bytes that count for ever, whatever the letters of an argument", async () => {
    await withStore(callAuditStore, async ({ methods, sql, clock, open }) => {
      await methods.append(
        { source: "one", sequence: 1 },
        Array.from({ length: 20 }, () => entry("\u{1f600}ä")),
        1,
      );
      clock.now += 1.5 * DAY_MS;
      await open.alarm?.(clock.now);
      expect(sql.exec<{ bytes: number }>("SELECT bytes FROM recorded_call_chain").one().bytes).toBe(0);
    });
  });

  it("removes with one call no more than that call needs", async () => {
    await withStore(callAuditStore, async ({ methods, sql }) => {
      const all = Array.from({ length: 1500 }, (_, at) => entry(`call-${at}`));
      await methods.append({ source: "one", sequence: 1 }, all, 30);
      sql.exec("UPDATE recorded_call_chain SET bytes = bytes + ?", MAX_RECORDED_BYTES);
      await methods.append({ source: "one", sequence: 2 }, [entry("b")], 30);
      expect(methods.page(0).anchor.sequence).toBe(2);
    });
  });
});

const tools = [
  defineTool({ name: "pay", handler: () => "paid" }),
  defineTool({
    name: "fail",
    handler: () => {
      throw new Error("it broke");
    },
  }),
];
const upstream = createWorker({
  tenants: { acme: { maxStalenessMs: 60_000 } },
  tools: [defineTool({ name: "go", handler: () => "gone" })],
});
const worker = createWorker({ tenants: {}, tools, features: [gateway(), callAudit()], hooks: { onError: () => {} } });
const message = (name: string, args: object, more: object = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args, ...more },
});
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

async function call(era: "2025" | "2026", { id }: FreshTenant, name: string, args: object): Promise<string> {
  const is2026 = era === "2026";
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
  const sent = { message: message(name, args, is2026 ? { _meta } : {}), headers: is2026 ? headers : {} };
  return (await sendTo(worker, id, sent)).text();
}

interface Recorded {
  readonly name: string;
  readonly error: string | null;
  readonly times?: number;
  readonly arguments: { readonly redacted?: object };
}
const recorded = async (tenant: FreshTenant) =>
  (await createRpcClient(tenant.stub, callAuditStore).page(0)).calls.map(({ text }) => JSON.parse(text) as Recorded);
const serving = (audit?: TenantDocument["audit"], limits?: TenantDocument["limits"]) =>
  servedTenant({ mode: "open", ...(audit && { audit }), ...(limits && { limits }) });

describe.each(["2025", "2026"] as const)("a call of era %s", (era) => {
  it("is recorded with who, what, its outcome and its request, and no argument in clear", async () => {
    const tenant = await serving({ calls: "digest" });
    await call(era, tenant, "pay", { to: "clear-text" });
    await call(era, tenant, "fail", {});
    await call(era, tenant, "nobody", {});
    await expect.poll(async () => (await recorded(tenant)).length).toBe(3);
    const entries = await recorded(tenant);
    expect(entries).toMatchObject([
      { sequence: 1, principal: "anonymous", profile: null, method: "tools/call", name: "pay", outcome: "complete" },
      { sequence: 2, name: "fail", outcome: "error" },
      { sequence: 3, name: null, outcome: "error", error: "invalidParams" },
    ]);
    expect(JSON.stringify(entries)).not.toContain("clear-text");
  });

  it("is recorded before it is answered where the tenant says so", async () => {
    const tenant = await serving({ calls: "redacted", redact: ["iban"], wait: true });
    await call(era, tenant, "pay", { iban: "DE1", note: "rent" });
    expect((await recorded(tenant)).map((one) => one.arguments.redacted)).toEqual([
      { iban: "[redacted]", note: "rent" },
    ]);
  });
});

it("calls over a limit are a few entries for many calls", async () => {
  const tenant = await serving({ calls: "digest", days: 7 }, { addressMessages: 10 });
  const calls = Array.from({ length: 40 }, (_, at) => call("2025", tenant, "pay", { at }));
  await Promise.all(calls);
  const counts = async () => {
    const entries = (await recorded(tenant)).filter(({ error }) => error === "limited");
    return { times: entries.reduce((sum, { times = 1 }) => sum + times, 0), entries: entries.length };
  };
  await expect.poll(async () => (await counts()).times).toBe(30);
  expect((await counts()).entries).toBeLessThan(10);
});

it("nothing is recorded of a tenant that chose nothing, or off", async () => {
  const [none, off, on] = [
    await serving(),
    await serving({ calls: "off" }),
    await serving({ calls: "digest", wait: true }),
  ];
  for (const tenant of [none, off, on]) await call("2026", tenant, "pay", {});
  expect([(await recorded(none)).length, (await recorded(off)).length, (await recorded(on)).length]).toEqual([0, 0, 1]);
});

it("tools of upstreams are recorded as they are listed, on /mcp and on /gateway", async () => {
  const upstreams = { up: { url: workerAt(upstream), era: "2025" } } as const;
  const tenant = await servedTenant({ mode: "open", audit: { calls: "redacted", wait: true }, upstreams });
  const at = async (path: string, body: object) => {
    const headers = { accept: "application/json", "content-type": "application/json" };
    const request = new Request(`https://mcp.example.com/${path}/${tenant.id}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return (await worker.fetch(request, env, createExecutionContext())).text();
  };
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  await expect.poll(() => at("mcp", list), { timeout: 10_000 }).toContain("up__go");
  await at("mcp", message("up__go", { a: 1 }));
  await at("gateway", { server_id: "up", ...message("go", { b: 2 }) });
  expect(await recorded(tenant)).toMatchObject([
    { name: "up__go", upstream: "up", arguments: { redacted: { a: 1 } } },
    { name: "up__go", upstream: "up", arguments: { redacted: { b: 2 } } },
  ]);
});

describe("the admin API", () => {
  const app = appOf({ ...adminOptions, features: [gateway(), callAudit()] });
  const decoder = new TextDecoder();
  const get = async (path: string, to = app) => {
    const request = new Request(`${ORIGIN}/admin/v1${path}`, { headers: { authorization: `Bearer ${ROOT}` } });
    const response = await to.fetch(request, adminEnv);
    return { status: response.status, text: decoder.decode(await response.arrayBuffer()) };
  };

  it("gives all of them out as lines, pages of the object one after the other, and nothing of another tenant", async () => {
    const [id, other] = [await newTenant(), await newTenant()];
    const entries = Array.from({ length: 450 }, (_, at) => entry(`call-${at}`));
    await createRpcClient(tenantOf(id).stub, callAuditStore).append({ source: "t", sequence: 1 }, entries, 30);
    await createRpcClient(tenantOf(other).stub, callAuditStore).append(
      { source: "t", sequence: 1 },
      [entry("secret")],
      30,
    );
    const lines = (await get(`/tenants/${id}/calls`)).text.trim().split("\n");
    const kinds = lines.map((one) => (JSON.parse(one) as { kind: string }).kind);
    expect([kinds[0], kinds.at(-1), kinds.filter((kind) => kind === "call").length]).toEqual(["anchor", "head", 450]);
    expect(lines.join("")).not.toContain("secret");
    const last = (await get(`/tenants/${id}/calls?last=2`)).text.trim().split("\n");
    expect(last.map((one) => (JSON.parse(one) as { sequence: number }).sequence)).toEqual([449, 450, 450]);
    expect((await get(`/tenants/${await newTenant()}/calls`)).text).toContain('"kind":"head"');
  });

  it("refuses a document that says audit where nothing records, and says where there is nothing", async () => {
    const id = await newTenant();
    expect(await get(`/tenants/${id}/calls`, appOf())).toMatchObject({ status: 409 });
    const request = new Request(`${ORIGIN}/admin/v1/tenants/${id}/document`, {
      method: "PUT",
      headers: { authorization: `Bearer ${ROOT}`, "content-type": "application/json" },
      body: JSON.stringify({ audit: { calls: "digest" } }),
    });
    const refused = await appOf().fetch(request, adminEnv);
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("callAudit()")]);
  });
});
