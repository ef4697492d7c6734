import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import {
  createWorker,
  definePrompt,
  defineResource,
  defineTool,
  gateway,
  links,
  type Context,
  type Env,
} from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { faultyEnv } from "../../support/workerd/faulty-env.ts";
import { OBJECT_FAULTS } from "../../support/workerd/object-faults.ts";
import { rowsOf, type FreshTenant } from "../../support/workerd/tenant.ts";

type Json = Record<string, unknown>;
interface Block {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
}
interface Answer {
  readonly result?: Json & { readonly content?: readonly Block[]; readonly contents?: readonly Json[] };
  readonly error?: { readonly code: number; readonly message: string };
}

const bodies: Record<string, string | Uint8Array | Blob | (() => ReadableStream<Uint8Array>)> = {
  text: "a,b\n1,2\n",
  bytes: Uint8Array.of(0, 255),
  blob: new Blob([Uint8Array.of(0, 255)], { type: "image/png" }),
  stream: () => new Blob([Uint8Array.of(0, 255)]).stream(),
  large: "x".repeat(4 * 1024 * 1024 + 1),
  wide: () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) }),
};

const report = defineTool({
  name: "report",
  input: { type: "object", properties: { body: { type: "string" }, ttl: {}, mimeType: {} } } as const,
  handler: async ({ body = "text", ttl, mimeType }, ctx) => {
    const found = bodies[body] ?? "";
    const options = { name: "Report", ...(ttl !== undefined && { ttl }), ...(mimeType !== undefined && { mimeType }) };
    return ctx.link(typeof found === "function" ? found() : found, options as { name: string });
  },
});
const prompt = definePrompt({
  name: "look",
  handler: async (_args, ctx) => [{ role: "user", content: await ctx.link("in a prompt", { name: "Look" }) }],
});
const store = defineTool({
  name: "store",
  handler: async (_args, ctx) =>
    (await ctx.resources.write({ uri: "tenantry://results/own", name: "o", text: "own" })).uri,
});
/** What was logged since a test began. */
const logged: string[] = [];
beforeEach(() => {
  logged.length = 0;
});
const hearing = { onError: (error: unknown) => logged.push(String(error)) };
const parts = { tools: [report, store], prompts: [prompt], tenants: {}, hooks: hearing };
const WORKERS = {
  "links()": createWorker({ ...parts, features: [links()] }),
  "gateway()": createWorker({ ...parts, features: [gateway()] }),
  both: createWorker({ ...parts, features: [links(), gateway()] }),
};
const without = createWorker(parts);

let isShown = true;
const seen = { name: "seen", visible: () => isShown };
const kept = async (_args: unknown, ctx: Context) => ctx.link("kept", { name: "Kept" });
const hiding = createWorker({
  tenants: {},
  features: [links()],
  tools: [defineTool({ ...seen, handler: kept })],
  prompts: [definePrompt({ ...seen, handler: async (...all) => [{ role: "user", content: await kept(...all) }] })],
  resources: [defineResource({ ...seen, uri: "seen://one", read: async (ctx) => (await kept(undefined, ctx)).uri })],
});

async function keyOf({ stub }: FreshTenant): Promise<string> {
  const { id, token, hash } = await createKey();
  const key = { id, hash, name: "k", scopes: null, profile: null, expires: null };
  await createRpcClient(stub, policyStore).addKey(key, { name: "ann" });
  return token;
}

interface At {
  readonly path: string;
  readonly token?: string;
  readonly address?: string;
  readonly worker?: typeof without;
  readonly env?: Env;
}

async function ask(at: At, method: string, params: Json): Promise<Answer> {
  const { path, token, address, worker = WORKERS["links()"], env } = at;
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(address !== undefined && { "cf-connecting-ip": address }),
  };
  const message = { jsonrpc: "2.0", id: 1, method, params };
  const body = await (await sendTo(worker, path, { message, headers, ...(env && { at: env }) })).text();
  return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body) as Answer;
}

const make = (at: At, args: Json = {}) => ask(at, "tools/call", { name: "report", arguments: args });
const read = (at: At, uri = "") => ask(at, "resources/read", { uri });
const uriIn = ({ result }: Answer) =>
  result?.content?.[0]?.uri ?? /<(.*?)>/.exec(result?.content?.[0]?.text ?? "")?.[1];
const tenantOf = (more = {}) => servedTenant({ mode: "open", maxStalenessMs: 50, ...more });

const KEPT: readonly (readonly [body: string, args: Json, content: Json])[] = [
  ["text", {}, { mimeType: "text/plain", text: "a,b\n1,2\n" }],
  ["text", { mimeType: "text/csv" }, { mimeType: "text/csv", text: "a,b\n1,2\n" }],
  ["bytes", {}, { blob: "AP8=" }],
  ["blob", {}, { mimeType: "image/png", blob: "AP8=" }],
  ["stream", { mimeType: "image/gif" }, { mimeType: "image/gif", blob: "AP8=" }],
];

it.each(Object.entries(WORKERS))(
  "a Worker with %s keeps text, bytes, blobs and streams for the caller",
  async (_name, worker) => {
    const tenant = await tenantOf();
    const at = { path: tenant.id, token: await keyOf(tenant), worker };
    for (const [body, args, content] of KEPT) {
      const uri = uriIn(await make(at, { body, ...args }));
      expect(uri).toMatch(/^tenantry:\/\/results\//);
      expect(await read(at, uri)).toMatchObject({ result: { contents: [{ uri, ...content }] } });
    }
  },
);

describe("content that a tool stores for its caller", () => {
  it("is not read with another key, without a key, in another profile or by another tenant", async () => {
    const tenant = await tenantOf({ profiles: { p: {} } });
    const token = await keyOf(tenant);
    const uri = uriIn(await make({ path: tenant.id, token }));
    const elsewhere = await tenantOf();
    const others: At[] = [
      { path: tenant.id, token: await keyOf(tenant) },
      { path: tenant.id },
      { path: `${tenant.id}/p`, token },
      { path: elsewhere.id, token: await keyOf(elsewhere) },
    ];
    for (const other of others) expect((await read(other, uri)).error?.message).toBe("Resource not found");
    expect((await read({ path: tenant.id, token }, uri)).result?.contents).toHaveLength(1);
    const listed = await ask({ path: tenant.id, token }, "resources/list", {});
    expect(JSON.stringify(listed)).not.toContain("tenantry://");
  });

  it("belongs to the address of a caller without a key", async () => {
    const { id: path } = await tenantOf();
    const uri = uriIn(await make({ path, address: "192.0.2.1" }));
    expect((await read({ path, address: "192.0.2.1" }, uri)).result?.contents).toHaveLength(1);
    expect((await read({ path, address: "192.0.2.2" }, uri)).error?.message).toBe("Resource not found");
  });

  it("may be in a prompt", async () => {
    const tenant = await tenantOf();
    const at = { path: tenant.id, token: await keyOf(tenant) };
    const got = await ask(at, "prompts/get", { name: "look", arguments: {} });
    const uri = /tenantry:\/\/results\/[\w-]+/.exec(JSON.stringify(got))?.[0];
    expect((await read(at, uri)).result?.contents).toMatchObject([{ text: "in a prompt" }]);
  });

  it.each([
    ["tools/call", { name: "seen" }],
    ["prompts/get", { name: "seen" }],
    ["resources/read", { uri: "seen://one" }],
  ])("of %s is read while the caller sees that", async (method, params) => {
    const tenant = await tenantOf();
    const at = { path: tenant.id, token: await keyOf(tenant), worker: hiding };
    isShown = true;
    const uri = /tenantry:\/\/results\/[\w-]+/.exec(JSON.stringify(await ask(at, method, params)))?.[0];
    expect((await read(at, uri)).result?.contents).toMatchObject([{ text: "kept" }]);
    isShown = false;
    expect((await read(at, uri)).error?.message).toBe("Resource not found");
  });

  it("takes no name from what a tenant stores, and the hook hears once of each read", async () => {
    const requests: string[] = [];
    const hooks = {
      beforeCall: ({ method, name }: { method: string; name: string }) => void requests.push(`${method} ${name}`),
    };
    const worker = createWorker({ ...parts, features: [links()], hooks });
    const { id: path } = await tenantOf();
    await ask({ path, worker }, "tools/call", { name: "store", arguments: {} });
    expect((await read({ path, worker }, "tenantry://results/own")).result?.contents).toMatchObject([{ text: "own" }]);
    expect((await read({ path, worker }, "tenantry://results/none")).error?.message).toBe("Resource not found");
    const reads = ["own", "none"].map((name) => `resources/read tenantry://results/${name}`);
    expect(requests).toEqual(["tools/call store", ...reads]);
  });

  it("ends with its time", async () => {
    const tenant = await tenantOf();
    const at = { path: tenant.id, token: await keyOf(tenant) };
    await make(at, { ttl: 60_000 });
    await make(at, { ttl: 86_400_000 });
    const rows = await rowsOf(tenant, "SELECT expires FROM results ORDER BY expires");
    const lasts = rows.map(({ expires }) => Math.round((Number(expires) - Date.now()) / 60_000));
    expect(lasts[0]).toBeGreaterThanOrEqual(1);
    expect(lasts[0]).toBeLessThanOrEqual(2);
    expect(lasts[1]).toBeGreaterThanOrEqual(24 * 60);
    await runDurableObjectAlarm(tenant.object);
  });

  it.each([59_999, 86_400_001, Number.NaN, "1"])("is not kept for %s", async (ttl) => {
    const tenant = await tenantOf();
    const made = await make({ path: tenant.id }, { ttl });
    expect(made.result?.isError).toBe(true);
    expect(logged.join()).toContain("ctx.link: ttl");
  });

  it.each(["large", "wide"])("is refused where it is too long, as text and as bytes: %s", async (body) => {
    const tenant = await tenantOf();
    const made = await make({ path: tenant.id }, { body });
    expect(made.result?.isError).toBe(true);
    expect(logged.join()).toMatch(/at most|longer than/);
    expect(await rowsOf(tenant, "SELECT 1 FROM results")).toEqual([]);
  });
});

describe("an object that fails while something is kept", () => {
  it.each(OBJECT_FAULTS)("is logged once, and the caller gets an error to try again: %s", async (fault) => {
    const tenant = await tenantOf();
    const at = { path: tenant.id, token: await keyOf(tenant) };
    const broken = { ...at, env: faultyEnv(fault, "TenantObject results.put").env };
    expect((await make(broken)).error?.message).toBe("Temporarily unavailable, try again");
    expect(logged).toEqual(["AppError: busy"]);
    expect((await read(at, uriIn(await make(at)))).result?.contents).toHaveLength(1);
    // What was kept though its answer was lost has an end, too.
    const rows = await rowsOf(tenant, "SELECT expires FROM results");
    expect(rows.length).toBe(fault === "is lost on the way back" ? 2 : 1);
    expect(Math.max(...rows.map(({ expires }) => Number(expires)))).toBeLessThanOrEqual(Date.now() + 17 * 60_000);
  });

  it.each(["TenantObject results.getInfo", "TenantObject results.get"])(
    "is no reason to say that a resource is not found: %s",
    async (step) => {
      const tenant = await tenantOf();
      const at = { path: tenant.id, token: await keyOf(tenant) };
      const uri = uriIn(await make(at));
      for (const fault of OBJECT_FAULTS.slice(0, 3)) {
        const answered = await read({ ...at, env: faultyEnv(fault, step).env }, uri);
        expect(answered.error?.message).toBe("Temporarily unavailable, try again");
      }
      expect((await read(at, uri)).result?.contents).toHaveLength(1);
    },
  );
});

describe("a Worker with neither links() nor gateway()", () => {
  it("says what ctx.link needs", async () => {
    const tenant = await tenantOf();
    const made = await make({ path: tenant.id, worker: without });
    expect(made.result?.isError).toBe(true);
    expect(logged.join()).toContain("ctx.link needs links() or gateway() in the features of createWorker");
  });
});
