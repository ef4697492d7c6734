// The GET stream of a session, which era 2026 does not have. What both eras share is in notification-streams.test.ts.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server

import { describe, expect, test } from "vitest";
import { openEvents, type EventReader } from "../../support/event-reader.ts";
import { bearer, fixtureAdmin } from "../../support/fixture-admin.ts";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { listeningOf, type Listening } from "../../support/listening.ts";
import { client2025, client2026, post, REVISIONS_2025, type Client, type Json } from "../../support/mcp-client.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { expectRefusal } from "../../support/refusal.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "standalone");
const REVISION = "2025-11-25";
const [ONE, END] = ["lab://open/one", "lab://end"];
const DOCUMENT = { tools: { "*": { enabled: false }, "lab_*": { enabled: true } }, profiles: { small: {} } };
const LISTS = ["tools", "prompts", "resources"].map((list) => `notifications/${list}/list_changed`);

const urlOf = (tenant: string) => `${origin}/mcp/${tenant}`;
const put = (tenant: string, uri: string) =>
  client2026(urlOf(tenant)).request("tools/call", { name: "lab_write", arguments: { uri, text: crypto.randomUUID() } });

const subscribe = async (client: Client, ...uris: string[]) => {
  for (const uri of uris) expect((await client.request("resources/subscribe", { uri })).result).toEqual({});
};

/** Says what is told, and the id of what was told last. */
async function open(tenant: string, { headers, revision }: Client, lastEventId?: string) {
  const events = await openEvents(urlOf(tenant), {
    headers: { ...headers, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) },
  });
  let last = "";
  const next: EventReader["next"] = async () => {
    const event = await events.next();
    last = event?.id ?? last;
    return event;
  };
  const message: EventReader["message"] = async () => {
    for (let event = await next(); event; event = await next())
      if (event.data !== "") return JSON.parse(event.data) as Json;
    throw new Error("the stream ended");
  };
  const listening: Listening = listeningOf(revision, { ...events, next, message }, undefined);
  return { ...listening, last: () => last, prime: next };
}

const methodsOf = (messages: readonly Json[]) => messages.map(({ method }) => method);
const updatedIn = (messages: readonly Json[]) =>
  messages.flatMap(({ method, params }) =>
    method === "notifications/resources/updated" ? [(params as Json)["uri"]] : [],
  );

describe("a GET", () => {
  test.each(REVISIONS_2025)("of %s sends changes, and begins with an id if the revision has that", async (of) => {
    const tenant = await admin.tenant(DOCUMENT);
    const client = await client2025(urlOf(tenant), of);
    await subscribe(client, ONE);
    const stream = await open(tenant, client);
    expect([stream.events.status, stream.events.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    if (of === REVISION) expect(await stream.prime()).toMatchObject({ data: "", id: expect.stringMatching(/^n\./) });
    await put(tenant, ONE);
    const notifications = [await stream.next(), await stream.next()];
    expect([methodsOf(notifications)[0], updatedIn(notifications)]).toEqual([LISTS[2], [ONE]]);
    for (const { params } of notifications) expect(params ?? {}).not.toHaveProperty("_meta");
  });

  test("takes the place of the session's other one, and of no other session's", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const [client, other] = [await client2025(urlOf(tenant)), await client2025(urlOf(tenant))];
    await Promise.all([client, other].map((one) => subscribe(one, ONE)));
    const [first, bystander] = [await open(tenant, client), await open(tenant, other)];
    const second = await open(tenant, client);
    expect(await first.rest()).toEqual([]);
    await put(tenant, ONE);
    for (const { before } of [second, bystander]) await before(ONE);
    const third = await open(tenant, client);
    expect(await second.rest()).toEqual([]);
    await put(tenant, ONE);
    await third.before(ONE);
  });

  test("hears of what is subscribed to while it is open, and not of what no longer is", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    for (const uri of [ONE, END]) await put(tenant, uri);
    const client = await client2025(urlOf(tenant));
    const stream = await open(tenant, client);
    await subscribe(client, ONE, END);
    await put(tenant, ONE);
    await stream.before(ONE);
    await client.request("resources/unsubscribe", { uri: ONE });
    await put(tenant, ONE);
    await put(tenant, END);
    expect(updatedIn(await stream.before(END))).toEqual([]);
  });

  test("is refused without a session, and if it accepts no stream", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const { headers } = await client2025(urlOf(tenant));
    for (const accept of ["application/json", "text/plain", "text/event-stream;q=0"]) {
      const reply = await sendRaw(urlOf(tenant), { method: "GET", headers: { ...headers, accept } });
      expectRefusal(reply, REVISION, { status: 405, code: -32600 });
      expect(reply.headers["allow"]).toBe("GET, POST, DELETE, OPTIONS");
    }
  });

  test("shows a session nothing of what another one subscribed to", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    for (const uri of [ONE, END]) await put(tenant, uri);
    const [client, other] = [await client2025(urlOf(tenant)), await client2025(urlOf(tenant))];
    await subscribe(other, ONE);
    await subscribe(client, END);
    const stream = await open(tenant, client);
    await put(tenant, ONE);
    await put(tenant, END);
    expect(await stream.before(END)).toEqual([]);
  });
});

describe("a stream that is resumed", () => {
  test("gets the changes that it missed, once, and goes on", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const client = await client2025(urlOf(tenant));
    await subscribe(client, ONE, END);
    const first = await open(tenant, client);
    await put(tenant, ONE);
    await first.before(ONE);
    await first.events.close();
    for (let times = 0; times < 5; times += 1) await put(tenant, END);
    const second = await open(tenant, client, first.last());
    expect(updatedIn(await second.before(END))).toEqual([]);
    await second.events.close();
    const third = await open(tenant, client, second.last());
    await put(tenant, ONE);
    expect(await third.before(ONE)).toEqual([]);
  });

  test("gets the lists that changed in its view", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const client = await client2025(urlOf(tenant));
    await subscribe(client, END);
    const first = await open(tenant, client);
    await first.prime();
    await first.events.close();
    await admin.apply(tenant, { ...DOCUMENT, tools: { ...DOCUMENT.tools, lab_echo: { enabled: false } } });
    const second = await open(tenant, client, first.last());
    expect(methodsOf([await second.next()])).toEqual([LISTS[0]]);
    await put(tenant, END);
    expect(methodsOf(await second.before(END))).toEqual([LISTS[2]]);
  });

  test("by another session's id gets its own subscriptions alone", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    for (const uri of [ONE, END]) await put(tenant, uri);
    const [client, other] = [await client2025(urlOf(tenant)), await client2025(urlOf(tenant))];
    await subscribe(other, ONE);
    await subscribe(client, END);
    const theirs = await open(tenant, other);
    await theirs.prime();
    await put(tenant, ONE);
    await put(tenant, END);
    const mine = await open(tenant, client, theirs.last());
    expect(await mine.before(END)).toEqual([]);
    await theirs.before(ONE);
  });

  test("has an id of its own for every event, also if several lists changed at once", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    for (const uri of [ONE, END]) await put(tenant, uri);
    const client = await client2025(urlOf(tenant));
    await subscribe(client, ONE);
    const ids = new Set<string>();
    const first = await open(tenant, client);
    await first.prime();
    await first.events.close();
    const hello = { messages: [{ role: "user", content: { type: "text", text: "Hello." } }] };
    const tools = { "*": { enabled: false }, lab_write: { enabled: true } };
    await admin.apply(tenant, { ...DOCUMENT, tools, prompts: { hello } });
    await put(tenant, "lab://open/new");
    const stream = await open(tenant, client, first.last());
    for (const list of LISTS) {
      expect(methodsOf([await stream.next()])).toEqual([list]);
      ids.add(stream.last());
    }
    await put(tenant, ONE);
    await stream.before(ONE);
    ids.add(stream.last());
    await stream.events.close();
    const again = await open(tenant, client, stream.last());
    await put(tenant, ONE);
    await again.before(ONE);
    expect(ids.add(again.last()).size).toBe(5);
  });

  test("by an id that names no stream of the session is refused", async () => {
    const ids = [
      "x",
      "n.",
      "n.x",
      "n.1",
      "n.-1.a.b.c",
      "n.1e3.a.b.c",
      "n.1.a.b.c",
      "n.1.a.b.c.d",
      "n.9999999999999999.a.b.c",
      "0123456789abcdef-1",
      "0123456789abcdef-x",
      "0123456789ABCDEF-0",
      "x".repeat(5000),
    ];
    const { headers } = await client2025(urlOf("lab"));
    for (const id of ids) {
      const sent = { ...headers, accept: "text/event-stream", "last-event-id": id };
      const reply = await sendRaw(urlOf("lab"), { method: "GET", headers: sent });
      const { message } = expectRefusal(reply, REVISION, { status: 400, code: -32600 });
      expect({ id, message }).toEqual({ id, message: expect.stringContaining("Last-Event-ID") as string });
    }
  });
});

/** As many messages as a batch of 2025-03-26 may have. */
const BATCH = 50;

describe("a session's subscriptions", () => {
  test("are a thousand at most: one more is refused, and one less makes room", async () => {
    const tenant = await admin.tenant(DOCUMENT);
    const client = await client2025(urlOf(tenant), "2025-03-26");
    const uris = Array.from({ length: 1000 }, (_none, at) => `lab://open/${at}`);
    for (let at = 0; at < uris.length; at += BATCH) {
      const batch = uris
        .slice(at, at + BATCH)
        .map((uri, id) => ({ jsonrpc: "2.0", id, method: "resources/subscribe", params: { uri } }));
      const { messages } = await post(urlOf(tenant), batch, client);
      expect(messages.filter(({ result }) => result !== undefined)).toHaveLength(BATCH);
    }
    const { status, error } = await client.request("resources/subscribe", { uri: ONE });
    expect([status, error?.code]).toEqual([200, -32600]);
    expect(error?.message).toBe("Refused: this session has as many subscriptions as it may");
    // One that it has already is no other one.
    await subscribe(client, "lab://open/5");
    await client.request("resources/unsubscribe", { uri: "lab://open/5" });
    await subscribe(client, ONE);
    const stream = await open(tenant, client);
    for (const uri of ["lab://open/5", "lab://open/999", ONE]) await put(tenant, uri);
    const notifications = await stream.before(ONE);
    expect(updatedIn(notifications)).toEqual(["lab://open/999"]);
  });

  test("need a session, and a URI", async () => {
    const url = urlOf("lab");
    const { headers } = await client2025(url);
    const { "mcp-session-id": _session, ...without } = headers;
    for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
      const ask = (params: Json, sent: Record<string, string>) =>
        sendRaw(url, {
          headers: { ...sent, "content-type": "application/json" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        });
      expectRefusal(await ask({ uri: ONE }, without), REVISION, { status: 400, code: -32600, id: 1 });
      for (const uri of [undefined, null, 5, [ONE], "", "no uri"]) {
        expectRefusal(await ask({ uri }, { ...headers }), REVISION, { status: 200, code: -32602, id: 1 });
      }
    }
  });

  test("to hidden resources are accepted like those to missing ones, and never notified", async () => {
    const tenant = await admin.tenant({ ...DOCUMENT, scopes: { end: { resources: [END] } } });
    // Before anybody holds a lease, so that it is in force at once, and nothing is due when the stream begins.
    const { token } = await admin.key(tenant, { scopes: ["end"] });
    for (const uri of [ONE, END]) await put(tenant, uri);
    const client = await client2025(urlOf(tenant), REVISION, {}, bearer(token));
    await subscribe(client, ONE, "lab://never-was", END);
    const stream = await open(tenant, client);
    await put(tenant, ONE);
    await put(tenant, END);
    expect(await stream.before(END)).toEqual([]);
  });
});
