// The calls of one HTTP+SSE stream in the Worker that holds it: what is handed on twice, and what becomes of them when
// their client is gone. The session's object is a real one.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createDoors } from "../../src/sessions/doors.ts";
import type { Endpoint } from "../../src/http/endpoint.ts";
import { EventStream } from "../../src/http/event-stream.ts";
import { Holder } from "../../src/http/era-2025/holder.ts";
import type { Call } from "../../src/protocol/backend.ts";
import { DIALECTS } from "../../src/protocol/era.ts";
import { ANYWHERE, stubOf } from "../../src/tenants/directory/placement.ts";
import { FakeBackend, toolOf } from "../support/fake-backend.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const CALL = JSON.stringify({ jsonrpc: "2.0", id: "mine", method: "tools/call", params: { name: "long" } });

/** Calls of its one tool are run by `run`. */
function held(run: (call: Call) => Promise<never> | Promise<{ kind: "complete"; result: object }>) {
  const calls: Call[] = [];
  class Running extends FakeBackend {
    override callTool = ((_tool, _args, call) => {
      calls.push(call);
      return run(call);
    }) as FakeBackend["callTool"];
  }
  const taken: string[] = [];
  const work: Promise<unknown>[] = [];
  const events = new EventStream({ keepaliveMs: 20_000, ages: false, gone: () => {} });
  const endpoint = {
    request: new Request("https://x.example/mcp/tenant"),
    tenant: "tenant",
    profile: null,
    maxBodyBytes: 1000,
    snapshot: () => ({}),
    admit: () => ({ kind: "admitted" }),
    backend: () => new Running({ tools: [toolOf("long")] }),
    token: null,
    doors: createDoors("tenant", env, { stub: () => stubOf(env, "tenant", ANYWHERE), jurisdiction: null }),
    waitUntil: (one: Promise<unknown>) => {
      work.push(one);
    },
    onError: (error: unknown) => {
      throw error;
    },
  } as unknown as Endpoint;
  const holder = new Holder(
    { endpoint, events, shown: () => {}, taken: (post) => taken.push(post), lost: () => {} },
    {
      dialect: DIALECTS["2024-11-05"],
      unofficial: false,
      capabilities: {},
      profile: null,
      principal: "anonymous",
      nonce: crypto.randomUUID(),
      expires: Date.now() + 3_600_000,
    },
  );
  /** Ends the stream; what it said. */
  const told = async () => {
    events.end();
    return new Response(events.body).text();
  };
  return { holder, calls, taken, work, told };
}

const never = () => new Promise<never>(() => {});

it("what is handed on twice is taken twice, and run once", async () => {
  const { holder, calls, taken, work, told } = held(async () => ({ kind: "complete", result: { content: [] } }));
  holder.take({ posted: CALL, id: "post" });
  await Promise.all(work);
  holder.take({ posted: CALL, id: "post" });
  holder.take({ posted: CALL, id: "another" });
  await Promise.all(work);
  expect([taken, calls.length]).toEqual([["post", "post", "another"], 2]);
  expect((await told()).match(/"id":"mine"/g)).toHaveLength(2);
});

it("a call whose client is gone goes on for half a minute, is cancelled then, and says no more", async () => {
  const { holder, calls, told } = held(never);
  holder.take({ posted: CALL, id: "post" });
  await expect.poll(() => calls.length).toBe(1);
  const signal = calls[0]?.sink.cancelled;
  holder.leave();
  holder.leave();
  vi.advanceTimersByTime(29_999);
  expect(signal?.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal?.aborted).toBe(true);
  expect(await told()).not.toContain("data:");
});

it("a call that is only about to run when its client goes is cancelled as late as others", async () => {
  const { holder, calls } = held(never);
  holder.take({ posted: CALL, id: "post" });
  holder.leave();
  await expect.poll(() => calls.length).toBe(1);
  const signal = calls[0]?.sink.cancelled;
  vi.advanceTimersByTime(30_000);
  expect(signal?.aborted).toBe(true);
});
