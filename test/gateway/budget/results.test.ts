import { createExecutionContext, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import { checkByFeatures } from "../../../src/deployment/check-deployment.ts";
import { createWorker, defineTool, gateway } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { MEMORY_BUDGET, MAX_RESERVED_BYTES } from "../../../src/tenants/cache/memory-budget.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { inside, rowsOf, type FreshTenant } from "../../support/workerd/tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";
import { aroundCalls } from "../../support/workerd/object-calls.ts";

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

const text = (length: number, letter: string) => ({ type: "text" as const, text: letter.repeat(length) });
const LONG = [text(600, "a"), text(600, "b"), text(600, "c")];
const TABLE = { rows: Array.from({ length: 300 }, (_, at) => `row ${at}`) };

const tools = [
  defineTool({ name: "long", handler: () => LONG }),
  defineTool({ name: "short", handler: () => "short" }),
  defineTool({ name: "wide", handler: () => text(200_000, "a") }),
  defineTool({
    name: "table",
    output: { type: "object", properties: { rows: { type: "array" } } },
    handler: () => ({ structuredContent: TABLE }),
  }),
];
const worker = createWorker({ tenants: {}, tools, features: [gateway()] });
const upstream = createWorker({ tenants: { acme: {} }, tools });

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
type Era = "2025" | "2026";

interface At {
  readonly path: string;
  readonly token?: string;
  readonly era?: Era;
}

async function textOf({ path, token, era = "2025" }: At, method: string, params: Json = {}): Promise<string> {
  const is2026 = era === "2026";
  const name = params["name"] ?? params["uri"];
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(is2026 && { "mcp-protocol-version": "2026-07-28", "mcp-method": method }),
    ...(is2026 && typeof name === "string" && { "mcp-name": name }),
  };
  const message = { jsonrpc: "2.0", id: 1, method, params: is2026 ? { ...params, _meta: META } : params };
  const body = await (await sendTo(worker, path, { message, headers })).text();
  return /^data: (.*)$/m.exec(body)?.[1] ?? body;
}

const ask = async (at: At, method: string, params: Json = {}) => JSON.parse(await textOf(at, method, params)) as Answer;
const call = (at: At, name: string) => ask(at, "tools/call", { name, arguments: {} });
const read = (at: At, uri: string) => ask(at, "resources/read", { uri });
const linkIn = ({ result }: Answer) => result?.content?.find(({ type }) => type === "resource_link")?.uri ?? "";

const BUDGET = { resultBudget: { bytes: 1500 } };
const PROFILES: NonNullable<TenantDocument["profiles"]> = {
  brief: BUDGET,
  other: BUDGET,
  blind: { ...BUDGET, resources: { deny: ["*"] } },
  some: { ...BUDGET, tools: { allow: ["*long"] } },
  free: {},
};

async function keyOf({ stub }: FreshTenant, scopes: readonly string[] | null = null): Promise<string> {
  const { id, token, hash } = await createKey();
  await createRpcClient(stub, policyStore).addKey(
    { id, hash, name: "k", scopes, profile: null, expires: null },
    { name: "ann" },
  );
  return token;
}

async function tenantWith(url: string, more: TenantDocument = {}): Promise<FreshTenant> {
  const scopes = { short: { tools: ["short"] } };
  return servedTenant({
    mode: "open",
    maxStalenessMs: 50,
    upstreams: { up: { url } },
    profiles: PROFILES,
    scopes,
    ...more,
  });
}

let tenant: FreshTenant;
let token = "";
let upstreamUrl = "";

/** Made anew for each test: what an upstream answers ends with the test. */
async function begin(): Promise<void> {
  upstreamUrl = upstreamAt((request) => upstream.fetch(request, env, createExecutionContext()));
  tenant = await tenantWith(upstreamUrl);
  token = await keyOf(tenant);
  const list = () => textOf({ path: tenant.id, token }, "tools/list");
  await expect.poll(list, { timeout: 10_000 }).toContain("up__long");
}

const brief = (): At => ({ path: `${tenant.id}/brief`, token });

describe.each(["long", "up__long"])("the result of %s", (tool) => {
  it.each<Era>(["2025", "2026"])("has what fits and a link to the rest, in era %s", async (era) => {
    await begin();
    const at = { ...brief(), era };
    const answer = await call(at, tool);
    const [first, second, note, link, ...more] = answer.result?.content ?? [];
    expect([first, second, more]).toEqual([LONG[0], LONG[1], []]);
    expect(note?.text).toMatch(
      /^The result is longer than this profile allows: 2 of 3 items are here\. The rest is at tenantry:\/\/results\/\S+ until 20\S+Z\.$/,
    );
    expect(link).toMatchObject({
      type: "resource_link",
      name: `${tool}: the rest`,
      size: expect.any(Number) as number,
    });
    expect(answer.result?.["isError"]).toBeUndefined();
    const rest = await read(at, linkIn(answer));
    expect(rest.result?.contents).toEqual([{ uri: linkIn(answer), mimeType: "text/plain", text: LONG[2]?.text }]);
    if (era === "2026") expect(rest.result).toMatchObject({ ttlMs: 0, cacheScope: "private" });
  });

  it("is left as it is without a budget, without a profile, and for callers without a key", async () => {
    await begin();
    const whole = await textOf({ path: tenant.id, token }, "tools/call", { name: tool, arguments: {} });
    expect((JSON.parse(whole) as Answer).result?.content).toEqual(LONG);
    for (const at of [{ path: `${tenant.id}/free`, token }, { path: `${tenant.id}/brief` }]) {
      expect(await textOf(at, "tools/call", { name: tool, arguments: {} })).toBe(whole);
    }
    expect(await rowsOf(tenant, "SELECT id FROM results")).toEqual([]);
  });
});

describe.each(["table", "up__table"])("the result of %s, which describes its output", (tool) => {
  it("becomes an error with a link to all of it", async () => {
    await begin();
    const answer = await call(brief(), tool);
    expect(answer.result).toMatchObject({ isError: true, content: [{ type: "text" }, { type: "resource_link" }] });
    expect(answer.result).not.toHaveProperty("structuredContent");
    const { result } = await read(brief(), linkIn(answer));
    expect(JSON.parse(String(result?.contents?.at(-1)?.["text"]))).toEqual(TABLE);
  });
});

describe("a result that is short enough", () => {
  it("is the same with a budget, byte for byte", async () => {
    await begin();
    for (const name of ["short", "up__short"]) {
      const params = { name, arguments: {} };
      expect(await textOf(brief(), "tools/call", params)).toBe(
        await textOf({ path: tenant.id, token }, "tools/call", params),
      );
    }
  });
});

async function write(profiles: TenantDocument["profiles"] = {}): Promise<void> {
  const policy = createRpcClient(tenant.stub, policyStore);
  const ifRevision = (await policy.read(false))?.revision ?? 0;
  const document: TenantDocument = { mode: "open", maxStalenessMs: 50, profiles };
  const about = { deprecatedNames: [], ifRevision, actor: { name: "ann" }, action: "apply" };
  await policy.write({ own: document, effective: document, ...about });
}

/** How often something is kept of results, from now on. */
async function keptCalls({ object }: FreshTenant): Promise<() => number> {
  let count = 0;
  await aroundCalls(object, (method, goOn) => {
    if (method === "results.put") count += 1;
    return goOn();
  });
  return () => count;
}

describe("the rest of a result", () => {
  let uri = "";
  const begun = async (tool = "long") => {
    await begin();
    uri = linkIn(await call(brief(), tool));
    expect((await read(brief(), uri)).result?.contents).toHaveLength(1);
  };
  const refused = { code: -32002, message: "Resource not found" };

  it.each<[string, () => Promise<At>]>([
    ["another key", async () => ({ path: `${tenant.id}/brief`, token: await keyOf(tenant) })],
    ["another key with scopes", async () => ({ path: `${tenant.id}/brief`, token: await keyOf(tenant, ["short"]) })],
    ["nobody", async () => ({ path: `${tenant.id}/brief` })],
    ["the same key in another profile", async () => ({ path: `${tenant.id}/other`, token })],
    ["the same key in a profile without a budget", async () => ({ path: `${tenant.id}/free`, token })],
    ["the same key without a profile", async () => ({ path: tenant.id, token })],
    [
      "a key of another tenant",
      async () => {
        const elsewhere = await tenantWith(upstreamUrl);
        return { path: `${elsewhere.id}/brief`, token: await keyOf(elsewhere) };
      },
    ],
  ])("is not read by %s", async (_who, at) => {
    await begun();
    const { error, result } = await read(await at(), uri);
    expect(result).toBeUndefined();
    expect(error).toMatchObject(refused);
    expect((await read(brief(), uri)).result?.contents).toHaveLength(1);
  });

  it("is in no list, and nothing near its name is there", async () => {
    await begun();
    expect(await textOf(brief(), "resources/list")).not.toContain("tenantry://");
    for (const near of ["tenantry://results/", uri.toUpperCase(), `${uri}0`, uri.slice(0, -1), `${uri}?x`]) {
      expect((await read(brief(), near)).error, near).toMatchObject({ code: -32002 });
    }
  });

  it("is read where the profile shows no resources", async () => {
    await begin();
    const at = { path: `${tenant.id}/blind`, token };
    expect((await read(at, linkIn(await call(at, "long")))).result?.contents).toHaveLength(1);
  });

  it("is not read any more when the tool was taken away", async () => {
    await begun();
    await write({ brief: { ...BUDGET, tools: { deny: ["long"] } } });
    await expect.poll(async () => (await read(brief(), uri)).error).toMatchObject(refused);
  });

  it("is not read by way of another tool that is listed under its tool's name now", async () => {
    await begun();
    await write({ brief: { ...BUDGET, tools: { deny: ["long"], rename: { short: { name: "long" } } } } });
    const listed = async () => JSON.stringify((await ask(brief(), "tools/list")).result);
    await expect.poll(listed).not.toContain('"name":"short"');
    expect((await call(brief(), "long")).result?.content).toEqual([{ type: "text", text: "short" }]);
    expect((await read(brief(), uri)).error).toMatchObject(refused);
  });

  it("is read on when its tool has another name", async () => {
    await begun();
    await write({ brief: { ...BUDGET, tools: { rename: { long: { name: "longer" } } } } });
    await expect.poll(async () => JSON.stringify((await ask(brief(), "tools/list")).result)).toContain("longer");
    expect((await read(brief(), uri)).result?.contents).toHaveLength(1);
  });

  it("is neither kept nor read while the isolate has no room for it", async () => {
    await begun("wide");
    const share = MEMORY_BUDGET.createReservation();
    share.resize(MAX_RESERVED_BYTES + 15 * 1024 * 1024, true);
    expect((await read(brief(), uri)).error).toMatchObject({
      code: -32603,
      message: "Temporarily unavailable, try again",
    });
    expect((await call(brief(), "wide")).result?.content?.at(-1)?.text).toMatch(/The rest could not be stored\.$/);
    share.release();
    expect((await read(brief(), uri)).result?.contents).toHaveLength(1);
  });

  it("is written and read within the object's rate, and other tenants do not wait", async () => {
    const whole = defineTool({ name: "whole", handler: () => text(4_000_000, "a") });
    const other = createWorker({ tenants: {}, tools: [whole], features: [gateway()] });
    const served = await servedTenant({ mode: "open", profiles: { brief: BUDGET } });
    const kept = await keptCalls(served);
    const by = async (holder: string, method: string, params: Json) => {
      const message = { jsonrpc: "2.0", id: 1, method, params };
      const headers = { authorization: `Bearer ${holder}` };
      return (await sendTo(other, `${served.id}/brief`, { message, headers })).json<Answer>();
    };
    const [ann, mallory] = [await keyOf(served), await keyOf(served)];
    const answers = [];
    for (let at = 0; at < 14; at += 1) answers.push(await by(mallory, "tools/call", { name: "whole", arguments: {} }));
    expect(kept()).toBeGreaterThan(6);
    expect(kept()).toBeLessThan(13);
    expect(answers[0]?.result?.content).toHaveLength(2);
    expect(answers.at(-1)?.result?.content?.at(-1)?.text).toMatch(/The rest could not be stored\.$/);
    const last = linkIn(answers[kept() - 1] ?? {});
    expect((await by(mallory, "resources/read", { uri: last })).error).toMatchObject({ code: -32603 });
    const hers = await by(ann, "tools/call", { name: "whole", arguments: {} });
    expect((await by(ann, "resources/read", { uri: linkIn(hers) })).result?.contents).toHaveLength(1);
  });

  it("ends with its time: an alarm takes it away", async () => {
    await begun();
    await inside(tenant, ({ storage }) => {
      storage.sql.exec("UPDATE results SET expires = ?", Date.now() - 1);
    });
    expect((await read(brief(), uri)).error).toMatchObject(refused);
    await runDurableObjectAlarm(tenant.object);
    expect(await rowsOf(tenant, "SELECT id FROM results")).toEqual([]);
  });

  it("is reported as lost if it is too long to be stored", async () => {
    await begin();
    const huge = defineTool({ name: "huge", handler: () => [text(10, "a"), text(5 * 1024 * 1024, "h")] });
    const other = createWorker({ tenants: {}, tools: [huge], features: [gateway()] });
    const { id, ...served } = await servedTenant({ mode: "open", profiles: { brief: BUDGET } });
    const kept = await keptCalls({ id, ...served });
    const authorization = `Bearer ${await keyOf({ id, ...served })}`;
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "huge", arguments: {} } };
    const { result } = await (
      await sendTo(other, `${id}/brief`, { message, headers: { authorization } })
    ).json<Answer>();
    expect(result?.content?.[0]).toEqual(text(10, "a"));
    expect(result?.content?.[1]?.text).toMatch(/1 of 2 items are here\. The rest could not be stored\.$/);
    expect(result?.content).toHaveLength(2);
    expect(kept()).toBe(0);
  });
});

describe("a message that names its upstream", () => {
  it("is answered within the budget too, and the rest is read in the same way", async () => {
    await begin();
    const send = async (method: string, params: Json) => {
      const request = new Request(`https://mcp.example.com/gateway/${tenant.id}/brief`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ server_id: "up", jsonrpc: "2.0", id: 1, method, params }),
      });
      return (await worker.fetch(request, env, createExecutionContext())).json<Answer>();
    };
    const answer = await send("tools/call", { name: "long", arguments: {} });
    expect(answer.result?.content).toHaveLength(4);
    expect((await send("resources/read", { uri: linkIn(answer) })).result?.contents).toHaveLength(1);
  });
});

describe("a Worker without gateway()", () => {
  it("refuses a budget", () => {
    const document = { profiles: { p: BUDGET } };
    const rule = "needs the feature gateway(), which this Worker does not have";
    expect(checkByFeatures([], document)).toEqual([{ field: "profiles.p.resultBudget", rule }]);
    expect(checkByFeatures([gateway()], document)).toEqual([]);
  });
});
