// The calls of one HTTP+SSE stream in the Worker that holds it: what is handed on twice, and what becomes of them when
// their client is gone. The session's object is a real one.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { NO_CREDENTIAL } from "../../src/auth/credential.ts";
import type { RequestScope } from "../../src/handlers/request-scope.ts";
import type { NewResource } from "../../src/handlers/resource-store.ts";
import type { Deployment } from "../../src/deployment/deployment.ts";
import { authorizeRequest } from "../../src/endpoint/authorize-request.ts";
import { SseConnection } from "../../src/endpoint/era-2025/sse-connection.ts";
import { EventStream } from "../../src/endpoint/event-stream.ts";
import { RequestContext } from "../../src/endpoint/request-context.ts";
import type { McpRequest } from "../../src/protocol/mcp-request.ts";
import { REVISION_FEATURES } from "../../src/protocol/revisions.ts";
import { failure } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import type { SourceTool, Source } from "../../src/protocol/source.ts";
import { defineTenants } from "../../src/tenants/document/tenant-definition.ts";
import { toolOf } from "../support/fake-request-handlers.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const CALL = JSON.stringify({ jsonrpc: "2.0", id: "mine", method: "tools/call", params: { name: "long" } });

let made = 0;

/** Calls of its one tool are run by `run`. */
async function held(run: (call: McpRequest) => Promise<never> | Promise<{ kind: "complete"; result: JsonObject }>) {
  const calls: McpRequest[] = [];
  const taken: string[] = [];
  /** How often somebody was asked when the client was asked to come back. */
  const lost: number[] = [];
  const work: Promise<unknown>[] = [];
  const events = new EventStream({ keepaliveMs: 20_000, hasMaxAge: false, clientAddress: "", onDisconnect: () => {} });
  const long: SourceTool<RequestScope> = {
    ...toolOf("long").target,
    name: "long",
    call: (_args, call) => {
      calls.push(call);
      return run(call);
    },
  };
  const source: Source<RequestScope> = {
    id: "long",
    state: { kind: "fresh" },
    tools: [long],
    prompts: [],
    resources: [],
    templates: [],
  };
  const deployment: Deployment = {
    catalog: { server: { name: "t", version: "1" }, instructions: undefined, tools: [], prompts: [], resources: [] },
    tenants: new Map(),
    defaultTenant: undefined,
    hooks: {
      onError: (error) => {
        throw error;
      },
    },
    path: "",
    features: [{ name: "long", sources: () => [source] }],
  };
  made += 1;
  const tenant = `tenant-${made}`;
  const known = defineTenants<NewResource>({ [tenant]: {} }).get(tenant) ?? failure("unknownTenant");
  const context = new RequestContext(
    deployment,
    {
      request: new Request(`https://x.example/mcp/${tenant}`),
      env,
      ctx: {
        waitUntil: (one) => {
          work.push(one);
        },
      },
    },
    { tenant, profile: null, path: "", credential: NO_CREDENTIAL, tenantResult: known },
  );
  const entered = await authorizeRequest(context);
  if (isFailure(entered)) throw new Error(entered.message);
  // Whoever asked for the lease may keep watch over all that waits, by timers that stand still here: that is no work of the calls.
  work.length = 0;
  const holder = new SseConnection(
    {
      authorized: entered,
      events,
      sendStoredEvent: () => {},
      acknowledge: (post) => taken.push(post),
      reconnect: () => lost.push(context.subrequestCount),
    },
    {
      revision: REVISION_FEATURES["2024-11-05"],
      unofficial: false,
      capabilities: {},
      profile: null,
      principal: "anonymous",
      nonce: crypto.randomUUID(),
      expires: Date.now() + 3_600_000,
    },
  );
  /** Ends the stream; what it said. */
  const answerOf = async () => {
    events.end();
    return new Response(events.body).text();
  };
  return { holder, calls, taken, lost, context, work, answerOf };
}

const never = () => new Promise<never>(() => {});

it("what is handed on twice is taken twice, and run once", async () => {
  const { holder, calls, taken, work, answerOf } = await held(async () => ({
    kind: "complete",
    result: { content: [] },
  }));
  holder.handlePost({ posted: CALL, id: "post" });
  await Promise.all(work);
  holder.handlePost({ posted: CALL, id: "post" });
  holder.handlePost({ posted: CALL, id: "another" });
  await Promise.all(work);
  expect([taken, calls.length]).toEqual([["post", "post", "another"], 2]);
  expect((await answerOf()).match(/"id":"mine"/g)).toHaveLength(2);
});

it("a call whose client is gone goes on for half a minute, is cancelled then, and says no more", async () => {
  const { holder, calls, answerOf } = await held(never);
  holder.handlePost({ posted: CALL, id: "post" });
  await expect.poll(() => calls.length).toBe(1);
  const signal = calls[0]?.sink.cancelled;
  holder.disconnect();
  holder.disconnect();
  vi.advanceTimersByTime(29_999);
  expect(signal?.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal?.aborted).toBe(true);
  expect(await answerOf()).not.toContain("data:");
});

it("a call that is only about to run when its client goes is cancelled as late as others", async () => {
  const { holder, calls, answerOf } = await held(never);
  holder.handlePost({ posted: CALL, id: "post" });
  holder.disconnect();
  await expect.poll(() => calls.length).toBe(1);
  const signal = calls[0]?.sink.cancelled;
  vi.advanceTimersByTime(30_000);
  expect(signal?.aborted).toBe(true);
  expect(await answerOf()).not.toContain("data:");
});

it("the client is asked to come back when its invocation asked others often enough, as soon as nothing runs", async () => {
  const { promise, resolve } = Promise.withResolvers<{ kind: "complete"; result: JsonObject }>();
  const { holder, lost, context, work, answerOf } = await held(() => promise);
  const tell = (id: string) => {
    holder.handlePost({ posted: CALL, id });
  };
  context.subrequestCount = 2000;
  tell("one");
  tell("two");
  await vi.waitFor(() => {
    expect(work).toHaveLength(2);
  });
  context.subrequestCount = 5000;
  tell("refused");
  holder.reconnectWhenIdle();
  expect(lost).toEqual([]);
  resolve({ kind: "complete", result: { content: [] } });
  await Promise.all(work);
  expect(lost).toHaveLength(1);
  const text = await answerOf();
  expect([text.match(/"result"/g)?.length, text.match(/too many calls at once/g)?.length]).toEqual([2, 1]);
});

it("a client that asks little stays", async () => {
  const { holder, lost, context, work, answerOf } = await held(async () => ({
    kind: "complete",
    result: { content: [] },
  }));
  const before = context.subrequestCount;
  for (const id of ["one", "two", "three"]) holder.handlePost({ posted: CALL, id });
  await Promise.all(work);
  expect(context.subrequestCount - before).toBeLessThan(20);
  expect(context.subrequestCount - before).toBeGreaterThanOrEqual(3);
  expect(lost).toEqual([]);
  expect((await answerOf()).match(/"id":"mine"/g)).toHaveLength(3);
});
