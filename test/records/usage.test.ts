// `usage()`: what is called is counted once, whoever dies or is late, and given out the same again.

import { describe, expect, it } from "vitest";
import { createWorker, defineTool, gateway, usage } from "../../src/tenantry.ts";
import type { UsageLine } from "../../src/deployment/record-readers.ts";
import { CallBatches, type HandingHost } from "../../src/records/call-batches.ts";
import { DAYS_KEPT, HOUR_MS, HOURS_KEPT, MOST_THINGS, usageTables } from "../../src/records/usage-tables.ts";
import { AppError } from "../../src/protocol/app-error.ts";
import { LEVELS } from "../../src/telemetry/levels.ts";
import { remote } from "../../src/tenants/authority/tables.ts";
import { appOf, adminEnv, adminOptions, newTenant, ORIGIN, ROOT } from "../support/workerd/admin.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { freshTenant, onBench, type FreshTenant } from "../support/workerd/tenant.ts";
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

describe("the authority", () => {
  it("counts a batch once, however often it is sent", async () => {
    await onBench(usageTables, ({ methods }) => {
      const number = { maker: "isolate", sequence: 1 };
      expect([methods.add(number, [line("add")]), methods.add(number, [line("add")])]).toEqual([true, false]);
      expect(methods.add({ maker: "isolate", sequence: 2 }, [line("add", { calls: 2 })])).toBe(true);
      expect(methods.lines(everything).lines).toEqual([line("add", { calls: 3, bytesIn: 2, bytesOut: 2 })]);
    });
  });

  it("reads a few rows for each thing that it counts, however many there are", async () => {
    await onBench(usageTables, ({ methods, rowsFor }) => {
      const lines = Array.from({ length: MOST_THINGS }, (_, at) => line(`tool-${at}`));
      methods.add({ maker: "one", sequence: 1 }, lines);
      expect(rowsFor(() => methods.add({ maker: "one", sequence: 2 }, lines))).toBeLessThan(4 * MOST_THINGS);
    });
  });

  it("never changes an hour that is closed: what comes late counts in the one that is open", async () => {
    await onBench(usageTables, ({ methods, clock }) => {
      methods.add({ maker: "one", sequence: 1 }, [line("add")]);
      clock.now = NOW + HOUR_MS + 300_000;
      expect(methods.lines({ ...everything, open: false }).lines).toEqual([line("add")]);
      methods.add({ maker: "late", sequence: 1 }, [line("add", { calls: 7 })]);
      expect(methods.lines({ ...everything, open: false }).lines).toEqual([line("add")]);
      expect(methods.lines(everything).lines[1]).toMatchObject({ time: HOUR + 1, calls: 7 });
    });
  });

  it("goes on after a page where it ended", async () => {
    await onBench(usageTables, ({ methods }) => {
      const names = Array.from({ length: MOST_THINGS }, (_, at) => `tool-${1000 + at}`);
      methods.add(
        { maker: "one", sequence: 1 },
        names.map((name) => line(name)),
      );
      methods.add({ maker: "one", sequence: 2 }, [line("tool-1000", { time: HOUR - 0.5 }), line("late")]);
      const first = methods.lines(everything).lines;
      const next = methods.lines({ ...everything, after: first.at(-1) ?? null }).lines;
      expect(first.length).toBe(500);
      // Of more things than are told apart, the others are one.
      expect([...first, ...next].filter(({ name }) => name === "")).toMatchObject([{ calls: 1 }]);
      expect(new Set([...first, ...next].map(({ name }) => name)).size).toBe(MOST_THINGS + 1);
    });
  });

  it("tells what is old by the day, then not at all, and by days the same before and after", async () => {
    await onBench(usageTables, async ({ methods, open, clock, sql }) => {
      methods.add({ maker: "one", sequence: 1 }, [line("add")]);
      const days = { ...everything, by: "day" } as const;
      const before = methods.lines(days).lines;
      expect(before).toEqual([line("add", { time: Math.floor(HOUR / 24) })]);
      clock.now = NOW + (HOURS_KEPT + 24) * HOUR_MS;
      await open.alarm?.(clock.now);
      expect(methods.lines(everything).lines).toEqual([]);
      expect(methods.lines(days).lines).toEqual(before);
      expect(sql.exec("SELECT * FROM usage_batches").toArray()).toEqual([]);
      clock.now = NOW + (DAYS_KEPT + 2) * 24 * HOUR_MS;
      expect(await open.alarm?.(clock.now)).toBeUndefined();
      expect(methods.lines(days).lines).toEqual([]);
    });
  });

  it("reads of the hours what a page of days needs, and each day once", async () => {
    await onBench(usageTables, async ({ methods, open, clock, sql, rowsFor }) => {
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
      clock.now = (first + 10 * 24 + HOURS_KEPT) * HOUR_MS;
      await open.alarm?.(clock.now);
      const told: UsageLine[] = [];
      for (let after: UsageLine | null = null; ; after = told.at(-1) ?? null) {
        let lines: readonly UsageLine[] = [];
        const read = rowsFor(() => ({ lines } = methods.lines({ ...everything, by: "day", after })));
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

describe("the batches", () => {
  interface Given {
    readonly sent: [number: { sequence: number }, batch: string[]][];
    readonly batches: CallBatches<string[]>;
    readonly host: HandingHost;
    readonly work: Promise<unknown>[];
    readonly errors: unknown[];
    fails: number;
  }
  const given = (): Given => {
    const work: Promise<unknown>[] = [];
    const errors: unknown[] = [];
    const { id } = freshTenant();
    const about: Given = {
      sent: [],
      work,
      errors,
      fails: 0,
      batches: new CallBatches<string[]>({
        make: () => [],
        send: async (_stub, number, batch) => {
          about.sent.push([number, [...batch]]);
          if (about.fails-- > 0) throw new Error("the object was reset");
        },
        afterMs: 20,
      }),
      host: {
        tenant: id,
        meant: { incarnation: "" },
        stub: () => ({}),
        waitUntil: (one: Promise<unknown>) => work.push(one),
        onError: (error: unknown) => errors.push(error),
      } as unknown as HandingHost,
    };
    return about;
  };
  const note = ({ batches, host }: Given, text: string) => batches.note(host, (batch) => batch.push(text) / 100);

  it("makes one call of the object for many of a tool, and none while nobody calls", async () => {
    const about = given();
    for (let at = 0; at < 50; at += 1) note(about, "x");
    expect([about.sent.length, about.work.length]).toEqual([0, 1]);
    await Promise.all(about.work);
    expect(about.sent.map(([, { length }]) => length)).toEqual([50]);
  });

  it("sends what was not acknowledged again under its number, and what came since under the next", async () => {
    const about = given();
    about.fails = 3;
    note(about, "first");
    await Promise.all(about.work);
    expect(about.errors.length).toBe(1);
    note(about, "second");
    await Promise.all(about.work);
    const numbers = about.sent.map(([{ sequence }, batch]) => [sequence, ...batch]);
    expect(numbers).toEqual([...Array.from({ length: 4 }, () => [1, "first"]), [2, "second"]]);
  });

  it("tries an object that is away now and then, not at each call, and keeps no more than so much for it", async () => {
    const about = given();
    about.fails = Infinity;
    for (let at = 0; at < 5_000; at += 1) note(about, "x");
    // The first call's, that of the first full batch, and one for what came after that.
    expect(about.work.length).toBe(3);
    await Promise.all(about.work);
    for (let at = 0; at < 5_000; at += 1) note(about, "x");
    await Promise.all(about.work);
    expect(about.sent.length).toBeLessThanOrEqual(5 * 3);
    about.fails = 0;
    about.sent.length = 0;
    await about.batches.flush(about.host);
    expect(about.sent.map(([{ sequence }, { length }]) => [sequence, length])).toEqual([
      [1, 100],
      [2, 800],
    ]);
    expect(about.errors.map(String).at(-1)).toContain("9100 calls were not noted");
  });

  it("has a flush wait for what was noted before it, also where another one sends that", async () => {
    const { host } = given();
    const taken: number[] = [];
    const answers: (() => void)[] = [];
    let isAway = true;
    const batches = new CallBatches<string[]>({
      make: () => [],
      send: async (_stub, { sequence }) => {
        if (isAway) throw new Error("the object was reset");
        await new Promise<void>((resolve) => answers.push(resolve));
        taken.push(sequence);
      },
      afterMs: 60_000,
    });
    const flushed = async (text: string) => {
      batches.note(host, (batch) => batch.push(text) / 100);
      await batches.flush(host);
      return [...taken];
    };
    await expect(flushed("not acknowledged")).rejects.toThrow("reset");
    isAway = false;
    const both = [flushed("one"), flushed("other")];
    const known = await Promise.all(
      both.map(async (one) => {
        for (;;) {
          answers.shift()?.();
          const answered = await Promise.race([one, scheduler.wait(1)]);
          if (answered) return answered;
        }
      }),
    );
    for (const one of known) expect(one).toContain(2);
  });

  it("say how many calls wait to be taken, until they are, or their tenant is gone", async () => {
    const before = LEVELS.backlog;
    const waiting = () => LEVELS.backlog - before;
    const about = given();
    for (let at = 0; at < 50; at += 1) note(about, "x");
    expect(waiting()).toBe(50);
    await Promise.all(about.work);
    expect(waiting()).toBe(0);
    about.fails = 3;
    note(about, "not taken");
    await Promise.all(about.work);
    expect(waiting()).toBe(1);
    note(about, "later");
    expect(waiting()).toBe(2);
    await Promise.all(about.work);
    expect(waiting()).toBe(0);
    const { host } = given();
    const gone = new CallBatches<string[]>({
      make: () => [],
      send: () => Promise.reject(new AppError("unknownTenant")),
      afterMs: 1,
    });
    const work: Promise<unknown>[] = [];
    gone.note({ ...host, waitUntil: (one: Promise<unknown>) => work.push(one) }, (batch) => batch.push("x") / 100);
    expect(waiting()).toBe(1);
    await Promise.all(work);
    expect(waiting()).toBe(0);
  });

  it("does not wait with what is full", async () => {
    const about = given();
    for (let at = 0; at < 100; at += 1) note(about, "x");
    expect(about.work.length).toBe(2);
    await Promise.all(about.work);
    expect(about.sent.map(([, { length }]) => length)).toEqual([100]);
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

const counted = async (tenant: FreshTenant, name: string) =>
  (await remote(tenant.stub, usageTables).lines(everything)).lines.find((one) => one.name === name);

describe.each(["2025", "2026"] as const)("a call of era %s", (era) => {
  it("is counted by tool, with what it ended in, and without waiting for the object", async () => {
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
    await expect
      .poll(() => counted(tenant, "add"), { timeout: 20_000 })
      .toMatchObject({ calls: 4, errors: 0, refused: 1 });
    expect(await counted(tenant, "fail")).toMatchObject({ calls: 1, errors: 1, refused: 0 });
    expect(await counted(tenant, "")).toMatchObject({ kind: "tool", calls: 1 });
    const { bytesIn = 0, bytesOut = 0 } = (await counted(tenant, "fail")) ?? {};
    expect([bytesIn > 50, bytesOut > 50]).toEqual([true, true]);
  }, 120_000);
});

it("counts tools of upstreams under their own, on /mcp and on /gateway", async () => {
  const tenant = await servedTenant({ mode: "open", upstreams: { up: { url: workerAt(upstream), era: "2025" } } });
  const at = async (path: string, body: object) => {
    const headers = { accept: "application/json", "content-type": "application/json" };
    const request = new Request(`https://mcp.example.com/${path}/${tenant.id}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const { env } = await import("cloudflare:workers");
    const { createExecutionContext } = await import("cloudflare:test");
    return (await worker.fetch(request, env, createExecutionContext())).text();
  };
  await expect.poll(() => at("mcp", message("tools/list", {})), { timeout: 10_000 }).toContain("up__go");
  expect(await at("mcp", message("tools/call", { name: "up__go", arguments: {} }))).toContain("gone");
  expect(await at("gateway", { server_id: "up", ...message("tools/call", { name: "go", arguments: {} }) })).toContain(
    "gone",
  );
  await expect.poll(() => counted(tenant, "up__go"), { timeout: 20_000 }).toMatchObject({ calls: 2, upstream: "up" });
}, 120_000);

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
    const { tenantOf } = await import("../support/workerd/tenant.ts");
    const time = Math.floor(Date.now() / HOUR_MS);
    const add = (to: string, sequence: number, rows: UsageLine[]) =>
      remote(tenantOf(to).stub, usageTables).add({ maker: "test", sequence }, rows);
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
