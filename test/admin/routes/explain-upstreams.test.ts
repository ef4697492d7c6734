import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { STATE_WORDS, type Explanation, type Infer } from "../../../src/admin/contract.ts";
import { admin, createWorker, gateway } from "../../../src/tenantry.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { adminEnv, ORIGIN, ROOT } from "../../support/workerd/admin.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [admin(), gateway()] });

async function send(path: string, init: RequestInit): Promise<Response> {
  const ctx = createExecutionContext();
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const request = new Request(`${ORIGIN}${path}`, { headers, ...init });
  const response = await worker.fetch(request, { ...env, ...adminEnv }, ctx);
  const whole = new Response(await response.text(), response);
  await waitOnExecutionContext(ctx);
  return whole;
}

interface Tool {
  readonly name: string;
  readonly inputSchema: JsonObject;
}

const OBJECT = { type: "object" };

/** Of era 2025, with these tools; `isDown` is asked before each answer. */
function upstream(tools: readonly Tool[], isDown: () => boolean = () => false): string {
  return upstreamAt(async (request) => {
    if (isDown()) return new Response("away", { status: 502 });
    const { id, method } = await request.json<{ id?: number; method: string }>();
    if (id === undefined) return new Response(null, { status: 202 });
    const serverInfo = { name: "up", version: "1" };
    const results: Readonly<Record<string, JsonObject>> = {
      initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo },
      "tools/list": { tools },
    };
    const result = results[method];
    return Response.json({ jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) });
  });
}

async function tenantWith(upstreams: JsonObject): Promise<string> {
  const id = `t-${crypto.randomUUID().slice(0, 8)}`;
  const document = { mode: "open", maxStalenessMs: 50, upstreams };
  const made = await send("/admin/v1/tenants", { method: "POST", body: JSON.stringify({ id, document }) });
  expect(made.status).toBe(201);
  return id;
}

/** Has the upstreams read. */
async function toolsOf(id: string): Promise<readonly string[]> {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const answered = await send(`/mcp/${id}`, { method: "POST", headers: TYPED, body: JSON.stringify(message) });
  const { result } = await answered.json<{ result: { tools: readonly Tool[] } }>();
  return result.tools.map(({ name }) => name);
}

const TYPED = { "content-type": "application/json" };

async function explain(id: string, name: string): Promise<Infer<typeof Explanation>> {
  const query = new URLSearchParams({ kind: "tools", name });
  return (await send(`/admin/v1/tenants/${id}/explain?${query}`, { method: "GET" })).json();
}

/** What is said of sources. */
async function sourcesIn(id: string, name: string): Promise<readonly string[]> {
  return (await explain(id, name)).reasons.filter((reason) => reason.startsWith("source "));
}

describe("explain", () => {
  it("says why a definition of an upstream is left out", async () => {
    const id = await tenantWith({
      sums: {
        url: upstream([
          { name: "add", inputSchema: OBJECT },
          { name: "bad", inputSchema: { type: "string" } },
          { name: "worse", inputSchema: { type: "object", properties: { a: { type: "int" } } } },
        ]),
      },
    });
    await expect.poll(() => toolsOf(id), { timeout: 10_000 }).toEqual(["sums__add"]);
    expect(await sourcesIn(id, "sums__bad")).toEqual([
      "source sums: leaves it out: inputSchema must be a schema of type object",
    ]);
    expect(await sourcesIn(id, "sums__worse")).toEqual([
      expect.stringMatching(/^source sums: leaves it out: inputSchema\./),
    ]);
    expect(await explain(id, "sums__bad")).toMatchObject({ visible: false, callable: false, listedAs: null });
  });

  it("says that an upstream lists nothing under a name, and what was meant", async () => {
    const id = await tenantWith({
      sums: { url: upstream([{ name: "subtract", inputSchema: OBJECT }]) },
      half: { url: upstream([{ name: "bad", inputSchema: { type: "string" } }]) },
    });
    await expect.poll(() => toolsOf(id), { timeout: 10_000 }).toEqual(["sums__subtract"]);
    await expect
      .poll(() => sourcesIn(id, "half__x"), { timeout: 10_000 })
      .toEqual([
        expect.stringMatching(/^source half: degraded: 1 definition is left out/),
        "source half: lists nothing under this name",
      ]);
    expect(await sourcesIn(id, "sums__substract")).toEqual([
      "source sums: lists nothing under this name: did you mean sums__subtract?",
    ]);
    // Nearer than a third of its letters, but for what all names of this upstream begin with.
    expect(await sourcesIn(id, "sums__subject")).toEqual(["source sums: lists nothing under this name"]);
    expect(await sourcesIn(id, "sums__renamed_away")).toEqual(["source sums: lists nothing under this name"]);
    expect((await explain(id, "sum_subtract")).reasons[0]).toBe(
      "tools: nothing is listed or callable as sum_subtract: did you mean sums__subtract?",
    );
  });

  it("says why an upstream could not be read, and nothing of the others", { timeout: 30_000 }, async () => {
    const id = await tenantWith({
      page: { url: upstreamAt(() => new Response("<html>", { headers: { "content-type": "text/html" } })) },
      denied: { url: upstream([]), headers: { authorization: "Bearer {{secret:TOKEN}}" } },
      sums: { url: upstream([{ name: "add", inputSchema: OBJECT }]) },
    });
    await toolsOf(id);
    const of = (name: string) => expect.poll(() => sourcesIn(id, name), { timeout: 10_000 });
    await of("page__x").toEqual(["source page: not read: the server answered 200 (text/html), not MCP"]);
    await of("denied__x").toEqual(["source denied: not read: this tenant has no secret TOKEN"]);
    await of("sums__add").toEqual([]);
    // Nobody is named by it: whoever is not whole may have it.
    expect((await sourcesIn(id, "add")).map((reason) => reason.split(":")[0])).toEqual([
      "source page",
      "source denied",
    ]);
  });

  it("has the word for an upstream's state that the upstream itself is shown with", { timeout: 30_000 }, async () => {
    const id = await tenantWith({
      away: { url: upstreamAt(() => new Response(null, { status: 500 })) },
      half: { url: upstream([{ name: "bad", inputSchema: { type: "string" } }]) },
      off: { url: upstream([{ name: "add", inputSchema: OBJECT }]), enabled: false },
    });
    const words = async () => {
      await toolsOf(id);
      const of = ["away", "half", "off"].map(async (name) => {
        const path = `/admin/v1/tenants/${id}/upstreams/${name}`;
        const { state } = await (await send(path, { method: "GET" })).json<{ state: keyof typeof STATE_WORDS }>();
        const [text = ""] = await sourcesIn(id, `${name}__x`);
        return [STATE_WORDS[state], text.split(": ")[1]];
      });
      return Promise.all(of);
    };
    await expect.poll(words, { timeout: 10_000 }).toEqual([
      ["not read", "not read"],
      ["degraded", "degraded"],
      ["switched off", "switched off"],
    ]);
  });

  it("says since when the upstream of a listed tool cannot be read", async () => {
    let isDown = false;
    const id = await tenantWith({ sums: { url: upstream([{ name: "add", inputSchema: OBJECT }], () => isDown) } });
    await expect.poll(() => toolsOf(id), { timeout: 10_000 }).toEqual(["sums__add"]);
    isDown = true;
    await send(`/admin/v1/tenants/${id}/upstreams/sums/refresh`, { method: "POST" });
    expect(await sourcesIn(id, "sums__add")).toEqual([
      expect.stringMatching(
        /^source sums: last good: the server answered 502 \(text\/plain\).* since 20\S+Z, with the definitions of that time$/,
      ),
    ]);
    expect(await explain(id, "sums__add")).toMatchObject({ visible: true, callable: true });
  });
});

describe("an upstream that redirects to another URL", () => {
  const LOCATION = "https://user:pass-word@elsewhere.example.com:8443/private?token=t0ken#part";
  const TOLD = "the server redirects to another URL (307)";
  const LEADS = `${TOLD}; the target is elsewhere.example.com:8443`;

  it("is shown with the host to operators, and without it to callers", async () => {
    let isMoved = false;
    const known = upstream([{ name: "add", inputSchema: OBJECT }], () => false);
    const url = upstreamAt((request) =>
      isMoved
        ? new Response(null, { status: 307, headers: { location: LOCATION } })
        : fetch(new Request(known, request)),
    );
    const id = await tenantWith({ sums: { url, era: "2025" }, never: { url: upstreamAt(sendsOn), era: "2025" } });
    expect(await toolsOf(id)).toEqual([]);
    await expect.poll(() => toolsOf(id)).toContain("sums__add");
    isMoved = true;
    const at = `/admin/v1/tenants/${id}/upstreams/sums`;
    const operators = [
      await (await send(`${at}/test`, { method: "POST" })).text(),
      await (await send(`${at}/refresh`, { method: "POST" })).text(),
      await (await send(at, { method: "GET" })).text(),
      (await sourcesIn(id, "sums__gone")).join(),
      (await sourcesIn(id, "never__add")).join(),
    ];
    for (const text of operators) {
      expect(text).toContain(LEADS);
      expect(text).not.toMatch(/pass-word|t0ken|private|part/);
    }
    // The next list is of what was found meanwhile.
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const hello = {
      ...list,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
    };
    const call = { ...list, method: "tools/call", params: { name: "sums__add", arguments: {} } };
    const answerOf = async (message: object) => {
      const answered = await send(`/mcp/${id}`, { method: "POST", headers: TYPED, body: JSON.stringify(message) });
      return answered.text();
    };
    await expect.poll(() => answerOf(list)).toContain(TOLD);
    for (const message of [list, hello, call]) expect(await answerOf(message)).not.toContain("elsewhere");
  });

  function sendsOn(): Response {
    return new Response(null, { status: 307, headers: { location: LOCATION } });
  }
});
