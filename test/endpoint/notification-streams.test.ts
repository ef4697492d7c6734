// GET with a session in era 2025, subscriptions/listen in era 2026.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { describe, expect, test, vi } from "vitest";
import { openEvents } from "../support/event-reader.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { listeningOf, listenTo, type Listening, type ListeningOptions } from "../support/listening.ts";
import { client2026, mcpClient, ERAS, type Json } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "listening");
const MANY = 100;
const END = "lab://end";
const LAB = { "*": { enabled: false }, "lab_*": { enabled: true } };
const DOCUMENT = {
  tools: LAB,
  scopes: { open: { tools: ["lab_*"], resources: ["lab://open/*", END] } },
  profiles: {
    narrow: {
      tools: { allow: ["lab_echo"] },
      prompts: { allow: ["lab_letter"] },
      resources: { deny: ["lab://secret/*"] },
    },
  },
};
/** A prompt more, which the narrow profile does not have. */
const FRESH = { fresh: { messages: [{ role: "user", content: { type: "text", text: "Hello" } }] } };
const NOTIFICATIONS = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
} as const;

const urlOf = (tenant: string, profile?: string) =>
  `${origin}/mcp/${tenant}${profile === undefined ? "" : `/${profile}`}`;
const methodsOf = (messages: readonly Json[]) => messages.map(({ method }) => method);
const uriOf = ({ params }: Json) => (params as Json)["uri"];
const updatedIn = (messages: readonly Json[]) =>
  messages.filter(({ method }) => method === "notifications/resources/updated").map(uriOf);

/** Somebody else of the tenant, who sees all of it. */
function writerOf(tenant: string, headers: Record<string, string> = {}) {
  const call = async (name: string, args: Json) => {
    const { result } = await client2026(urlOf(tenant), {}, {}, headers).request("tools/call", {
      name,
      arguments: args,
    });
    expect(result).toMatchObject({ content: [{ type: "text" }] });
    expect(result).not.toHaveProperty("isError");
    return result;
  };
  return {
    write: (uri: string, text = "") => call("lab_write", { uri, text, name: uri }),
    delete: (uri: string) => call("lab_delete", { uri }),
    burst: (uris: readonly string[], times: number) => call("lab_burst", { uris, times }),
  };
}

describe.each(ERAS)("a stream in era $era", ({ era, revision }) => {
  const listen = (tenant: string, options: ListeningOptions = {}, profile?: string) =>
    listenTo(revision, urlOf(tenant, profile), options);

  test("notifies of a resource that changed, appeared or disappeared, by the subscribed name", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { write: put, delete: remove } = writerOf(tenant);
    const spelling = "LAB://open/caf%c3%a9";
    const { next } = await listen(tenant, { uris: [spelling] });
    await put("lab://open/caf%C3%A9", "one");
    const came = [await next(), await next()];
    expect([methodsOf(came)[0], updatedIn(came)]).toEqual([NOTIFICATIONS.resources, [spelling]]);
    await put("lab://open/caf%C3%A9", "two");
    expect(updatedIn([await next()])).toEqual([spelling]);
    await remove("lab://open/caf%C3%A9");
    const went = [await next(), await next()];
    expect([methodsOf(went)[0], updatedIn(went)]).toEqual([NOTIFICATIONS.resources, [spelling]]);
  });

  test("notifies of changed lists of tools and prompts, once the change is in force", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { next } = await listen(tenant);
    await admin.apply(tenant, { ...DOCUMENT, tools: { ...LAB, lab_echo: { enabled: false } } });
    expect(methodsOf([await next()])).toEqual([NOTIFICATIONS.tools]);
    await admin.apply(tenant, { ...DOCUMENT, prompts: FRESH });
    expect(methodsOf([await next(), await next()])).toEqual([NOTIFICATIONS.tools, NOTIFICATIONS.prompts]);
  });

  test("does not notify of a resource without a subscription", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { write: put } = writerOf(tenant);
    for (const uri of ["lab://open/a", "lab://open/b", END]) await put(uri, "old");
    const { before } = await listen(tenant, { uris: ["lab://open/a", END] });
    await put("lab://open/b", "new");
    await put("lab://open/a", "new");
    await put(END, "new");
    expect(updatedIn(await before(END))).toEqual(["lab://open/a"]);
  });

  test("sends few notifications for a burst, and always one for its last state", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { burst, write: put } = writerOf(tenant);
    const reader = await mcpClient(revision, urlOf(tenant));
    const uri = "lab://open/burst";
    const listening = await listen(tenant, { uris: [uri, END] });
    const written = burst([uri], MANY);
    let count = 0;
    for (let text = ""; text !== "last"; count += 1) {
      await listening.before(uri);
      const { result } = await reader.request("resources/read", { uri });
      text = String((result["contents"] as Json[])[0]?.["text"]);
    }
    await written;
    await put(END);
    const late = await listening.before(END);
    expect(count + updatedIn(late).length).toBeLessThan(MANY / 2);
  });

  test("notifies of each of a hundred new resources at once, and less often of the list", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { burst, write: put } = writerOf(tenant);
    const uris = Array.from({ length: MANY }, (_none, at) => `lab://open/${at}`);
    const { before } = await listen(tenant, { uris: [...uris, END] });
    await burst(uris, 1);
    await put(END);
    const notifications = await before(END);
    expect(new Set(updatedIn(notifications))).toEqual(new Set(uris));
    const lists = notifications.filter(({ method }) => method === NOTIFICATIONS.resources).length;
    expect(lists).toBeGreaterThan(0);
    expect(lists).toBeLessThan(MANY);
  });

  describe("never notifies of what its view hides", () => {
    const hidden = "lab://secret/a";

    async function expectOnly(listening: Listening, tenant: string, headers: Record<string, string> = {}) {
      const { write: put, delete: remove } = writerOf(tenant, headers);
      await put(END, "there");
      expect(methodsOf(await listening.before(END))).toEqual([NOTIFICATIONS.resources]);
      for (const change of [() => put(hidden, "one"), () => put(hidden, "two"), () => remove(hidden)]) await change();
      await put(END, "changed");
      expect(await listening.before(END)).toEqual([]);
    }

    test("by its profile", async () => {
      const tenant = await admin.tenant(DOCUMENT);
      await expectOnly(await listen(tenant, { uris: [hidden, END] }, "narrow"), tenant);
    });

    test("by the scopes of its key", async () => {
      const tenant = await admin.tenant({ ...DOCUMENT, mode: "key" });
      const [scoped, whole] = [await admin.key(tenant, { scopes: ["open"] }), await admin.key(tenant)];
      const listening = await listen(tenant, { uris: [hidden, END], headers: bearer(scoped.token) });
      await expectOnly(listening, tenant, bearer(whole.token));
    });

    test("in a change of the document that changes none of its lists", async () => {
      const tenant = await admin.tenant(DOCUMENT);
      const { write: put } = writerOf(tenant);
      await put(END, "there");
      const [narrow, whole] = [await listen(tenant, { uris: [END] }, "narrow"), await listen(tenant)];
      const tools = { ...LAB, lab_strict: { enabled: false } };
      await admin.apply(tenant, { ...DOCUMENT, tools, prompts: FRESH });
      // Somebody who sees it was told: so was the hub of both.
      expect(methodsOf([await whole.next(), await whole.next()])).toEqual([NOTIFICATIONS.tools, NOTIFICATIONS.prompts]);
      await put(END, "changed");
      expect(await narrow.before(END)).toEqual([]);
    });

    test("after a change that hides what it showed before", async () => {
      const tenant = await admin.tenant(DOCUMENT);
      const { write: put } = writerOf(tenant);
      await put("lab://open/a", "old");
      await put(END, "old");
      const { before, next } = await listen(tenant, { uris: ["lab://open/a", END] }, "narrow");
      const narrow = { ...DOCUMENT.profiles.narrow, tools: { allow: [] }, resources: { deny: ["lab://open/*"] } };
      await admin.apply(tenant, { ...DOCUMENT, profiles: { narrow } });
      expect(methodsOf([await next()])).toContain(NOTIFICATIONS.tools);
      await put("lab://open/a", "new");
      await put(END, "new");
      expect(updatedIn(await before(END))).toEqual([]);
    });
  });

  describe("ends, and sends nothing more,", () => {
    type Withdraw = (tenant: string, key: string) => Promise<unknown>;

    /** It hears what is written before, and nothing that is written after; says what happened in which order. */
    async function withdrawn(withdraw: Withdraw, { profile = "", maxStalenessMs = 50 } = {}) {
      const tenant = await admin.tenant({ ...DOCUMENT, mode: "key", maxStalenessMs });
      const [mine, other] = [await admin.key(tenant), await admin.key(tenant)];
      const { write: put } = writerOf(tenant, bearer(other.token));
      const uris = [END];
      const listening = await listen(tenant, { uris, headers: bearer(mine.token) }, profile || undefined);
      const bystander = await listen(tenant, { uris, headers: bearer(other.token) });
      await put(END, "before");
      await Promise.all([listening.before(END), bystander.before(END)]);
      const order: string[] = [];
      const told = listening.rest().finally(() => order.push("ended"));
      await withdraw(tenant, mine.id);
      order.push("acknowledged");
      return { told, order, bystander, write: () => put(END, "after") };
    }

    async function expectOnlyMineEnded(withdraw: Withdraw, profile?: string) {
      const { told, bystander, write: put } = await withdrawn(withdraw, profile === undefined ? {} : { profile });
      await put();
      expect(updatedIn(await told)).toEqual([]);
      await bystander.before(END);
    }

    test("when its key is revoked; others go on", () =>
      expectOnlyMineEnded((tenant, key) => admin.ask("DELETE", `/tenants/${tenant}/keys/${key}`)));

    test("when its key is suspended; others go on", () =>
      expectOnlyMineEnded((tenant, key) => admin.suspend(tenant, "principal", key, "abuse")));

    test("when its profile is suspended; others go on", () =>
      expectOnlyMineEnded((tenant) => admin.suspend(tenant, "profile", "narrow", "closed"), "narrow"));

    test("when its profile is taken away; others go on", () =>
      expectOnlyMineEnded((tenant) => admin.apply(tenant, { ...DOCUMENT, mode: "key", profiles: {} }), "narrow"));

    test.each<[string, Withdraw]>([
      ["the revocation of its key", (tenant, key) => admin.ask("DELETE", `/tenants/${tenant}/keys/${key}`)],
      ["the suspension of its key", (tenant, key) => admin.suspend(tenant, "principal", key, "abuse")],
      ["the suspension of its tenant", (tenant) => admin.suspend(tenant, "tenant", undefined, "unpaid")],
    ])("before %s is acknowledged", async (_what, withdraw) => {
      // A lease that has some time to go: what is acknowledged waits for its end, and the stream does not.
      const { told, order } = await withdrawn(withdraw, { maxStalenessMs: 500 });
      await told;
      expect(order).toEqual(["ended", "acknowledged"]);
    });

    test("when its key has expired", async () => {
      const tenant = await admin.tenant({ ...DOCUMENT, mode: "key" });
      const expires = Date.now() + 700;
      const { token } = await admin.key(tenant, { expires: new Date(expires).toISOString() });
      const { write: put } = writerOf(tenant, bearer((await admin.key(tenant)).token));
      const listening = await listen(tenant, { uris: [END], headers: bearer(token) });
      await vi.waitUntil(() => Date.now() > expires, { timeout: 10_000 });
      await put(END, "after");
      expect(updatedIn(await listening.rest())).toEqual([]);
    });
  });

  test("is refused to who may not listen, as any other request is", async () => {
    const tenant = await admin.tenant({ ...DOCUMENT, mode: "key" });
    const { id, token } = await admin.key(tenant);
    const client = await mcpClient(revision, urlOf(tenant), {}, bearer(token));
    await admin.ask("DELETE", `/tenants/${tenant}/keys/${id}`);
    const { headers, body } = write(revision, "subscriptions/listen", { notifications: {} });
    const sent =
      era === "2026"
        ? { method: "POST", headers: { ...headers, ...bearer(token) }, body: JSON.stringify(body) }
        : { headers: { ...client.headers } };
    const response = await fetch(urlOf(tenant), sent);
    expect([response.status, response.headers.get("content-type")]).toEqual([401, "application/json"]);
  });
});

describe("subscriptions/listen", () => {
  const revision = "2026-07-28";

  test("is acknowledged first, whatever happens meanwhile, with what was asked for", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { write: put } = writerOf(tenant);
    const written = Promise.all(Array.from({ length: 20 }, (_none, at) => put(END, `${at}`)));
    const notifications = { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: [END] };
    const { headers, body } = write(revision, "subscriptions/listen", { notifications }, "mine");
    const events = await openEvents(urlOf(tenant), { method: "POST", headers, body: JSON.stringify(body) });
    const first = await listeningOf(revision, events, undefined).next();
    expect(first).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
    expect(first["params"]).toEqual({
      notifications: { toolsListChanged: true, resourceSubscriptions: [END] },
      _meta: { "io.modelcontextprotocol/subscriptionId": "mine" },
    });
    await written;
  });

  const LISTS = ["tools", "prompts", "resources"] as const;
  test.each(LISTS)("notifies of the list of %s alone when only that is subscribed", async (list) => {
    const tenant = await admin.tenant(DOCUMENT);
    const { write: put } = writerOf(tenant);
    await put(END, "old");
    const [one, all] = [
      await listenTo(revision, urlOf(tenant), { lists: { [`${list}ListChanged`]: true }, uris: [END] }),
      await listenTo(revision, urlOf(tenant)),
    ];
    const changed = { tools: { ...LAB, lab_echo: { enabled: false } }, prompts: FRESH };
    await admin.apply(tenant, { ...DOCUMENT, ...changed });
    await put("lab://open/new");
    const told = new Set<unknown>();
    while (told.size < LISTS.length) told.add((await all.next())["method"]);
    await put(END, "new");
    expect(methodsOf(await one.before(END))).toEqual([NOTIFICATIONS[list]]);
  });

  test("tags everything with its own id beside others'", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { write: put } = writerOf(tenant);
    const ids = [7, 0, "text", "", "another"];
    const listenings = await Promise.all(ids.map((id) => listenTo(revision, urlOf(tenant), { uris: [END], id })));
    await put(END);
    for (const [at, { next }] of listenings.entries()) {
      for (const message of [await next(), await next()]) {
        expect(message["params"]).toMatchObject({ _meta: { "io.modelcontextprotocol/subscriptionId": ids[at] } });
      }
    }
  });

  const path = "notifications.resourceSubscriptions";
  test.each<[string, unknown, string]>([
    ["nothing", undefined, "notifications"],
    ["null", null, "notifications"],
    ["a flag that is a text", { toolsListChanged: "true" }, "notifications.toolsListChanged"],
    ["a URI in the place of URIs", { resourceSubscriptions: END }, path],
    ["a URI that is a number", { resourceSubscriptions: [END, 5] }, `${path}.1`],
    ["a URI that is none", { resourceSubscriptions: ["no uri"] }, `${path}.0`],
    ["more URIs than there may be", { resourceSubscriptions: Array(1001).fill(END) }, path],
  ])("refuses %s, and says what is wrong", async (_what, notifications, wrong) => {
    const { status, headers, error } = await client2026(`${origin}/mcp/lab`).request(
      "subscriptions/listen",
      notifications === undefined ? {} : { notifications },
    );
    expect([status, headers.get("content-type"), error?.code]).toEqual([200, "application/json", -32602]);
    expect([error?.data, error?.message]).toEqual([{ path: wrong }, expect.stringContaining(`${wrong} `)]);
  });

  test("subscribes to the maximum of URIs, and to none", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { write: put } = writerOf(tenant);
    const uris = Array.from({ length: 1000 }, (_none, at) => `lab://open/${at}`);
    const [many, none] = [
      await listenTo(revision, urlOf(tenant), { lists: {}, uris }),
      await listenTo(revision, urlOf(tenant), { lists: {} }),
    ];
    await put("lab://open/999");
    expect(updatedIn([await many.next()])).toEqual(["lab://open/999"]);
    await admin.suspend(tenant, "tenant", undefined, "over");
    const [end] = await none.rest();
    expect(end).toMatchObject({ id: "listening", result: { resultType: "complete" } });
  });

  test("needs a client that accepts streams", async () => {
    const { headers, body } = write(revision, "subscriptions/listen", { notifications: {} });
    const sent = { method: "POST", headers: { ...headers, accept: "application/json" }, body: JSON.stringify(body) };
    expect((await fetch(`${origin}/mcp/lab`, sent)).status).toBe(406);
  });
});
