import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createWorker, defineTool, type Env } from "../../src/tenantry.ts";
import { evictPolicy, getFreshPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { adminEnv, ask, newTenant, ORIGIN, rules } from "../support/workerd/admin.ts";

const worker = createWorker({
  tools: [
    defineTool({
      name: "write",
      input: z.object({ uri: z.string(), text: z.string() }),
      handler: async ({ uri, text }, { resources }) => (await resources.write({ uri, name: "n", text })).uri,
    }),
  ],
  tenants: { coded: {} },
  hooks: { onError: () => {} },
});

interface Sent {
  readonly status: number;
  readonly body: {
    readonly error?: { readonly code: number; readonly message: string };
    readonly result?: { readonly isError?: boolean; readonly content: readonly { readonly text: string }[] };
  };
}

interface Sending {
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Partial<Env>;
  /** Without a length that is known before. */
  readonly streamed?: boolean;
}

async function send(tenant: string, message: object, sending: Sending = {}): Promise<Sent> {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  const request = new Request(`${ORIGIN}/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...sending.headers },
    body: sending.streamed === true ? new Blob([text]).stream() : text,
  });
  const ctx = createExecutionContext();
  const whole = { ...adminEnv, ...sending.env } as unknown as Env;
  const response = await worker.fetch(request, whole, ctx);
  await waitOnExecutionContext(ctx);
  return { status: response.status, body: await response.json() };
}

/** A `ping` of so many bytes. */
const pingOf = (bytes: number) => {
  const message = { method: "ping", params: { pad: "" } };
  const { length } = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  return { method: "ping", params: { pad: "x".repeat(bytes - length) } };
};

const write = async (tenant: string, uri: string, text = "x") => {
  const { body } = await send(tenant, { method: "tools/call", params: { name: "write", arguments: { uri, text } } });
  return body.result?.content[0]?.text;
};

const put = (tenant: string, uri: string, body = "x") =>
  ask("PUT", `/tenants/${tenant}/resources/content?uri=${uri}`, { body, headers: { "content-type": "text/plain" } });

const TOO_LARGE = {
  status: 413,
  body: { error: { code: -32600, message: "Request body too large: at most 2048 bytes" } },
};

describe.each([
  ["no lease is held", false],
  ["a lease is held", true],
])("bodyBytes, when %s", (_when, leased) => {
  const prepare = async (id: string) => {
    evictPolicy(id);
    if (leased) await send(id, { method: "ping" });
    expect(getFreshPolicy(id) !== undefined).toBe(leased);
  };

  it.each([
    ["2025", "with its length", { headers: { "mcp-protocol-version": "2025-11-25" } }],
    ["2025", "as a stream", { headers: { "mcp-protocol-version": "2025-11-25" }, streamed: true }],
    ["2026", "with its length", { headers: { "mcp-protocol-version": "2026-07-28" } }],
    ["2026", "as a stream", { headers: { "mcp-protocol-version": "2026-07-28" }, streamed: true }],
  ])("refuses what is larger in era %s, sent %s", async (era, _how, sending) => {
    const id = await newTenant({ limits: { bodyBytes: 2048 } });
    await prepare(id);
    expect(await send(id, pingOf(2049), sending)).toMatchObject(TOO_LARGE);
    const { status, body } = await send(id, pingOf(2048), sending);
    // A ping is no method of era 2026, which says so in words of its own.
    expect([status === 413, body.error?.message === TOO_LARGE.body.error.message]).toEqual([false, false]);
    if (era === "2025") expect(status).toBe(200);
  });

  it("cannot exceed the Worker's maximum", async () => {
    const id = await newTenant({ limits: { bodyBytes: 4096 } });
    await prepare(id);
    const strict = { env: { MAX_BODY_BYTES: "2048" } };
    expect(await send(id, pingOf(3000), strict)).toMatchObject(TOO_LARGE);
    expect((await send(id, pingOf(3000))).status).toBe(200);
  });

  it("is not shown to unauthorized callers", async () => {
    const id = await newTenant({ mode: "key", limits: { bodyBytes: 1024 } });
    await prepare(id);
    expect((await send(id, pingOf(5000))).status).toBe(401);
  });

  it("is one tenant's own", async () => {
    const [small, other] = [await newTenant({ limits: { bodyBytes: 1024 } }), await newTenant()];
    await prepare(small);
    expect((await send(other, pingOf(5000))).status).toBe(200);
    expect((await send(small, pingOf(5000))).status).toBe(413);
  });
});

describe("resources", () => {
  it("bounds their number, whoever writes them; an existing one can be replaced", async () => {
    const id = await newTenant({ limits: { resources: 2 } });
    expect(await write(id, "a:1")).toBe("a:1");
    expect((await put(id, "a:2")).status).toBe(201);
    expect(await write(id, "a:3")).toBe("the tenant has reached its limit of 2 resources");
    expect(rules(await put(id, "a:3"))).toEqual([
      409,
      ["limits.resources", "the tenant has reached its limit of 2 resources"],
    ]);
    expect(await write(id, "a:2", "new")).toBe("a:2");
    expect((await put(id, "a:1", "new")).status).toBe(200);
    expect((await ask("GET", `/tenants/${id}/usage`)).body).toMatchObject({ resources: 2, limits: { resources: 2 } });
    await ask("DELETE", `/tenants/${id}/resources/content?uri=a:1`);
    expect(await write(id, "a:3")).toBe("a:3");
  });

  it("of 0 keep a tenant from storing anything", async () => {
    const id = await newTenant({ limits: { resources: 0 } });
    expect(await write(id, "a:1")).toBe("the tenant has reached its limit of 0 resources");
  });
});

describe("resourceBytes", () => {
  it("bounds the size of one, whoever writes it", async () => {
    const id = await newTenant({ limits: { resourceBytes: 4 } });
    expect(await write(id, "a:1", "üü")).toBe("a:1");
    expect(await write(id, "a:1", "üüx")).toBe("resource body: must have at most 4 bytes");
    expect((await put(id, "a:2", "four")).status).toBe(201);
    expect((await put(id, "a:2", "fives")).status).toBe(413);
  });
});

describe("keys", () => {
  it("is how many there are, also when they are made at the same moment", async () => {
    const id = await newTenant({ limits: { keys: 2 } });
    const made = await Promise.all(
      ["a", "b", "c", "d"].map((name) => ask("POST", `/tenants/${id}/keys`, { json: { name } })),
    );
    const refused = made.filter(({ status }) => status !== 201);
    expect(made.length - refused.length).toBe(2);
    for (const one of refused) expect(rules(one)).toEqual([409, ["limits.keys", "at most 2 keys: revoke a key first"]]);
  });
});
