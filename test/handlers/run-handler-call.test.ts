import { describe, expect, it } from "vitest";
import { runHandlerCall, type RunnableHandler } from "../../src/handlers/run-handler-call.ts";
import type { CallContext } from "../../src/handlers/call-context.ts";
import type { RequestScope, Hooks } from "../../src/handlers/request-scope.ts";
import { toolResult } from "../../src/handlers/results.ts";
import { CALL_LIFETIME_MS } from "../../src/handlers/request-state.ts";
import { AppError } from "../../src/protocol/app-error.ts";
import type { McpRequest } from "../../src/protocol/mcp-request.ts";
import type { CallOutcome } from "../../src/protocol/call-outcome.ts";
import { REVISION_FEATURES } from "../../src/protocol/revisions.ts";
import { callOf, requestScopeOf, RecordingSink } from "../support/workerd/calls.ts";
import { freshTenant, rowsOf } from "../support/workerd/tenant.ts";

type Work = (ctx: CallContext) => unknown;

interface About {
  readonly call?: Partial<McpRequest>;
  readonly host?: Partial<RequestScope>;
  readonly timeoutMs?: number;
}

const PARAMS = { name: "tool", arguments: {} };

function run(work: Work, { call, host: requestScope, timeoutMs = 60_000 }: About = {}): Promise<CallOutcome> {
  const handling: RunnableHandler<unknown> = {
    name: "tool",
    timeoutMs,
    handler: work,
    toResult: (returned) => toolResult(returned, undefined),
  };
  return runHandlerCall(handling, callOf({ params: PARAMS, ...call }), requestScopeOf(freshTenant(), requestScope));
}

function textOf(outcome: CallOutcome): unknown {
  return outcome.kind === "complete" && "content" in outcome.result ? outcome.result : outcome;
}

const errorText = (text: string) => ({ content: [{ type: "text", text }], isError: true });

describe("an outcome", () => {
  it("is the result that the handler returned", async () => {
    expect(textOf(await run(() => "done"))).toEqual({ content: [{ type: "text", text: "done" }] });
  });

  it("is where to look for what was thrown, and the operator gets the thing itself, and of which call it is", async () => {
    for (const thrown of [new TypeError("no such city"), "just a text"]) {
      const errors: unknown[] = [];
      const hooks: Hooks = { onError: (...told) => errors.push(told) };
      expect(textOf(await run(() => Promise.reject(thrown as Error), { host: { hooks } }))).toEqual(
        errorText("Internal error: the server's log says why, under request request-1"),
      );
      expect(errors).toEqual([[thrown, expect.objectContaining({ name: "tool", requestId: "request-1" })]]);
    }
  });

  it("is the table's own for an error of the table", async () => {
    const busy = new AppError("busy", { retryAfter: 5, cause: new Error("kv key body/acme/1") });
    expect(await run(() => Promise.reject(busy))).toEqual({ kind: "failure", error: "busy", retryAfter: 5 });
  });

  it("is an error for what cannot be sent, also when it cannot even be written", async () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    for (const structuredContent of [loop, { n: 1n }]) {
      expect(textOf(await run(() => ({ structuredContent })))).toMatchObject({ isError: true });
    }
    expect(textOf(await run(() => 7))).toMatchObject({ isError: true });
  });

  it("names the time limit, and aborts the handler's signal", async () => {
    let signal: AbortSignal | undefined;
    const work: Work = (ctx) => {
      ({ signal } = ctx);
      return new Promise<never>(() => {});
    };
    expect(await run(work, { timeoutMs: 5 })).toMatchObject({ error: "timeout", data: { timeoutMs: 5 } });
    expect(signal?.aborted).toBe(true);
    expect(String(signal?.reason)).toContain("5 ms");
  });

  it("is a failure when the client cancels, and aborts the handler's signal", async () => {
    const sink = new RecordingSink();
    const aborted = Promise.withResolvers<string>();
    const running = run(
      (ctx) =>
        new Promise<never>(() => {
          ctx.signal.addEventListener("abort", () => {
            aborted.resolve(String(ctx.signal.reason));
          });
        }),
      { call: { sink } },
    );
    await scheduler.wait(1);
    sink.cancel();
    expect(await running).toMatchObject({ kind: "failure", error: "cancelled" });
    expect(await aborted.promise).toContain("cancelled");
  });

  it("names the capability that the client lacks, and bothers no operator with it", async () => {
    const errors: unknown[] = [];
    const outcome = await run((ctx) => ctx.sample("q", {}).then(() => ""), {
      call: { capabilities: {} },
      host: { hooks: { onError: (error) => errors.push(error) } },
    });
    expect(outcome).toMatchObject({ error: "missingCapability", data: { requiredCapabilities: { sampling: {} } } });
    expect(errors).toEqual([]);
  });
});

describe("hooks", () => {
  it.each<[string, Work, About]>([
    ["complete", () => "x", {}],
    ["error", () => ({ isError: true }), {}],
    ["error", () => Promise.reject(new Error("x")), {}],
    ["error", () => Promise.reject(new AppError("busy")), {}],
    ["input_required", (ctx) => ctx.roots().then(() => ""), {}],
    ["timeout", () => new Promise<never>(() => {}), { timeoutMs: 1 }],
  ])("learn the end: %s", async (end, work, about) => {
    const ends: string[] = [];
    await run(work, { ...about, host: { hooks: { afterCall: (_event, how) => ends.push(how) } } });
    expect(ends).toEqual([end]);
  });
});

describe("a call that asks", () => {
  const tenant = freshTenant();
  const requestScope = requestScopeOf(tenant);

  /** A call and its continuation, on one tenant with its authority. */
  async function step(work: Work, params: Record<string, unknown> = {}) {
    const handling: RunnableHandler<unknown> = {
      name: "tool",
      timeoutMs: 60_000,
      handler: work,
      toResult: (returned) => toolResult(returned, undefined),
    };
    return runHandlerCall(handling, callOf({ params: { ...PARAMS, ...params } }), requestScope);
  }

  function stateOf(outcome: CallOutcome): string {
    if (outcome.kind !== "inputRequired") throw new Error(`not asked but ${JSON.stringify(outcome)}`);
    return outcome.requestState;
  }

  const rooted = { roots: { roots: [{ uri: "file:///a" }] } };

  it("is continued with its answers, and its abandoned run is aborted", async () => {
    const reasons: unknown[] = [];
    const work: Work = async (ctx) => {
      ctx.signal.addEventListener("abort", () => {
        reasons.push(String(ctx.signal.reason));
      });
      return JSON.stringify(await ctx.roots());
    };
    const first = await step(work);
    expect(first).toMatchObject({ inputRequests: { roots: { method: "roots/list" } } });
    expect(reasons).toEqual(["Error: the call waits for an answer"]);
    const second = await step(work, { requestState: stateOf(first), inputResponses: rooted });
    expect(textOf(second)).toEqual({ content: [{ type: "text", text: '[{"uri":"file:///a"}]' }] });
  });

  it("does once what is done once, however often one state is sent, at once or later", async () => {
    const done: string[] = [];
    const work: Work = async (ctx) => {
      await ctx.roots();
      return ctx.once("pay", async () => {
        await scheduler.wait(5);
        return `receipt ${done.push("paid")}`;
      });
    };
    const params = { requestState: stateOf(await step(work)), inputResponses: rooted };
    const both = await Promise.all([step(work, params), step(work, params)]);
    const results = both.map(textOf);
    expect(results).toContainEqual({ content: [{ type: "text", text: "receipt 1" }] });
    expect(results).toContainEqual({
      ...errorText(""),
      content: [{ type: "text", text: expect.stringContaining("outcome is unknown") }],
    });
    expect(textOf(await step(work, params))).toEqual({ content: [{ type: "text", text: "receipt 1" }] });
    expect(done).toEqual(["paid"]);
  });

  it("stays claimed for as long as any of its states is valid", async () => {
    const [claim] = await rowsOf(tenant, "SELECT max(expires) AS expires FROM once_claims");
    expect(Number(claim?.expires) - Date.now()).toBeGreaterThan(CALL_LIFETIME_MS - 60_000);
  });

  it("is refused with a state of another call, and with answers of no shape", async () => {
    const requestState = stateOf(await step((ctx) => ctx.roots().then(() => "")));
    expect(await step(() => "ran", { requestState, arguments: { other: true } })).toMatchObject({
      error: "invalidParams",
    });
    expect(await step(() => "ran", { inputResponses: [] })).toMatchObject({ error: "invalidParams" });
  });

  it("ends in an error, not in a state, when it asks without end or keeps too much", async () => {
    const work: Work = async (ctx) => {
      await ctx.memo("big", () => "x".repeat(70_000));
      await ctx.roots();
      return "";
    };
    expect(textOf(await step(work))).toMatchObject({ isError: true });
    const endless: Work = async (ctx) => {
      for (let question = 0; ; question += 1) await ctx.roots(`roots ${question}`);
    };
    let outcome = await step(endless);
    let rounds = 1;
    for (; outcome.kind === "inputRequired"; rounds += 1) {
      const inputResponses = Object.fromEntries(
        Object.keys(outcome.inputRequests ?? {}).map((name) => [name, rooted.roots]),
      );
      outcome = await step(endless, { requestState: outcome.requestState, inputResponses });
    }
    expect(textOf(outcome)).toMatchObject({ isError: true });
    expect(rounds).toBe(21);
  });

  it("says in era 2025 where it cannot ask", async () => {
    const outcome = await run((ctx) => ctx.roots().then(() => ""), {
      call: { revision: REVISION_FEATURES["2025-11-25"] },
    });
    expect(outcome).toMatchObject({
      error: "missingCapability",
      message: expect.stringContaining("has no session and stream"),
    });
  });
});
