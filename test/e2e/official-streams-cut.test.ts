// What the official clients lose when their connection is cut in the middle of what they were told: in era 2025 nothing.

import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CutProxy } from "./cut-proxy.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import {
  answeringV2,
  type CallOptions,
  type Connected,
  ReceivedNotifications,
  receivedBy,
  textOf,
  type Way,
  urlOf,
  WAYS,
} from "../support/official-clients.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "cut");
const URI = "lab://notes/shared";
let tenant: string;

beforeAll(async () => {
  tenant = await admin.tenant();
});

const OPEN = WAYS.filter(({ isPrivate }) => !isPrivate);
const HTTP_2026 = "v2 over Streamable HTTP in era 2026";
const STDIO_2026 = "v2 over stdio in era 2026";

/** Hears of this resource whatever is cut. */
async function watching(uri: string): Promise<Connected> {
  const way = OPEN.find(({ title }) => title === HTTP_2026);
  if (!way) throw new Error(`there is no ${HTTP_2026}`);
  const connected = await way.connect({ origin, tenant });
  await connected.watch(uri);
  return connected;
}

let keys = 0;
const newKey = () => `long-${(keys += 1)}`;

/** Lets `lab_long` go on. */
const openGate = (key: string) => admin.store(tenant, `lab://gates/${key}`, "open");

const PROGRESS = "notifications/progress";
const UPDATED = "notifications/resources/updated";
const stepsIn = ({ all }: ReceivedNotifications) =>
  all.filter(({ method }) => method === PROGRESS).map(({ params }) => params.progress);
const onprogress = () => {};

function expectSteps({ namesNoEvent }: Way, received: ReceivedNotifications): void {
  const steps = stepsIn(received);
  expect(steps).toEqual(namesNoEvent ? [1, 2, 3, 4, 5, 6].filter((step) => steps.includes(step)) : [1, 2, 3, 4, 5, 6]);
}

describe.each(OPEN.filter(({ resumes }) => resumes))("$title", (way) => {
  test("gets the result of a call whose connection was cut, and every step once", async () => {
    const proxy = await CutProxy.start(origin);
    const { call, received } = await way.connect({ origin: proxy.origin, tenant });
    const key = newKey();
    const result = call("lab_long", { key }, { onprogress });
    await received.until(PROGRESS, 3);
    expect(proxy.cut()).toBeGreaterThan(0);
    await openGate(key);
    expect(await result).toBe(`${key} counted to 6`);
    expectSteps(way, received);
  });

  test("gets the result of a call that ended while there was no connection, and every step once", async () => {
    const proxy = await CutProxy.start(origin);
    const { call, received } = await way.connect({ origin: proxy.origin, tenant });
    const key = newKey();
    const onlooker = await watching(`lab://ends/${key}/finished`);
    const result = call("lab_long", { key }, { onprogress });
    await received.until(PROGRESS, 3);
    proxy.pull();
    await openGate(key);
    await onlooker.notifications.until(UPDATED);
    proxy.plug();
    expect(await result).toBe(`${key} counted to 6`);
    expectSteps(way, received);
  });

  test("answers a question whose connection was cut, is not asked again, and gets the result", async () => {
    const proxy = await CutProxy.start(origin);
    const requests: string[] = [];
    const person = {
      onQuestion: async (method: string) => {
        requests.push(method);
        // Where questions come on another connection than the call's own, that one may not be answered yet.
        await proxy.cutAndReturn(way.namesNoEvent ? "streams" : "everything");
      },
    };
    const { call } = await way.connect({ origin: proxy.origin, tenant }, person);
    expect(await call("lab_ask", { kind: "form" })).toBe('{"yes":true}');
    expect(way.namesNoEvent ? [...new Set(requests)] : requests).toEqual(["elicitation/create"]);
  });

  test("hears what changed while there was no connection", async () => {
    const proxy = await CutProxy.start(origin);
    const { notifications: received, read, watch } = await way.connect({ origin: proxy.origin, tenant });
    await watch(URI);
    await proxy.opened(1);
    // What has an id: a client that has read none does not know where it was.
    await admin.store(tenant, URI, `heard by ${way.title}`);
    await received.until(UPDATED);
    const text = `missed by ${way.title}`;
    proxy.pull();
    await admin.store(tenant, URI, text);
    proxy.plug();
    await received.until(UPDATED, 2);
    expect(await read(URI)).toBe(text);
    await admin.store(tenant, URI, `heard again by ${way.title}`);
    await received.until(UPDATED, 3);
    expect(await read(URI)).toBe(`heard again by ${way.title}`);
  });
});

/** The v2 client itself, over HTTP, does not look at a stream that ends too early: it waits until its patience ends. */
const bridged2026 = OPEN.filter(({ title }) => title === STDIO_2026);

describe.each(bridged2026)("$title", (way) => {
  test("is told that a call lost its connection, and calls again", async () => {
    const proxy = await CutProxy.start(origin);
    const { call, received } = await way.connect({ origin: proxy.origin, tenant });
    const refused = expect(call("lab_long", { key: newKey() }, { onprogress })).rejects.toThrow("connection");
    await received.until(PROGRESS, 3);
    proxy.cut();
    await refused;
    const key = newKey();
    await openGate(key);
    expect(await call("lab_long", { key })).toBe(`${key} counted to 6`);
  });

  test("hears of everything it may have missed while there was no connection", async () => {
    const proxy = await CutProxy.start(origin);
    const { notifications: received, read, watch } = await way.connect({ origin: proxy.origin, tenant });
    await watch(URI);
    proxy.pull();
    await admin.store(tenant, URI, "missed by the bridge");
    proxy.plug();
    await received.until("notifications/tools/list_changed");
    await received.until(UPDATED);
    expect(await read(URI)).toBe("missed by the bridge");
  });
});

test("the v2 client is told that its subscription broke, and listens again", async () => {
  const proxy = await CutProxy.start(origin);
  const client = answeringV2("2026");
  const notifications = new ReceivedNotifications();
  client.fallbackNotificationHandler = async (notification) => notifications.take(notification);
  await client.connect(new HttpV2(urlOf({ origin: proxy.origin, tenant })));
  onTestFinished(() => client.close());
  const first = await client.listen({ resourceSubscriptions: [URI] });
  proxy.cut();
  expect(await first.closed).toBe("remote");
  const second = await client.listen({ resourceSubscriptions: [URI] });
  await admin.store(tenant, URI, "after the cut");
  await notifications.until(UPDATED);
  expect(second.honoredFilter).toEqual({ resourceSubscriptions: [URI] });
});

/** A client of one session, as a process that may be gone at any time. */
interface Resumable {
  readonly session: () => string | undefined;
  readonly received: ReceivedNotifications;
  readonly call: (args: Record<string, unknown>, options: CallOptions) => Promise<string>;
  readonly close: () => Promise<void>;
}

async function connectV1(sessionId?: string): Promise<Resumable> {
  const client = new ClientV1({ name: "resuming", version: "1" });
  const transport = new HttpV1(urlOf({ origin, tenant }), sessionId === undefined ? {} : { sessionId });
  if (sessionId !== undefined) transport.setProtocolVersion("2025-11-25");
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    received: receivedBy(client),
    session: () => transport.sessionId,
    call: async (args, options) =>
      textOf(await client.callTool({ name: "lab_long", arguments: args }, undefined, options)),
    close: () => client.close(),
  };
}

async function connectV2(sessionId?: string): Promise<Resumable> {
  const client = new ClientV2({ name: "resuming", version: "1" });
  const again = sessionId === undefined ? {} : { sessionId, protocolVersion: "2025-11-25" };
  const transport = new HttpV2(urlOf({ origin, tenant }), again);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    received: receivedBy(client),
    session: () => transport.sessionId,
    call: async (args, options) => textOf(await client.callTool({ name: "lab_long", arguments: args }, options)),
    close: () => client.close(),
  };
}

test.each([
  { client: "v1", connect: connectV1 },
  { client: "v2", connect: connectV2 },
])("a $client client that starts anew resumes the call of the one before it", async ({ connect }) => {
  const first = await connect();
  const key = newKey();
  const tokens: string[] = [];
  const lost = first.call({ key }, { onprogress, onresumptiontoken: (token) => void tokens.push(token) });
  const closed = expect(lost).rejects.toThrow(/closed/i);
  await first.received.until(PROGRESS, 3);
  await first.close();
  await closed;
  expect(tokens).toHaveLength(4);
  const second = await connect(first.session());
  const result = second.call({ key }, { resumptionToken: tokens.at(-1) ?? "" });
  await openGate(key);
  expect(await result).toBe(`${key} counted to 6`);
  expect(stepsIn(second.received)).toEqual([4, 5, 6]);
});
