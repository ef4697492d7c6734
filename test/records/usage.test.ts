// `usage()`: what is called is counted once, whoever dies or is late, and given out the same again.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createWorker, defineTool, gateway, usage } from "../../src/tenantry.ts";
import type { UsageLine } from "../../src/deployment/record-readers.ts";
import { FLUSH_AFTER_MS } from "../../src/records/usage.ts";
import {
  RETAINED_DAYS,
  HOUR_MS,
  RETAINED_HOURS,
  MAX_ROWS_PER_HOUR,
  usageStore,
} from "../../src/records/usage-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { appOf, adminEnv, adminOptions, newTenant, ORIGIN, ROOT } from "../support/workerd/admin.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { withStore, tenantOf, type FreshTenant } from "../support/workerd/tenant.ts";
import { workerAt } from "../support/workerd/upstreams.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const HOUR = NOW / HOUR_MS;
const ZERO = { profile: "", upstream: "", errors: 0, refused: 0, bytesIn: 1, bytesOut: 1 };
const line = (name: string, more: Partial<UsageLine> = {}): UsageLine => ({
  ...ZERO,
  time: HOUR,
  kind: "tool",
  name,
  calls: 1,
  ...more,
});
const everything = { by: "hour", from: 0, to: 2 ** 40, open: true, after: null } as const;

describe("the object of a tenant", () => {
  it("counts a batch once, however often it is sent", async () => {
    await withStore(usageStore, ({ methods }) => {
      const number = { source: "isolate", sequence: 1 };
      expect([methods.add(number, [line("add")]), methods.add(number, [line("add")])]).toEqual([true, false]);
      expect(methods.add({ source: "isolate", sequence: 2 }, [line("add", { calls: 2 })])).toBe(true);
      expect(methods.lines(everything).lines).toEqual([line("add", { calls: 3, bytesIn: 2, bytesOut: 2 })]);
    });
  });

  it("reads a few rows for each thing that it counts, however many there are", async () => {
    await withStore(usageStore, ({ methods, rowsFor }) => {
      const lines = Array.from({ length: MAX_ROWS_PER_HOUR }, (_, at) => line(`tool-${at}`));
      methods.add({ source: "one", sequence: 1 }, lines);
      expect(rowsFor(() => methods.add({ source: "one", sequence: 2 }, lines))).toBeLessThan(4 * MAX_ROWS_PER_HOUR);
    });
  });

  it("never changes an hour that is closed: what comes late counts in the one that is open", async () => {
    await withStore(usageStore, ({ methods, clock }) => {
      methods.add({ source: "one", sequence: 1 }, [line("add")]);
      clock.now = NOW + HOUR_MS + 300_000;
      expect(methods.lines({ ...everything, open: false }).lines).toEqual([line("add")]);
      methods.add({ source: "late", sequence: 1 }, [line("add", { calls: 7 })]);
      expect(methods.lines({ ...everything, open: false }).lines).toEqual([line("add")]);
      expect(methods.lines(everything).lines[1]).toMatchObject({ time: HOUR + 1, calls: 7 });
    });
  });

  it("goes on after a page where it ended", async () => {
    await withStore(usageStore, ({ methods }) => {
      const names = Array.from({ length: MAX_ROWS_PER_HOUR }, (_, at) => `tool-${1000 + at}`);
      methods.add(
        { source: "one", sequence: 1 },
        names.map((name) => line(name)),
      );
      methods.add({ source: "one", sequence: 2 }, [line("tool-1000", { time: HOUR - 0.5 }), line("late")]);
      const first = methods.lines(everything).lines;
      const next = methods.lines({ ...everything, after: first.at(-1) ?? null }).lines;
      expect(first.length).toBe(500);
      // Of more things than are told apart, the others are one.
      expect([...first, ...next].filter(({ name }) => name === "")).toMatchObject([{ calls: 1 }]);
      expect(new Set([...first, ...next].map(({ name }) => name)).size).toBe(MAX_ROWS_PER_HOUR + 1);
    });
  });

  it("tells what is old by the day, then not at all, and by days the same before and after", async () => {
    await withStore(usageStore, async ({ methods, open, clock, sql }) => {
      methods.add({ source: "one", sequence: 1 }, [line("add")]);
      const days = { ...everything, by: "day" } as const;
      const before = methods.lines(days).lines;
      expect(before).toEqual([line("add", { time: Math.floor(HOUR / 24) })]);
      clock.now = NOW + (RETAINED_HOURS + 24) * HOUR_MS;
      await open.alarm?.(clock.now);
      expect(methods.lines(everything).lines).toEqual([]);
      expect(methods.lines(days).lines).toEqual(before);
      expect(sql.exec("SELECT * FROM usage_batches").toArray()).toEqual([]);
      clock.now = NOW + (RETAINED_DAYS + 2) * 24 * HOUR_MS;
      expect(await open.alarm?.(clock.now)).toBeUndefined();
      expect(methods.lines(days).lines).toEqual([]);
    });
  });

  it("gives many days out page by page, each day once and in order", async () => {
    await withStore(usageStore, async ({ methods, open, clock, sql, rowsFor }) => {
      const [hours, things, first] = [30 * 24, 300, HOUR - (HOUR % 24) - 30 * 24];
      sql.exec(
        `WITH RECURSIVE hours(hour) AS (SELECT ?1 UNION ALL SELECT hour + 1 FROM hours WHERE hour + 1 < ?1 + ?2),
           things(thing) AS (SELECT 1 UNION ALL SELECT thing + 1 FROM things WHERE thing < ?3)
         INSERT INTO usage_hours SELECT hour, '', 'tool', 'tool-' || thing, '', 1, 0, 0, 2, 3 FROM hours, things`,
        first,
        hours,
        things,
      );
      // Ten days are told by the day already.
      clock.now = (first + 10 * 24 + RETAINED_HOURS) * HOUR_MS;
      await open.alarm?.(clock.now);
      const told: UsageLine[] = [];
      for (let after: UsageLine | null = null; ; after = told.at(-1) ?? null) {
        let lines: readonly UsageLine[] = [];
        const read = rowsFor(() => ({ lines } = methods.lines({ ...everything, by: "day", after })));
        // A page is not made from all hours that are kept.
        expect(read).toBeLessThan(6 * 24 * things);
        if (lines.length === 0) break;
        told.push(...lines);
      }
      expect(new Set(told.map(({ time, name }) => `${time} ${name}`)).size).toBe(30 * things);
      expect(told.length).toBe(30 * things);
      expect(told.every(({ calls, bytesOut }) => calls === 24 && bytesOut === 72)).toBe(true);
      expect(told.map(({ time }) => time)).toEqual(told.map(({ time }) => time).toSorted((one, other) => one - other));
      const some = methods.lines({ ...everything, by: "day", from: first / 24 + 20, to: first / 24 + 21 }).lines;
      expect(some.map(({ time }) => time)).toEqual(Array.from({ length: things }, () => first / 24 + 20));
    });
  });
});

const tools = [
  defineTool({ name: "add", handler: () => "added" }),
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
const worker = createWorker({ tenants: {}, tools, features: [gateway(), usage()], hooks: { onError: () => {} } });
const message = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const ERAS = {
  "2025": () => ({ headers: {}, more: {} }),
  "2026": (name: string) => ({
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
    more: { _meta: META },
  }),
};

/** What is counted is handed over when `now` is called, not after ten seconds. */
function handedOver(): { readonly now: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const wait = scheduler.wait.bind(scheduler);
  vi.spyOn(scheduler, "wait").mockImplementation((ms, options) =>
    ms === FLUSH_AFTER_MS ? promise : wait(ms, options),
  );
  onTestFinished(() => void vi.restoreAllMocks());
  return { now: () => resolve(undefined) };
}

const counted = async (tenant: FreshTenant, name: string) =>
  (await createRpcClient(tenant.stub, usageStore).lines(everything)).lines.find((one) => one.name === name);

describe.each(["2025", "2026"] as const)("a call of era %s", (era) => {
  it("is counted by tool, with what it ended in, and without waiting for the object", async () => {
    const handing = handedOver();
    const tenant = await servedTenant({
      mode: "open",
      limits: { addressToolCalls: 3 },
      tools: { "*": { enabled: true } },
    });
    const call = async (name: string) => {
      const { headers, more } = ERAS[era](name);
      const answered = await sendTo(worker, tenant.id, {
        message: message("tools/call", { name, arguments: {}, ...more }),
        headers,
      });
      return answered.text();
    };
    expect(await call("add")).toContain("added");
    expect(await call("fail")).toContain("isError");
    for (let at = 0; at < 3; at += 1) await call("add");
    await call("nobody made this up");
    expect(await counted(tenant, "add")).toBeUndefined();
    handing.now();
    await expect.poll(() => counted(tenant, "add")).toMatchObject({ calls: 4, errors: 0, refused: 1 });
    expect(await counted(tenant, "fail")).toMatchObject({ calls: 1, errors: 1, refused: 0 });
    expect(await counted(tenant, "")).toMatchObject({ kind: "tool", calls: 1 });
    const { bytesIn = 0, bytesOut = 0 } = (await counted(tenant, "fail")) ?? {};
    expect([bytesIn > 50, bytesOut > 50]).toEqual([true, true]);
  });
});

it("counts tools of upstreams under their own, on /mcp and on /gateway", async () => {
  handedOver().now();
  const tenant = await servedTenant({ mode: "open", upstreams: { up: { url: workerAt(upstream), era: "2025" } } });
  const at = async (path: string, body: object) => {
    const headers = { accept: "application/json", "content-type": "application/json" };
    const request = new Request(`https://mcp.example.com/${path}/${tenant.id}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return (await worker.fetch(request, env, createExecutionContext())).text();
  };
  await expect.poll(() => at("mcp", message("tools/list", {})), { timeout: 10_000 }).toContain("up__go");
  expect(await at("mcp", message("tools/call", { name: "up__go", arguments: {} }))).toContain("gone");
  expect(await at("gateway", { server_id: "up", ...message("tools/call", { name: "go", arguments: {} }) })).toContain(
    "gone",
  );
  await expect.poll(() => counted(tenant, "up__go")).toMatchObject({ calls: 2, upstream: "up" });
});

describe("the admin API", () => {
  const features = [gateway(), usage()];
  const app = appOf({ ...adminOptions, features });
  const decoder = new TextDecoder();
  const get = async (path: string, to = app) => {
    const request = new Request(`${ORIGIN}/admin/v1${path}`, { headers: { authorization: `Bearer ${ROOT}` } });
    const response = await to.fetch(request, adminEnv);
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      text: decoder.decode(await response.arrayBuffer()),
    };
  };

  it("gives a closed hour out as the same lines, each with an id of its own, and nothing of another tenant", async () => {
    const [id, other] = [await newTenant(), await newTenant()];
    const time = Math.floor(Date.now() / HOUR_MS);
    const add = (to: string, sequence: number, rows: UsageLine[]) =>
      createRpcClient(tenantOf(to).stub, usageStore).add({ source: "test", sequence }, rows);
    await add(id, 1, [line("add", { time }), line("sub", { time, profile: "p" })]);
    await add(other, 1, [line("secret", { time })]);
    const open = await get(`/tenants/${id}/usage/calls?open=1`);
    const lines = open.text
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one) as Record<string, unknown>);
    expect([open.status, open.type, lines.length]).toEqual([200, "application/x-ndjson", 2]);
    expect(lines).toMatchObject([
      { tenant: id, name: "add", profile: null, calls: 1, closed: false },
      { name: "sub", profile: "p" },
    ]);
    expect(new Set(lines.map((one) => one["id"])).size).toBe(2);
    expect(await get(`/tenants/${id}/usage/calls?open=1`)).toEqual(open);
    // Not closed yet.
    expect((await get(`/tenants/${id}/usage/calls`)).text).toBe("");
    const late = new Date((time + 2) * HOUR_MS).toISOString();
    expect((await get(`/tenants/${id}/usage/calls?open=1&from=${late}`)).text).toBe("");
  });

  it("says where nothing is counted", async () => {
    const id = await newTenant();
    const none = await get(`/tenants/${id}/usage/calls`, appOf());
    expect([none.status, none.text]).toEqual([409, expect.stringContaining("usage()")]);
  });
});
