// `webhooks()`: what happens to a tenant is told once, signed, until it is taken or given up.

import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import type { BuiltInFeature } from "../../src/deployment/deployment.ts";
import { createWorker, defineTool, gateway, webhooks } from "../../src/tenantry.ts";
import { limitStore } from "../../src/limits/limit-store.ts";
import { dispatchWebhooks, type WebhookContext } from "../../src/records/webhooks.ts";
import { MAX_QUEUED, PAUSES_MS, webhookStore } from "../../src/records/webhook-store.ts";
import { gatewayStore } from "../../src/gateway/gateway-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantEvent } from "../../src/tenants/object/tenant-events.ts";
import { adminEnv, adminOptions, appOf, ORIGIN, ROOT } from "../support/workerd/admin.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { withStore, rowsOf, type FreshTenant } from "../support/workerd/tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";
import { callOn } from "../support/workerd/object-calls.ts";

interface ReceivedRequest {
  readonly headers: Headers;
  readonly text: string;
}

const down = (key: string): TenantEvent => ({
  type: "upstream.down",
  deduplicationKey: key,
  data: { upstream: "up", why: "gone" },
});

/** A receiver that answers with these statuses, one after the other, then with the last of them. */
function receiver(...statuses: number[]) {
  return receiverOf("", ...statuses);
}

/** The same for one tenant: the platform's webhooks also get what other tests left in their tenants' queues. */
function receiverOf(tenant: string, ...statuses: number[]) {
  const requests: ReceivedRequest[] = [];
  const url = upstreamAt(async (request) => {
    const text = await request.text();
    if (!text.includes(tenant)) return new Response(null, { status: 204 });
    requests.push({ headers: request.headers, text });
    const status = statuses[Math.min(requests.length, statuses.length) - 1] ?? 204;
    return new Response(null, { status, headers: status === 302 ? { location: "https://other.example.com/" } : {} });
  });
  return { requests, url };
}

const place = globalThis as { platformHooks?: object | undefined };
afterEach(() => {
  place.platformHooks = undefined;
});

const contextOf = (hooks: NonNullable<WebhookContext["document"]["webhooks"]>): WebhookContext => ({
  tenant: "acme",
  document: { webhooks: hooks },
  env: {},
  secret: async (name) => (name === "HOOK" ? SECRET : undefined),
});
const SECRET = `whsec_${btoa("a secret of the tests")}`;
const message = { id: "msg_1", type: "upstream.down", at: 0, data: { tenant: "acme" }, deliveredTo: [] };
const hook = (url: string, more: object = {}) => ({ url, secret: "{{secret:HOOK}}", ...more });

describe("a message", () => {
  it.each(["whsec_not-base64", "whsec_", " "])("is not sent where the secret is %j, and says so", async (secret) => {
    const { requests, url } = receiver(204);
    const context = { ...contextOf({ ops: hook(url) }), secret: async () => secret };
    const [told] = await dispatchWebhooks(message, context, {});
    expect(told).toEqual({ name: "ops", why: expect.stringContaining("its secret is invalid") as string });
    expect(requests).toEqual([]);
  });

  it("is signed as Standard Webhooks says, with its id and time", async () => {
    const { requests, url } = receiver(204);
    expect(await dispatchWebhooks(message, contextOf({ ops: hook(url) }), {})).toEqual([{ name: "ops", why: null }]);
    const [{ headers, text } = { headers: new Headers(), text: "" }] = requests;
    const [id, time] = ["webhook-id", "webhook-timestamp"].map((name) => headers.get(name));
    const [, signature = ""] = /^v1,(.+)$/.exec(headers.get("webhook-signature") ?? "") ?? [];
    const bytesOf = (one: string) => Uint8Array.from(one, (character) => character.codePointAt(0) ?? 0);
    const hash = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", bytesOf("a secret of the tests"), hash, false, ["verify"]);
    expect(id).toBe("msg_1");
    expect(await crypto.subtle.verify("HMAC", key, bytesOf(atob(signature)), bytesOf(`${id}.${time}.${text}`))).toBe(
      true,
    );
    expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(60);
    expect(JSON.parse(text)).toEqual({
      type: "upstream.down",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: { tenant: "acme" },
    });
  });

  it("goes to receivers that want it and do not have it, and says why one could not be told", async () => {
    const { requests, url } = receiver(204);
    const context = contextOf({
      all: hook(url),
      has: hook(url),
      off: hook(url, { enabled: false }),
      other: hook(url, { events: ["quota.reached"] }),
      bare: { url, secret: "{{secret:NONE}}" },
    });
    expect(await dispatchWebhooks({ ...message, deliveredTo: ["has"] }, context, {})).toEqual([
      { name: "all", why: null },
      { name: "bare", why: "the tenant has no secret NONE" },
    ]);
    expect(requests.length).toBe(1);
  });

  it("is signed with a secret of its own tenant alone, not with the Worker's, nor of one whose id begins like its own", async () => {
    const { requests, url } = receiver(204);
    const bound = { ACME__X__KEY: "of acme--x-0123456789abcdef", ACME__KEY: "of acme-0123456789abcdef" };
    const told = async (tenant: string, secret: string) => {
      const context = { ...contextOf({ ops: hook(url, { secret }) }), tenant, env: bound };
      const broken = (webhooks({}) as BuiltInFeature).checkDocument?.(context.document, undefined);
      return [(await dispatchWebhooks(message, context, {}))[0]?.why, broken?.length];
    };
    expect(await told("acme--x", "{{secret:KEY}}")).toEqual(["the tenant has no secret KEY", 0]);
    expect(await told("acme", "{{secret:hook}}")).toEqual([null, 0]);
    expect(await told("acme", "{{secret:X__KEY}}")).toEqual([
      expect.stringContaining("its secret must be {{secret:NAME}}"),
      1,
    ]);
    expect(requests.length).toBe(1);
  });

  it("follows no redirect, and goes nowhere inside", async () => {
    const { requests, url } = receiver(302);
    const inside = ["https://127.0.0.1/", "https://10.0.0.1/x", "http://example.com/", "https://metadata.internal/"];
    const context = contextOf(Object.fromEntries([url, ...inside].map((one, at) => [`h${at}`, hook(one)])));
    const outcomes = await dispatchWebhooks(message, context, {});
    expect(outcomes[0]?.why).toBe("it answered 302");
    expect(outcomes.slice(1).map(({ why }) => why)).toEqual(inside.map(() => expect.stringContaining("refused")));
    expect(requests.length).toBe(1);
  });
});

describe("the authority", () => {
  const waiting = (tenant: FreshTenant) => rowsOf(tenant, "SELECT * FROM webhook_queue");
  const tables = (tenant: FreshTenant) => createRpcClient(tenant.stub, webhookStore);
  const ring = async (tenant: FreshTenant) => {
    await rowsOf(tenant, "UPDATE webhook_queue SET due_at = 0");
    await runDurableObjectAlarm(tenant.object);
  };

  it("tells each thing once, again when it happens again, and a week after it was last said", async () => {
    await withStore(webhookStore, ({ methods, clock, alarms: wakes }) => {
      for (let at = 0; at < 3; at += 1) methods.enqueue(down("one"));
      methods.enqueue(down("two"));
      expect([methods.queue().waiting, wakes.length]).toEqual([2, 2]);
      clock.now += 3 * 86_400_000;
      methods.enqueue(down("one"));
      clock.now += 5 * 86_400_000;
      methods.enqueue(down("one"));
      expect(methods.queue().waiting).toBe(2);
      clock.now += 8 * 86_400_000;
      methods.enqueue(down("one"));
      expect(methods.queue().waiting).toBe(3);
    });
  });

  it("drops the oldest messages where too many wait, and says how many", async () => {
    await withStore(webhookStore, ({ methods, clock }) => {
      for (let at = 0; at < MAX_QUEUED + 5; at += 1) {
        clock.now += 1;
        methods.enqueue(down(`key-${at}`));
      }
      expect(methods.queue()).toEqual({ waiting: MAX_QUEUED, dropped: 5 });
    });
  });

  it("sends by its alarm, under one id until it is taken, and then no more", async () => {
    const tenant = await servedTenant();
    const { requests, url } = receiverOf(tenant.id, 503, 204);
    place.platformHooks = { ops: { url, secret: "in clear" } };
    await tables(tenant).enqueue(down("one"));
    await expect.poll(() => requests.length).toBe(1);
    await expect.poll(async () => (await waiting(tenant))[0]?.["attempts"]).toBe(1);
    await ring(tenant);
    await expect.poll(async () => (await waiting(tenant)).length).toBe(0);
    expect(requests.length).toBe(2);
    expect(new Set(requests.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    expect(JSON.parse(requests[0]?.text ?? "")).toMatchObject({
      type: "upstream.down",
      data: { tenant: tenant.id, upstream: "up" },
    });
  });

  it("sends again only to receivers that do not have the message", async () => {
    const tenant = await servedTenant();
    const [good, bad] = [receiverOf(tenant.id, 204), receiverOf(tenant.id, 500, 204)];
    place.platformHooks = { good: { url: good.url, secret: "x" }, bad: { url: bad.url, secret: "y" } };
    await tables(tenant).enqueue(down("one"));
    await expect.poll(async () => (await waiting(tenant))[0]?.["delivered_to"]).toBe('["platform good"]');
    await ring(tenant);
    await expect.poll(async () => (await waiting(tenant)).length).toBe(0);
    expect([good.requests.length, bad.requests.length]).toEqual([1, 2]);
  });

  it("delays no other alarm of the object while a receiver answers slowly", async () => {
    const tenant = await servedTenant();
    const answer = Promise.withResolvers<Response>();
    let requestCount = 0;
    const url = upstreamAt(async (request) => {
      if (!(await request.text()).includes(tenant.id)) return new Response(null, { status: 204 });
      requestCount += 1;
      return answer.promise;
    });
    place.platformHooks = { slow: { url, secret: "in clear" } };
    await tables(tenant).enqueue(down("one"));
    await expect.poll(() => requestCount).toBe(1);
    await scheduler.wait(1_100);
    // The alarm is over, and the next one is set, while the other side has not answered.
    const next = () => runInDurableObject(tenant.object, (_object, { storage }) => storage.getAlarm());
    expect(await next()).toBeGreaterThan(Date.now());
    expect(await waiting(tenant)).toMatchObject([{ attempts: 0 }]);
    answer.resolve(new Response(null, { status: 204 }));
    await expect.poll(() => waiting(tenant)).toEqual([]);
    expect(requestCount).toBe(1);
  });

  it("notes nothing, and asks for no alarm, where no Worker has webhooks()", async () => {
    createWorker({ tenants: {} });
    await withStore(webhookStore, ({ methods, alarms: wakes }) => {
      methods.enqueue(down("one"));
      expect([methods.queue().waiting, wakes]).toEqual([0, []]);
    });
  });

  it("sets no alarm again for a tenant that comes to its end", async () => {
    const tenant = await servedTenant({ mode: "open" });
    await createRpcClient(tenant.stub, webhookStore).enqueue(down("ending"));
    const isDueNow = async () => {
      await runDurableObjectAlarm(tenant.object);
      const alarm = await runInDurableObject(tenant.object, (_instance, { storage }) => storage.getAlarm());
      return (alarm ?? Infinity) <= Date.now();
    };
    await runInDurableObject(tenant.object, (instance) => callOn(instance, "policy.close", tenant.uid, tenant.uid));
    // What else its end has to do is done by then.
    const rings = [await isDueNow(), await isDueNow(), await isDueNow(), await isDueNow()];
    expect(rings.at(-1)).toBe(false);
  });

  it("tells again what it told while its clock was ahead", async () => {
    await withStore(webhookStore, ({ methods, clock }) => {
      const right = clock.now;
      clock.now = right + 365 * 86_400_000;
      methods.enqueue(down("ahead"));
      clock.now = right;
      methods.enqueue(down("ahead"));
      expect(methods.queue().waiting).toBe(2);
    });
  });

  it("gives up after the last attempt, and notes that in the tenant's audit log", async () => {
    const { requests, url } = receiver(500);
    place.platformHooks = { ops: { url, secret: "in clear" } };
    const tenant = await servedTenant();
    await tables(tenant).enqueue(down("one"));
    await expect.poll(async () => (await waiting(tenant))[0]?.["attempts"]).toBe(1);
    for (let attempt = 1; attempt <= PAUSES_MS.length; attempt += 1) {
      await ring(tenant);
      await expect.poll(async () => (await waiting(tenant))[0]?.["attempts"] ?? "none").not.toBe(attempt);
    }
    // An alarm that was about to end when a test rings may ring once more.
    expect(requests.length).toBeGreaterThan(PAUSES_MS.length);
    expect(await tables(tenant).queue()).toEqual({ waiting: 0, dropped: 1 });
    const [entry] = await rowsOf(tenant, "SELECT target, after FROM audit WHERE action = 'webhook.drop'");
    expect(entry).toMatchObject({ target: "webhook platform ops", after: expect.stringContaining("it answered 500") });
  });
});

describe("a webhook is told of", () => {
  const news = async (tenant: FreshTenant) =>
    (await rowsOf(tenant, "SELECT type, data FROM webhook_queue ORDER BY at")).map(({ type, data }) => [
      type,
      JSON.parse(String(data)) as unknown,
    ]);

  /** Nobody takes them, so they stay where they can be looked at. */
  const watched = () => {
    place.platformHooks = { ops: { url: receiver(500).url, secret: "x" } };
    return servedTenant();
  };

  it("a limit of the day at 80 %, once", async () => {
    const tenant = await watched();
    const limits = createRpcClient(tenant.stub, limitStore);
    for (let at = 0; at < 10; at += 1) await limits.take([{ caller: "", most: 10 }]);
    expect(await news(tenant)).toEqual([["quota.reached", expect.objectContaining({ who: "", most: 10 })]]);
  });

  it("an upstream that is down, then works again, then has definitions that are left out", async () => {
    const tenant = await watched();
    const tables = createRpcClient(tenant.stub, gatewayStore);
    const settled = { id: "up", configHash: "c", afterMs: 0, jitter: 0 };
    await tables.claimDue({ revision: 1, upstreams: [{ id: "up", configHash: "c" }] });
    for (const why of ["it is gone", "it is gone", null, null])
      await tables.completeRefresh({ ...settled, why, missing: null });
    for (const lacks of ["2 definitions wait", "2 definitions wait", "3 definitions wait"])
      await tables.completeRefresh({ ...settled, why: null, missing: lacks });
    expect((await news(tenant)).map(([type]) => type)).toEqual([
      "upstream.down",
      "upstream.up",
      "definitions.held",
      "definitions.held",
    ]);
  });

  it("an upstream that is left alone because calls to it fail", async () => {
    let isUp = true;
    const served = createWorker({ tenants: { acme: {} }, tools: [defineTool({ name: "go", handler: () => "gone" })] });
    const url = upstreamAt((request) => {
      if (!isUp) throw Object.assign(new TypeError("fetch failed"), { code: "ECONNREFUSED" });
      return served.fetch(request, env, createExecutionContext());
    });
    const worker = createWorker({ tenants: {}, features: [gateway(), webhooks()] });
    place.platformHooks = { ops: { url: receiver(500).url, secret: "x" } };
    const tenant = await servedTenant({ mode: "open", upstreams: { up: { url, era: "2025" } } });
    const send = async (method: string, params: object) =>
      (await sendTo(worker, tenant.id, { message: { jsonrpc: "2.0", id: 1, method, params } })).text();
    await expect.poll(() => send("tools/list", {}), { timeout: 10_000 }).toContain("up__go");
    isUp = false;
    for (let call = 0; call < 6; call += 1) await send("tools/call", { name: "up__go", arguments: {} });
    await expect
      .poll(async () => (await news(tenant)).map(([type]) => type), { timeout: 10_000 })
      .toContain("upstream.circuit");
  }, 120_000);
});

describe("the admin API", () => {
  const bindings = { ...adminEnv, SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
  const app = appOf({ ...adminOptions, features: [gateway(), webhooks()] });
  const ask = async (method: string, path: string, json?: object, to = app) => {
    const request = new Request(`${ORIGIN}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ROOT}`, ...(json && { "content-type": "application/json" }) },
      ...(json && { body: JSON.stringify(json) }),
    });
    const response = await to.fetch(request, bindings);
    return { status: response.status, text: await response.text() };
  };
  const made = async (document: object) => {
    const id = `hooked-${crypto.randomUUID().slice(0, 8)}`;
    const { status, text } = await ask("POST", "/tenants", { id, document });
    return { id, status, text };
  };

  it("tests one with the tenant's own secret, and lists them without it", async () => {
    const { requests, url } = receiver(204, 500);
    const { id } = await made({ webhooks: { ops: hook(url, { events: ["upstream.down"] }) } });
    expect((await ask("POST", `/tenants/${id}/webhooks/ops/test`)).text).toContain("no secret HOOK");
    await ask("PUT", `/tenants/${id}/secrets/HOOK`, { value: SECRET });
    const tested = JSON.parse((await ask("POST", `/tenants/${id}/webhooks/ops/test`)).text) as object;
    expect(tested).toMatchObject({ delivered: true, status: 204, why: null });
    expect(JSON.parse((await ask("POST", `/tenants/${id}/webhooks/ops/test`)).text)).toMatchObject({
      delivered: false,
      status: 500,
    });
    expect(requests[0]?.headers.get("webhook-signature")).toMatch(/^v1,/);
    const listed = await ask("GET", `/tenants/${id}/webhooks`);
    expect(JSON.parse(listed.text)).toEqual({
      items: [{ name: "ops", url, events: ["upstream.down"], enabled: true }],
      waiting: 0,
      dropped: 0,
    });
    expect((await ask("POST", `/tenants/${id}/webhooks/none/test`)).status).toBe(404);
  });

  it.each([
    [{ url: "https://10.0.0.1/", secret: "{{secret:HOOK}}" }, "webhooks.ops.url"],
    [{ url: "no url", secret: "{{secret:HOOK}}" }, "webhooks.ops.url"],
    [{ url: "https://hooks.example.org/", secret: "in clear" }, "webhooks.ops.secret"],
    [{ url: "https://hooks.example.org/", secret: "{{secret:HOOK}}", events: ["everything"] }, "webhooks.ops.events"],
  ])("refuses %j in a document", async (ops, field) => {
    const { status, text } = await made({ webhooks: { ops } });
    expect([status, text]).toEqual([422, expect.stringContaining(field)]);
  });

  it("refuses webhooks where the Worker has no webhooks()", async () => {
    const { id } = await made({});
    const without = appOf();
    expect((await ask("GET", `/tenants/${id}/webhooks`, undefined, without)).status).toBe(409);
    const written = await ask("PUT", `/tenants/${id}/document`, { webhooks: {} }, without);
    expect(written.text).toContain("webhooks()");
  });
});
