import { describe, expect, it, vi } from "vitest";
import { CallContext } from "../../src/handlers/call-context.ts";
import type { RequestScope } from "../../src/handlers/request-scope.ts";
import { createView } from "../../src/catalog/view.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import { StreamElicitor } from "../../src/handlers/stream-elicitor.ts";
import { LATEST_2025 } from "../../src/protocol/revisions.ts";
import type { McpRequest, SessionPort } from "../../src/protocol/mcp-request.ts";
import { REVISION_FEATURES } from "../../src/protocol/revisions.ts";
import type { LogLevel } from "../../src/protocol/meta.ts";
import { callOf, requestScopeOf, RecordingSink } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

function contextOf(about: { call?: Partial<McpRequest>; requestScope?: Partial<RequestScope>; name?: string } = {}) {
  const sink = new RecordingSink();
  const requestScope = requestScopeOf(freshTenant(), about.requestScope);
  const ctx = new CallContext(
    callOf({ sink, ...about.call }),
    requestScope,
    new StreamElicitor({ revision: LATEST_2025, capabilities: {} }, undefined),
    about.name ?? "tool",
  );
  return { ctx, sink };
}

describe("secret", () => {
  const env = { ACME__KEY: "of acme", ACME_CORP__KEY: "of acme-corp", ACME__BINDING: {}, KEY: "of the Worker" };
  const of = (id: string) => contextOf({ requestScope: { env, tenant: id } }).ctx;

  it("is the tenant's own", async () => {
    expect(await of("acme").secret("key")).toBe("of acme");
    expect(await of("acme-corp").secret("KEY")).toBe("of acme-corp");
  });

  it.each(["corp__key", "_corp__key", "corp-key", "../key", "", "key ", "__proto__", "missing", "binding"])(
    "is never another tenant's or something else: %j",
    async (name) => {
      await expect(of("acme").secret(name)).rejects.toThrow(/secret/);
    },
  );

  it("does not say which variable it looked for", async () => {
    await expect(of("acme").secret("missing")).rejects.toThrow(
      /^no secret "MISSING" is set for this tenant: npx tenantry secret set acme MISSING$/,
    );
  });
});

describe("config", () => {
  const policy = { document: { tools: { tool: { config: { limit: 3 } } } }, suspensions: [], deprecatedNames: [] };
  const catalog = {
    server: { name: "t", version: "1" },
    instructions: undefined,
    tools: [],
    prompts: [],
    resources: [],
  };
  const access = createView(createTenantCatalog(catalog, createManagedTenant("acme"), { policy, version: 1 }), {
    profile: null,
    scopes: undefined,
  });
  const requestScope = { access };

  it("is what the tenant says for this tool", () => {
    expect(contextOf({ requestScope }).ctx.config).toEqual({ limit: 3 });
  });

  it.each(["other", "constructor", "__proto__", "toString"])("is nothing for a tool called %s", (name) => {
    expect(contextOf({ requestScope, name }).ctx.config).toBeUndefined();
  });
});

describe("the request", () => {
  const headers = new Headers({
    "accept-language": "de",
    "user-agent": "agent/1",
    "x-forwarded-for": "192.0.2.1",
    authorization: "Bearer x",
    cookie: "a=b",
    "x-api-key": "k",
    "x-auth-token": "t",
    "mcp-session-id": "s",
    "last-event-id": "s~1",
    "tenantry-hops": "1",
    "cf-access-jwt-assertion": "j",
  });

  it("shows its headers without what proves who calls and what is ours", () => {
    const { ctx } = contextOf({ requestScope: { headers } });
    expect([...ctx.request.headers].map(([name]) => name)).toEqual([
      "accept-language",
      "user-agent",
      "x-forwarded-for",
    ]);
    expect(ctx.request.headers.get("Accept-Language")).toBe("de");
    expect(ctx.request.headers.has("authorization")).toBe(false);
  });

  it.each(
    "X-Forwarded-Authorization x-authorization authentication-info x-auth-key x-api_key apikey x-access-credential x-passwd x-jwt-assertion X-Goog-IAP-JWT-Assertion".split(
      " ",
    ),
  )("does not show %s, whichever proxy wrote it", (name) => {
    const { ctx } = contextOf({ requestScope: { headers: new Headers({ [name]: "x", "idempotency-key": "1" }) } });
    expect([...ctx.request.headers]).toEqual([["idempotency-key", "1"]]);
  });

  it("has none where a stored call runs again", () => {
    expect([
      ...contextOf({ requestScope: { headers: new Headers({ "tenantry-hops": "1" }) } }).ctx.request.headers,
    ]).toEqual([]);
  });

  it("has the id that is in the logs", () => {
    expect(contextOf({ requestScope: { requestId: "ray" } }).ctx.requestId).toBe("ray");
  });

  it("has what its client wrote into _meta, without what is the protocol's", () => {
    const _meta = {
      traceparent: "00-1",
      "example.com/a": 1,
      progressToken: 1,
      "io.modelcontextprotocol/logLevel": "x",
    };
    expect(contextOf({ call: { params: { _meta } } }).ctx.meta).toEqual({ traceparent: "00-1", "example.com/a": 1 });
    expect(contextOf().ctx.meta).toEqual({});
  });
});

describe("the client", () => {
  const named = (clientInfo: unknown) =>
    contextOf({ call: { params: { _meta: { "io.modelcontextprotocol/clientInfo": clientInfo } } } }).ctx.client;

  it("is named by each request of era 2026, in a few words", () => {
    expect(named({ name: "n", version: "1", title: "T" })).toEqual({ name: "n", version: "1" });
    expect(named({ name: "n".repeat(100), version: "1" })?.name).toHaveLength(64);
  });

  it.each([undefined, null, {}, { name: 7, version: "1" }, { name: "n" }])("is not known by %j", (info) => {
    expect(named(info)).toBeUndefined();
  });
});

describe("waitUntil", () => {
  it("keeps `fetch` open for its promise, and logs its error", async () => {
    const errors: unknown[] = [];
    const pending: Promise<unknown>[] = [];
    const { ctx } = contextOf({
      requestScope: {
        env: { OUTBOUND_RESOLVER: "off" },
        hooks: { onError: (...told) => errors.push(told) },
        waitUntil: (work) => pending.push(work),
      },
    });
    const fetchMock = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("late"));
    await ctx.fetch("https://example.com/");
    const goOn = Promise.withResolvers<void>();
    const late = goOn.promise.then(async () => (await ctx.fetch("https://example.com/")).text());
    ctx.waitUntil(late);
    const fault = new Error("too late");
    ctx.waitUntil(Promise.reject(fault));
    ctx.close();
    goOn.resolve();
    expect(await late).toBe("late");
    await Promise.all(pending);
    await expect(ctx.fetch("https://example.com/")).rejects.toThrow("the call has ended");
    fetchMock.mockRestore();
    expect(errors).toEqual([[fault, expect.objectContaining({ name: "tool", requestId: "request-1" })]]);
  });
});

describe("progress", () => {
  it("is sent in growing steps to a caller with a token", () => {
    const { ctx, sink } = contextOf({ call: { progressToken: "t" } });
    for (const step of [0, 0, 1, 0.5, Number.NaN, 2]) ctx.progress(step, 2, "of two");
    expect(sink.sent.map(({ params }) => params.progress)).toEqual([0, 1, 2]);
    expect(sink.sent[0]).toEqual({
      method: "notifications/progress",
      params: { progressToken: "t", progress: 0, total: 2, message: "of two" },
    });
  });

  it("is not sent without a token, and 0 is a token", () => {
    const silent = contextOf();
    silent.ctx.progress(1);
    expect(silent.sink.sent).toEqual([]);
    const zero = contextOf({ call: { progressToken: 0 } });
    zero.ctx.progress(1);
    expect(zero.sink.sent).toEqual([{ method: "notifications/progress", params: { progressToken: 0, progress: 1 } }]);
  });
});

describe("log", () => {
  const levels: LogLevel[] = ["debug", "info", "error"];

  it("follows the level that a request of era 2026 asked for", () => {
    for (const [logLevel, sent] of [
      ["info", ["info", "error"]],
      [undefined, []],
    ] as const) {
      const { ctx, sink } = contextOf({ call: { logLevel } });
      for (const level of levels) ctx.log(level, { at: level }, "logger");
      expect(sink.sent.map(({ params }) => params.level)).toEqual(sent);
    }
  });

  function inSession(logLevel: SessionPort["logLevel"]) {
    const session: SessionPort = {
      isUnknownRevision: false,
      logLevel,
      setLogLevel: () => Promise.resolve(),
      subscribe: () => Promise.resolve(true),
      unsubscribe: () => Promise.resolve(),
    };
    return contextOf({ call: { revision: REVISION_FEATURES["2025-11-25"], session } });
  }

  it("asks a session of era 2025 for its level once, and keeps the order", async () => {
    const level = vi.fn(async (): Promise<LogLevel> => "info");
    const { ctx, sink } = inSession(level);
    for (const at of levels) ctx.log(at, at);
    expect(sink.sent).toEqual([]);
    await ctx.pendingLogs;
    ctx.log("alert", "later");
    expect(sink.sent.map(({ params }) => params.data)).toEqual(["info", "error", "later"]);
    expect(level).toHaveBeenCalledOnce();
    expect(ctx.pendingLogs).toBeUndefined();
  });

  it("costs no call its result when the level cannot be read", async () => {
    const { ctx, sink } = inSession(() => Promise.reject(new Error("overloaded")));
    ctx.log("error", "lost");
    await ctx.pendingLogs;
    ctx.log("error", "lost too");
    expect(sink.sent).toEqual([]);
  });

  it("refuses a level that does not exist", () => {
    expect(() => {
      contextOf().ctx.log("loud" as LogLevel, "x");
    }).toThrow("ctx.log: level must be one of debug, info, notice, warning, ");
  });
});

describe("signal", () => {
  it("is aborted with the first reason, also when it is asked for afterwards", () => {
    const { ctx } = contextOf();
    ctx.abort(new Error("first"));
    ctx.abort(new Error("second"));
    expect(String(ctx.signal.reason)).toBe("Error: first");
  });

  it("goes along with what is fetched through ctx, and so does one that the handler brings", async () => {
    const signals: AbortSignal[] = [];
    const fetchMock = vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
      signals.push(new Request(url, init).signal);
      return new Response();
    });
    const { ctx } = contextOf({ requestScope: { env: { OUTBOUND_RESOLVER: "off" } } });
    const own = new AbortController();
    await ctx.fetch("https://example.com/");
    await ctx.fetch("https://example.com/", { signal: own.signal });
    const ended = () => signals.map(({ aborted }) => aborted);
    expect(ended()).toEqual([false, false]);
    own.abort();
    expect(ended()).toEqual([false, true]);
    ctx.abort(new Error("over"));
    expect(ended()).toEqual([true, true]);
    fetchMock.mockRestore();
  });
});
