// Our own client before the fixture Worker, in each of the three ways: calls, questions, progress, errors, changes; and what only
// one way has: sessions that are carried on elsewhere, streams that are resumed, headers that repeat arguments.

import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  requestResult2025,
  requestResult2026,
  type SendOptions,
  type ResultMessage,
} from "../../src/mcp-client/request-result.ts";
import { handshake, type Channel2025 } from "../../src/mcp-client/channel-2025.ts";
import { SYSTEM_CLOCK } from "../../src/mcp-client/clock.ts";
import { connect } from "../../src/mcp-client/connect.ts";
import type { RemoteEndpoint } from "../../src/mcp-client/remote-endpoint.ts";
import { McpFault } from "../../src/mcp-client/fault.ts";
import { openHttpSse } from "../../src/mcp-client/http-sse.ts";
import { listen2026, RESOURCE_UPDATED } from "../../src/mcp-client/listen-2026.ts";
import { paramsOf, resultOf, type NotificationMessage, type RequestMessage } from "../../src/mcp-client/message.ts";
import { buildRequest2025, buildRequest2026 } from "../../src/mcp-client/prepared-request.ts";
import type { HandleQuestion } from "../../src/mcp-client/question-dispatcher.ts";
import { parseSession } from "../../src/mcp-client/session-2025.ts";
import { followGetStream } from "../../src/mcp-client/get-stream-2025.ts";
import { end2025, open2025, streamable2025 } from "../../src/mcp-client/streamable-2025.ts";
import { collectParamHeaders } from "../../src/protocol/headers.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { CutProxy } from "./cut-proxy.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";

const origin = fixtureOrigin();
const ABOUT = { clientInfo: { name: "e2e", version: "1" }, capabilities: { elicitation: {}, sampling: {}, roots: {} } };
const helloFor = (protocolVersion: string) => ({ ...ABOUT, protocolVersion });

let lastId = 0;
const nextId = () => (lastId += 1);

function endpointOf(tenant: string, at = origin): RemoteEndpoint {
  const plain: RemoteEndpoint["fetch"] = async (url, init) => fetch(url, init);
  return { url: `${at}/mcp/${tenant}`, headers: {}, fetch: plain, clock: SYSTEM_CLOCK };
}

interface Client {
  readonly request: (method: string, params: JsonObject, asking?: SendOptions) => Promise<ResultMessage>;
  /** The URIs of resources that change from now on. */
  readonly watch: (uri: string) => Promise<AsyncIterator<string>>;
}

const accept: HandleQuestion = async () => ({ action: "accept", content: { yes: true } });

async function client2026(tenant: string): Promise<Client> {
  const endpoint = endpointOf(tenant);
  return {
    request: async (method, params, asking) =>
      requestResult2026({ endpoint, client: ABOUT, nextId }, { method, params }, asking),
    watch: async (uri) => {
      const params = { notifications: { resourceSubscriptions: [uri] } };
      const events = listen2026(
        endpoint,
        buildRequest2026({ id: nextId(), method: "subscriptions/listen", params }, ABOUT),
      );
      onTestFinished(async () => void (await events.return?.()));
      expect(await events.next()).toMatchObject({ value: { kind: "listening", filter: params.notifications } });
      return urisOf(events, (event) => (event.kind === "notification" ? event.message : undefined));
    },
  };
}

function over(channel: Channel2025): Client["request"] {
  return async (method, params, asking) => {
    const id = nextId();
    const _meta = asking?.onNotification ? { progressToken: id } : {};
    const request = buildRequest2025({ id, method, params: { ...params, _meta } });
    return requestResult2025({ channel, clock: SYSTEM_CLOCK }, request, asking);
  };
}

async function client2025(tenant: string): Promise<Client> {
  const endpoint = endpointOf(tenant);
  const { session } = await open2025(endpoint, helloFor("2025-11-25"), nextId());
  onTestFinished(async () => void (await end2025(endpoint, session)));
  const request = over(streamable2025(endpoint, session));
  return {
    request,
    watch: async (uri) => {
      const events = followGetStream(endpoint, session);
      onTestFinished(async () => void (await events.return?.()));
      expect(await events.next()).toEqual({ done: false, value: { kind: "opened" } });
      await request("resources/subscribe", { uri });
      return urisOf(events, (event) => (event.kind === "message" ? event.message : undefined));
    },
  };
}

async function clientHttpSse(tenant: string): Promise<Client> {
  const messages: (RequestMessage | NotificationMessage)[] = [];
  let wake = () => {};
  const connection = await openHttpSse(endpointOf(tenant));
  connection.listen?.((message) => {
    messages.push(message);
    wake();
  });
  onTestFinished(() => connection.close());
  await handshake(() => connection, helloFor("2024-11-05"), nextId());
  const request = over(connection);
  return {
    request,
    watch: async (uri) => {
      await request("resources/subscribe", { uri });
      async function* events() {
        for (;;) {
          for (let next = messages.shift(); next; next = messages.shift()) yield next;
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
      return urisOf(events(), (message) => message);
    },
  };
}

async function* urisOf<T>(
  events: AsyncIterable<T>,
  messageOf: (event: T) => RequestMessage | NotificationMessage | undefined,
): AsyncGenerator<string, void, void> {
  for await (const event of events) {
    const message = messageOf(event);
    if (message?.method === RESOURCE_UPDATED) yield String(paramsOf(message)["uri"]);
  }
}

const WAYS = [
  { way: "2026-07-28", open: client2026 },
  { way: "2025-11-25", open: client2025 },
  { way: "HTTP+SSE", open: clientHttpSse },
];

function textOf(result: ResultMessage): string {
  const { content } = resultOf(result) as { content: { text: string }[] };
  return content.map(({ text }) => text).join("\n");
}

const call = (name: string, args: JsonObject = {}): [string, JsonObject] => ["tools/call", { name, arguments: args }];

describe.each(WAYS)("over $way", ({ open }) => {
  let client: Client;

  beforeEach(async () => {
    client = await open("lab");
  });

  test("lists, calls, and hears of the progress, in order", async () => {
    const { tools } = resultOf(await client.request("tools/list", {})) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain("lab_steps");
    const messages: unknown[] = [];
    const result = await client.request(...call("lab_steps", { steps: 3, everyMs: 5 }), {
      onNotification: (message) => {
        if (message.method === "notifications/progress") messages.push(paramsOf(message)["progress"]);
      },
    });
    expect(textOf(result)).toBe("3 steps");
    expect(messages).toEqual([1, 2, 3]);
  });

  test("answers what a tool asks, as often as it asks", async () => {
    const key = crypto.randomUUID();
    const requests: string[] = [];
    const result = await client.request(...call("lab_rounds", { key }), {
      onQuestion: async (question) => {
        requests.push(String(question.params["message"]));
        return accept(question);
      },
    });
    expect(requests).toEqual(["Go on?", 'After {"yes":true}: go on?', "Go on?"]);
    expect(JSON.parse(textOf(result))).toMatchObject({ answers: Array.from({ length: 3 }, () => '{"yes":true}') });
  });

  test("keeps the server's error whole", async () => {
    const error = await client.request("resources/read", { uri: "lab://nowhere" }).catch((failed: unknown) => failed);
    expect(error).toBeInstanceOf(McpFault);
    expect((error as McpFault).fault).toMatchObject({
      kind: "refused",
      sent: "yes",
      http: { status: expect.any(Number) },
    });
    expect((error as McpFault).message).toMatch(/not found/i);
  });

  test("hears of what changes", async () => {
    const uri = `lab://notes/client/${crypto.randomUUID()}`;
    const changes = await client.watch(uri);
    await client.request(...call("lab_write", { uri, name: "Written", text: "once" }));
    expect(await changes.next()).toEqual({ done: false, value: uri });
  });

  test("goes on after a call that it gave up", async () => {
    const giveUp = new AbortController();
    const working = client.request(...call("lab_steps", { steps: 100, everyMs: 100 }), {
      signal: giveUp.signal,
      onNotification: () => giveUp.abort(),
    });
    await expect(working).rejects.toThrow("cancelled");
    expect(textOf(await client.request(...call("lab_steps", { steps: 0 })))).toBe("0 steps");
  });
});

test("a server of both eras is found to speak the newest", async () => {
  const connected = await connect(endpointOf("lab"), ABOUT, { nextId });
  expect(connected.transport).toBe("2026");
});

describe("a session", () => {
  test("is carried on by whoever has its data, until it is ended", async () => {
    const endpoint = endpointOf("lab");
    const { session } = await open2025(endpoint, helloFor("2025-06-18"), nextId());
    const kept = parseSession(JSON.parse(JSON.stringify(session)));
    expect(kept).toEqual(session);
    expect(session).toMatchObject({ revision: "2025-06-18", capabilities: { tools: {} } });
    const request = over(streamable2025(endpoint, kept));
    expect(textOf(await request(...call("lab_steps", { steps: 1 })))).toBe("1 steps");
    expect(await end2025(endpoint, session)).toBe(true);
    const error = await request(...call("lab_steps", { steps: 1 })).catch((failed: unknown) => failed);
    expect((error as McpFault).fault).toMatchObject({ kind: "sessionGone" });
  });

  test("has answers that survive the server's own closing of the connection", async () => {
    const endpoint = endpointOf("conformance");
    const { session } = await open2025(endpoint, helloFor("2025-11-25"), nextId());
    const request = over(streamable2025(endpoint, session));
    expect(textOf(await request(...call("test_reconnection")))).toBe("The answer survived the reconnection.");
    await end2025(endpoint, session);
  });

  test("has answers that survive a pulled cable, each part of them once", async () => {
    const proxy = await CutProxy.start(origin);
    const endpoint = endpointOf("lab", proxy.origin);
    const { session } = await open2025(endpoint, helloFor("2025-11-25"), nextId());
    const request = over(streamable2025(endpoint, session));
    const other = await client2026("lab");
    const key = crypto.randomUUID();
    const messages: unknown[] = [];
    const result = await request(...call("lab_long", { key }), {
      onNotification: async (message) => {
        messages.push(paramsOf(message)["progress"]);
        if (messages.length !== 3) return;
        proxy.cut();
        await other.request(...call("lab_write", { uri: `lab://gates/${key}`, name: "gate", text: "open" }));
      },
    });
    expect(messages).toEqual([1, 2, 3, 4, 5, 6]);
    expect(textOf(result)).not.toBe("");
    await end2025(endpoint, session);
  });
});

test("arguments that a schema mirrors into headers are mirrored as the server demands", async () => {
  const endpoint = endpointOf("conformance");
  const client = { endpoint, client: ABOUT, nextId };
  const { tools } = resultOf(await requestResult2026(client, { method: "tools/list", params: {} })) as {
    tools: { name: string; inputSchema: JsonObject }[];
  };
  const mirrored = collectParamHeaders(tools.find(({ name }) => name === "test_x_mcp_header")?.inputSchema ?? {});
  if ("broken" in mirrored) throw new Error(mirrored.broken);
  expect(mirrored.length).toBeGreaterThan(0);
  const [first] = mirrored;
  const args = Object.fromEntries(mirrored.map(({ path, type }) => [path.join("."), valueFor(type)]));
  const request = { method: "tools/call", params: { name: "test_x_mcp_header", arguments: args } };
  const done = resultOf(await requestResult2026(client, { ...request, paramHeaders: mirrored }));
  expect(done).toMatchObject({ content: [{ type: "text" }] });
  expect(done).not.toMatchObject({ isError: true });
  const error = await requestResult2026(client, request).catch((failed: unknown) => failed);
  expect((error as McpFault).message).toContain(`Mcp-Param-${first?.header}`);
});

function valueFor(type: string): unknown {
  if (type === "boolean") return true;
  return type === "integer" ? 7 : "Köln";
}
