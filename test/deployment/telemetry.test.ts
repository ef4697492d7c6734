// What `telemetry()` tells of requests, in both eras: what went on, whom it was for and what it cost; and never what was sent.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { endLease, stopClock } from "./lease-clock.ts";
import { createWorker, defineTool, telemetry, type Env, type RequestEvent } from "../../src/tenantry.ts";

const ARGUMENT = "an-argument-that-nobody-may-tell";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

const OTHER = `00-${"1".repeat(32)}-${"2".repeat(16)}-00`;

const tools = [
  defineTool({
    name: "asks",
    input: { type: "object", properties: { own: { type: "string" } } },
    handler: async ({ own }, ctx) =>
      (await ctx.fetch("https://api.example.com/", own === undefined ? {} : { headers: { traceparent: own } })).text(),
  }),
  defineTool({
    name: "echo",
    input: { type: "object", properties: { text: { type: "string" } } },
    handler: () => "said",
  }),
  defineTool({
    name: "fails",
    handler: () => {
      throw new Error("broken");
    },
  }),
];

function worldOf(sample?: number, bindings: object = {}) {
  const events: RequestEvent[] = [];
  const faults: unknown[] = [];
  const worker = createWorker({
    // A request may keep the watch over all that waits for two seconds: its lease still holds then.
    tenants: { told: { mode: "open", maxStalenessMs: 5000 } },
    tools,
    hooks: { onError: (...heard) => void faults.push(heard) },
    features: [telemetry({ ...(sample !== undefined && { sample }), to: (event) => void events.push(event) })],
  });
  const send = async (message: unknown, { path = "told", ...headers }: Record<string, string> = {}) => {
    const request = new Request(`https://mcp.example.com/mcp/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: typeof message === "string" ? message : JSON.stringify(message),
    });
    const ctx = createExecutionContext();
    const response = await worker.fetch(request, { ...env, ...bindings } as Env, ctx);
    const text = await response.text();
    await waitOnExecutionContext(ctx);
    return { response, text };
  };
  return { events, faults, send };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const ERAS = [
  { era: "2025", revision: "2025-11-25", meta: {} },
  { era: "2026", revision: "2026-07-28", meta: META },
] as const;

describe.each(ERAS)("in era $era", ({ era, revision, meta }) => {
  const call = (name: string, args: object = {}) => ({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: args, ...(era === "2026" && { _meta: { ...meta, traceparent: PARENT } }) },
  });
  const headersOf = (name: string) => ({
    "mcp-protocol-version": revision,
    ...(era === "2026" ? { "mcp-method": "tools/call", "mcp-name": name } : { traceparent: PARENT }),
  });

  it("sends one event for a call, with its cost, and no argument", async () => {
    const { events, send } = worldOf();
    const message = call("echo", { text: ARGUMENT });
    const { text } = await send(message, headersOf("echo"));
    expect(events).toMatchObject([
      {
        tenant: "told",
        profile: null,
        principal: null,
        era,
        method: "tools/call",
        name: "echo",
        messages: 1,
        status: 200,
        outcome: "complete",
        bytesIn: JSON.stringify(message).length,
        bytesOut: text.length,
        traceId: TRACE,
        errors: 0,
        weight: 1,
        counts: { requests: expect.any(Number) as number },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(ARGUMENT);
  });

  it("counts the lease that a call needed, and none for calls under it", async () => {
    stopClock();
    const { events, send } = worldOf();
    await send(call("echo"), headersOf("echo"));
    await send(call("echo"), headersOf("echo"));
    expect(events.at(-1)).toMatchObject({ policy: "cached", objectCalls: 0 });
    endLease("told");
    await send(call("echo"), headersOf("echo"));
    expect(events.at(-1)).toMatchObject({ policy: "fetched", objectCalls: 1 });
  });

  it("sends every error, whatever the sample, under the id that its client got", async () => {
    const { events, faults, send } = worldOf(0);
    await send(call("echo"), headersOf("echo"));
    expect(events).toEqual([]);
    const { text } = await send(call("fails"), headersOf("fails"));
    const [event] = events;
    expect(event).toMatchObject({ outcome: "toolError", name: "fails", errors: 1, weight: 1 });
    expect(text).toContain(event?.requestId);
    expect(faults).toEqual([
      [
        expect.objectContaining({ message: "broken" }),
        expect.objectContaining({ name: "fails" }),
        { tenant: "told", profile: null, method: "tools/call", name: "fails", requestId: event?.requestId },
      ],
    ]);
  });

  it("makes ctx.fetch send the trace, unless the tool sets another, and never a malformed one", async () => {
    const sent = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("there"));
    const { send } = worldOf(1, { OUTBOUND_ALLOW: "api.example.com" });
    await send(call("asks"), headersOf("asks"));
    await send(call("asks", { own: OTHER }), headersOf("asks"));
    const malformed = JSON.stringify(call("asks")).replace(PARENT, "00-0");
    await send(malformed, { ...headersOf("asks"), ...(era === "2025" && { traceparent: "00-0" }) });
    const traces = sent.mock.calls.map(([, init]) => new Headers(init?.headers).get("traceparent"));
    sent.mockRestore();
    expect(traces).toEqual([PARENT, OTHER, null]);
  });

  it("sends no name that the view does not have", async () => {
    const { events, send } = worldOf();
    await send(call(ARGUMENT), headersOf(ARGUMENT));
    expect(events).toMatchObject([{ method: "tools/call", name: "", outcome: "invalidParams" }]);
    expect(JSON.stringify(events)).not.toContain(ARGUMENT);
  });

  it("sends requests that were refused before a method ran", async () => {
    const { events, send } = worldOf();
    await send("{", { "mcp-protocol-version": revision });
    await send(call("echo"), { ...headersOf("echo"), path: "nobody" });
    await send(call("echo"), { ...headersOf("echo"), authorization: "Bearer tnt_wrong" });
    expect(events.map(({ outcome, status, policy }) => [outcome, status, policy])).toEqual([
      ["parseError", 400, "cached"],
      ["unauthorized", 401, "none"],
      [expect.any(String), expect.any(Number), expect.any(String)],
    ]);
  });
});

it("an event goes to Analytics Engine where that is bound, within its limits", async () => {
  const worker = createWorker({ tenants: { told: { mode: "open" } }, tools, features: [telemetry({ sample: 0 })] });
  const points: { indexes: string[]; blobs: string[]; doubles: number[] }[] = [];
  const bindings = {
    ...env,
    TELEMETRY: { writeDataPoint: (point: (typeof points)[number]) => void points.push(point) },
    TELEMETRY_SAMPLE: "1",
  } as unknown as Env;
  const ctx = createExecutionContext();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const request = new Request("https://mcp.example.com/mcp/told", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  await (await worker.fetch(request, bindings, ctx)).text();
  await waitOnExecutionContext(ctx);
  const [point] = points;
  expect(points).toHaveLength(1);
  expect(point?.indexes).toEqual(["told"]);
  expect(point?.blobs.slice(3, 7)).toEqual(["2025", "tools/list", "", "complete"]);
  expect(point?.blobs.length).toBeLessThanOrEqual(20);
  expect(point?.doubles.length).toBe(20);
});

it("a receiver of events that throws changes no answer, and is reported", async () => {
  const heard = vi.fn();
  const worker = createWorker({
    tenants: { told: { mode: "open" } },
    tools,
    hooks: { onError: heard },
    features: [
      telemetry({
        to: () => {
          throw new Error("no room");
        },
      }),
    ],
  });
  const ctx = createExecutionContext();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const headers = { "content-type": "application/json" };
  const response = await worker.fetch(
    new Request("https://mcp.example.com/mcp/told", { method: "POST", headers, body }),
    env as Env,
    ctx,
  );
  expect(response.status).toBe(200);
  await waitOnExecutionContext(ctx);
  expect(heard.mock.calls).toMatchObject([[{ message: "no room" }, undefined, { method: "telemetry" }]]);
});

it.each([[{ sample: 2 }], [{ sample: "1" }], [{ to: 7 }], [{ sampel: 1 }]])("telemetry() refuses %j", (options) => {
  expect(() => telemetry(options as never)).toThrow(/telemetry/);
});

it("an event names no invented tenant or profile", async () => {
  const { events, send } = worldOf();
  const message = { jsonrpc: "2.0", id: 1, method: "ping" };
  const paths = ["a".repeat(3000), "x%0Ay", "%1b[2J", "none-of-ours", "told/%1b[2J", `told/${"p".repeat(500)}`];
  for (const path of paths) await send(message, { path });
  expect(events.map(({ tenant, profile }) => [tenant, profile])).toEqual([
    ...Array.from({ length: 4 }, () => ["", null]),
    ["told", null],
    ["told", null],
  ]);
});
