// A call is sent again only if the document allows it, the tool may run twice, and nothing was answered.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { UpstreamSource } from "../../../src/gateway/upstream-source.ts";
import type { McpRequest } from "../../../src/protocol/mcp-request.ts";
import { failure } from "../../../src/protocol/errors.ts";
import { createWorker, defineTool, gateway } from "../../../src/tenantry.ts";
import { callOf, requestScopeOf, RecordingSink } from "../../support/workerd/calls.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { listedUpstream } from "./listed-upstream.ts";
import { freshTenant } from "../../support/workerd/tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;

interface Failing {
  readonly what: string;
  /** The answer to the call itself; whatever comes before it in a session works. */
  readonly answer: (message: Json, headers: Headers) => Response | Promise<Response>;
  /** Nothing was answered, so that it may be sent again. */
  readonly unanswered: boolean;
}

const JSON_TYPE = { "content-type": "application/json" };
const status = (code: number, headers: Record<string, string> = {}): Failing => ({
  what: `${code} ${JSON.stringify(headers)}`,
  answer: () => new Response("no", { status: code, headers }),
  unanswered: code >= 502 && code <= 504,
});
const refused = (code: number, http = 200): Failing => ({
  what: `error ${code} with ${http}`,
  answer: ({ id }) => Response.json({ jsonrpc: "2.0", id, error: { code, message: "no" } }, { status: http }),
  unanswered: http >= 502 && http <= 504,
});
const thrown = (what: string, about: object): Failing => ({
  what,
  answer: () => {
    throw Object.assign(new TypeError(what), about);
  },
  unanswered: true,
});

function streamOf(...texts: string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
    },
    pull(controller) {
      controller.error(new TypeError("Network connection lost."));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const PROGRESS =
  'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n';

const FAILINGS: readonly Failing[] = [
  thrown("refused connection", { code: "ECONNREFUSED" }),
  thrown("Network connection lost.", {}),
  ...[502, 503, 504].map((code) => status(code)),
  status(503, { "retry-after": "0" }),
  refused(-32603, 503),
  ...[400, 401, 404, 408, 425, 429, 500, 501, 505].map((code) => status(code)),
  status(429, { "retry-after": "0" }),
  status(307, { location: "https://elsewhere.example.com/" }),
  ...[-32603, -32000].map((code) => refused(code)),
  refused(-32603, 500),
  {
    what: "a page",
    answer: () => new Response("<p>", { headers: { "content-type": "text/html" } }),
    unanswered: false,
  },
  { what: "half a JSON", answer: () => new Response('{"jsonrpc"', { headers: JSON_TYPE }), unanswered: false },
  { what: "nothing", answer: () => new Response("", { headers: JSON_TYPE }), unanswered: false },
  { what: "another id", answer: () => Response.json({ jsonrpc: "2.0", id: 999, result: {} }), unanswered: false },
  { what: "a stream that breaks", answer: () => streamOf(": hello\n\n"), unanswered: false },
  { what: "a stream that breaks after progress", answer: () => streamOf(PROGRESS), unanswered: false },
  {
    what: "a result that is an error",
    answer: ({ id }) => Response.json({ jsonrpc: "2.0", id, result: { content: [], isError: true } }),
    unanswered: false,
  },
];

/** What a tool says of itself, and whether it may be called twice. */
const ANNOTATIONS: readonly (readonly [annotations: Json | undefined, mayRepeat: boolean])[] = [
  [undefined, false],
  [{ readOnlyHint: false, idempotentHint: false }, false],
  [{ destructiveHint: false, openWorldHint: false }, false],
  [{ readOnlyHint: "true" }, false],
  [{ readOnlyHint: true }, true],
  [{ idempotentHint: true, destructiveHint: true }, true],
];

const HELLO = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "up", version: "1" } };

/** An upstream that begins sessions without an id, and fails so when it is called. `runs` has when each call came. */
function failing(answer: Failing["answer"]) {
  const runs: number[] = [];
  const url = upstreamAt(async (request) => {
    const message = request.method === "POST" ? await request.json<Json>() : {};
    if (message["method"] === "initialize") return Response.json({ jsonrpc: "2.0", id: message["id"], result: HELLO });
    if (message["id"] === undefined) return new Response(null, { status: request.method === "POST" ? 202 : 405 });
    runs.push(Date.now());
    return answer(message, request.headers);
  });
  return { url, runs };
}

type Way = "2025" | "2026";

const tenant = freshTenant();

async function callsOf(
  { url }: { readonly url: string },
  about: {
    readonly way?: Way;
    readonly retry?: number;
    readonly annotations?: Json | undefined;
    readonly timeoutMs?: number;
  },
  calls = 1,
  host = requestScopeOf(tenant),
) {
  const { way = "2026", annotations = { readOnlyHint: true }, ...more } = about;
  const tool = {
    name: "go",
    inputSchema: { type: "object" },
    ...("annotations" in about ? { annotations: about.annotations } : { annotations }),
  };
  const source = listedUpstream({ url, timeoutMs: 20_000, ...more }, { way, tools: [tool] });
  const outcomes = [];
  for (let at = 0; at < calls; at += 1)
    outcomes.push(await source.tools[0]?.call({}, callOf({ params: { name: "up__go" } }), host));
  return outcomes;
}

describe.each<Way>(["2025", "2026"])("an upstream of era %s", (way) => {
  it.each(FAILINGS)("is sent a call again after $what only where it may be", async ({ answer, unanswered }) => {
    const cases = ANNOTATIONS.flatMap((row) => [undefined, 0, 2].map((retry) => [...row, retry] as const));
    const ran = await Promise.all(
      cases.map(async ([annotations, mayRepeat, retry]) => {
        const upstream = failing(answer);
        await callsOf(upstream, { way, annotations, ...(retry !== undefined && { retry }) });
        const may = mayRepeat && unanswered ? (retry ?? 0) : 0;
        return { annotations, retry, times: upstream.runs.length, expected: 1 + may };
      }),
    );
    expect(ran).toEqual(ran.map((one) => ({ ...one, times: one.expected })));
  });
});

const READS: readonly (readonly [what: string, ask: (source: UpstreamSource, call: McpRequest) => unknown])[] = [
  [
    "resources/read",
    (source, call) => source.resources[0]?.read({ uri: "file:///a", asked: "file:///a" }, call, requestScopeOf(tenant)),
  ],
  ["prompts/get", (source, call) => source.prompts[0]?.get({}, call, requestScopeOf(tenant))],
  [
    "completion/complete",
    (source, call) => source.prompts[0]?.complete({ name: "a", value: "", known: {} }, call, requestScopeOf(tenant)),
  ],
];

describe("an upstream that fails once", () => {
  it.each(READS)("is sent %s again", async (method, ask) => {
    let times = 0;
    const upstream = failing(({ id }) => {
      times += 1;
      return times === 1
        ? new Response("", { status: 503 })
        : Response.json({ jsonrpc: "2.0", id, result: { fine: true } });
    });
    const source = listedUpstream(
      { url: upstream.url, retry: 1 },
      { way: "2026", prompts: [{ name: "p" }], resources: [{ uri: "file:///a", name: "a" }] },
    );
    expect(await ask(source, callOf({ method, params: { name: "p", uri: "file:///a" } }))).toMatchObject({
      kind: "complete",
    });
    expect(times).toBe(2);
  });

  it("is sent a call again that it never got, because its session could not begin", async () => {
    let times = 0;
    const url = upstreamAt(async (request) => {
      const { id, method } = await request.json<Json>();
      if (method === "initialize" && (times += 1) === 1) return new Response("", { status: 502 });
      if (id === undefined) return new Response(null, { status: 202 });
      return Response.json({ jsonrpc: "2.0", id, result: method === "initialize" ? HELLO : { content: [] } });
    });
    expect(await callsOf({ url }, { way: "2025", retry: 1 })).toMatchObject([{ kind: "complete" }]);
    expect(times).toBe(2);
  });
});

describe("a call that may be sent again", () => {
  it("waits as long as the upstream wants", async () => {
    const upstream = failing(() => new Response("", { status: 503, headers: { "retry-after": "1" } }));
    await callsOf(upstream, { retry: 1 });
    const [first = 0, second = 0] = upstream.runs;
    expect(upstream.runs).toHaveLength(2);
    expect(second - first).toBeGreaterThanOrEqual(1000);
  });

  it("fails where the upstream wants more time than the call has", async () => {
    const upstream = failing(() => new Response("", { status: 503, headers: { "retry-after": "60" } }));
    const [outcome] = await callsOf(upstream, { retry: 5, timeoutMs: 1000 });
    expect(outcome).toMatchObject({ kind: "failure", error: "faultyServer", data: { retryAfter: 60 } });
    expect(upstream.runs).toHaveLength(1);
  });

  it("ends within its time, however often it may be sent", async () => {
    const upstream = failing(() => new Response("", { status: 502 }));
    const [outcome] = await callsOf(upstream, { retry: 5, timeoutMs: 700 });
    expect(outcome).toMatchObject({ kind: "failure", error: "faultyServer" });
    expect(upstream.runs.length).toBeGreaterThan(1);
    expect(upstream.runs.length).toBeLessThan(5);
  });

  it("stops where the upstream is left alone, after five failures in a row", async () => {
    const upstream = failing(() => {
      throw new TypeError("Network connection lost.");
    });
    const outcomes = await callsOf(upstream, { retry: 3 }, 3);
    expect(upstream.runs).toHaveLength(5);
    expect(outcomes[2]).toMatchObject({ kind: "failure", message: expect.stringMatching(/try again in/) as string });
  });

  it("is not sent again when its client has gone meanwhile", async () => {
    const sink = new RecordingSink();
    const upstream = failing(() => {
      setTimeout(() => sink.cancel(), 10);
      return new Response("", { status: 503, headers: { "retry-after": "1" } });
    });
    const source = listedUpstream(
      { url: upstream.url, retry: 1 },
      { way: "2026", tools: [{ name: "go", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }] },
    );
    await source.tools[0]?.call({}, callOf({ sink }), requestScopeOf(tenant));
    expect(upstream.runs).toHaveLength(1);
  });

  it("is not sent again when what it is for was withdrawn meanwhile", async () => {
    let requestCount = 0;
    const recheck = async () => ((requestCount += 1) > 1 ? failure("forbidden") : undefined);
    const upstream = failing(() => new Response("", { status: 503 }));
    const [outcome] = await callsOf(upstream, { retry: 2 }, 1, requestScopeOf(tenant, { recheck }));
    expect(outcome).toMatchObject({ kind: "failure", error: "forbidden" });
    expect(upstream.runs).toHaveLength(1);
  });

  it("is not tried again where this Worker itself refuses to send it", async () => {
    const began = Date.now();
    const [outcome] = await callsOf({ url: "https://169.254.169.254/mcp" }, { retry: 5 });
    expect(outcome).toMatchObject({ kind: "failure", error: "unreachableServer" });
    // Five waits are three seconds at least.
    expect(Date.now() - began).toBeLessThan(2500);
  });

  it("counts once against limits", async () => {
    const sums = createWorker({
      tenants: { acme: {} },
      tools: [defineTool({ name: "go", annotations: { readOnlyHint: true }, handler: () => "gone" })],
    });
    const worker = createWorker({ tenants: {}, features: [gateway()] });
    let calls = 0;
    const url = upstreamAt(async (request) => {
      const isCall = (await request.clone().text()).includes('"tools/call"');
      if (isCall && (calls += 1) % 2 === 1) return new Response("", { status: 503 });
      return sums.fetch(request, env, createExecutionContext());
    });
    const { id } = await servedTenant({
      mode: "open",
      maxStalenessMs: 50,
      limits: { addressToolCalls: 2 },
      upstreams: { up: { url, retry: 1 } },
    });
    const ask = async (method: string, params: Json) => {
      const answer = await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params } });
      return { status: answer.status, text: await answer.text() };
    };
    await expect.poll(async () => (await ask("tools/list", {})).text, { timeout: 10_000 }).toContain("up__go");
    const answers = [];
    for (let at = 0; at < 3; at += 1) answers.push(await ask("tools/call", { name: "up__go", arguments: {} }));
    expect(answers.map(({ status: code, text }) => [code, text.includes("gone")])).toEqual([
      [200, true],
      [200, true],
      [429, false],
    ]);
    expect(calls).toBe(4);
  });
});
