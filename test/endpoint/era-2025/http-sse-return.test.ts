import { beforeAll, describe, expect, test } from "vitest";
import { tamper } from "../../support/tamper.ts";
import { bearer, fixtureAdmin } from "../../support/fixture-admin.ts";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { client2026, type Json } from "../../support/mcp-client.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { expectRefusal } from "../../support/refusal.ts";
import { connectSse, HELLO, initializeSse, type SseConnection } from "../../support/sse-connection.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "return");
const lab = `${origin}/mcp/lab`;
const REVISION = "2024-11-05";
const UPDATED = "notifications/resources/updated";
const YES = { action: "accept", content: { yes: true } };

const named = (name: string = crypto.randomUUID(), url = lab) => `${url}?stream=${name}`;
const sessionOf = ({ endpoint }: SseConnection) => new URL(endpoint).searchParams.get("sessionId") ?? "";

const lastly = (id: string) => ({ headers: { "last-event-id": id } });

/** A GET that is refused, or left after its first event. */
const get = (url: string, headers: Record<string, string> = {}) =>
  sendRaw(url, { method: "GET", headers: { accept: "text/event-stream", ...headers }, standing: true });

const write = (uri: string, text: string, url = lab) =>
  client2026(url).request("tools/call", { name: "lab_write", arguments: { uri, text } });

describe("the id of the last event", () => {
  let good: { session: string; text: string };
  beforeAll(async () => {
    const { text } = await get(lab);
    const [, session = "", message = ""] = /^id: (.+)~(n\..+)~$/m.exec(text) ?? [];
    good = { session, text: message };
  });

  test("is refused if it is not of this transport", async () => {
    const { session, text } = good;
    const ids = [
      "x",
      text,
      "0123456789abcdef-3",
      `${session}~~`,
      `${session}~${text}`,
      `${session}~${text}~~`,
      `${session}~${text}~0123456789abcdef-1;`,
      `${session}~n.x.a.b.c~`,
      `a b~${text}~`,
      `${"x".repeat(513)}~${text}~`,
      "~~",
    ];
    for (const id of ids) {
      expectRefusal(await get(lab, { "last-event-id": id }), REVISION, { status: 400, code: -32600 });
    }
  });

  test("is not found if its session never existed or it was tampered with", async () => {
    const { session, text } = good;
    for (const id of [`x.AAAA~${text}~`, `${tamper(session)}~${text}~`]) {
      expectRefusal(await get(lab, { "last-event-id": id }), REVISION, { status: 404, code: -32600 });
    }
  });

  test("of another tenant's session is not found", async () => {
    const { endpointId } = await connectSse(`${origin}/mcp/conformance`);
    expectRefusal(await get(lab, { "last-event-id": endpointId }), REVISION, { status: 404, code: -32600 });
  });

  test("may name calls that there are not, and more of them than there can be", async () => {
    const keys = Array.from({ length: 200 }, (_none, at) => `${at.toString(16).padStart(16, "0")}-999999999`);
    const connection = await connectSse(lab, lastly(`${good.session}~${good.text}~${keys.join(",")}`));
    expect(await connection.request(1, "ping")).toHaveProperty("result");
    expect(connection.endpointId.length).toBeLessThan(4096);
  });

  test("of a session that its client ended is not found, nor is its endpoint, nor its name", async () => {
    const url = named();
    const connection = await connectSse(url);
    await initializeSse(connection);
    const id = sessionOf(connection);
    const { status } = await fetch(lab, { method: "DELETE", headers: { "mcp-session-id": id } });
    expect(status).toBe(204);
    while (await connection.stream.next());
    const gone = { status: 404, code: -32600 };
    expectRefusal(await get(lab, { "last-event-id": connection.endpointId }), REVISION, gone);
    expectRefusal(await get(connection.endpoint), REVISION, gone);
    expectRefusal(await get(url), REVISION, gone);
    expect((await connection.send({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
  });
});

describe("a name", () => {
  test("has 16 to 64 characters that a URL needs no escapes for", async () => {
    for (const name of [crypto.randomUUID().slice(0, 16), `${crypto.randomUUID()}${"~._-".repeat(7)}`]) {
      const { status, text } = await get(named(name));
      expect({ name, status, text }).toMatchObject({ status: 200, text: expect.stringContaining("event: endpoint") });
    }
    for (const name of ["", "x".repeat(15), "x".repeat(65), `${"x".repeat(16)}%20`, "ä".repeat(20)]) {
      expectRefusal(await get(named(name)), REVISION, { status: 400, code: -32600 });
    }
  });

  test("is one session each time, and another one for another name", async () => {
    const url = named();
    const [before, other] = [await connectSse(url), await connectSse(named())];
    await initializeSse(before);
    const after = await connectSse(url);
    expect(await before.stream.next()).toBeUndefined();
    for (const { request } of [after, other]) expect(await request(1, "ping")).toHaveProperty("result");
    // An endpoint that the client was given earlier is still its own.
    expect((await before.send({ jsonrpc: "2.0", id: "old", method: "ping" })).status).toBe(202);
    expect((await after.event("old")).message).toHaveProperty("result");
  });

  test("that two principals chose names two sessions", async () => {
    const tenant = await admin.tenant({ mode: "key" });
    const url = named(undefined, `${origin}/mcp/${tenant}`);
    const tokens = [(await admin.key(tenant)).token, (await admin.key(tenant)).token];
    const [one, two] = await Promise.all(tokens.map((token) => connectSse(url, { headers: bearer(token) })));
    if (!one || !two) throw new Error("there are two");
    for (const { request } of [one, two]) expect(await request(1, "ping")).toHaveProperty("result");
    const foreign = await sendRaw(one.endpoint, {
      headers: { "content-type": "application/json", ...bearer(tokens[1] ?? "") },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    expect(foreign.status).toBe(404);
  });

  test("that is claimed 200 times at once belongs to one stream in the end, which gets answers", async () => {
    const url = named();
    const readers = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const abort = new AbortController();
        const response = await fetch(url, { headers: { accept: "text/event-stream" }, signal: abort.signal });
        return { abort, status: response.status, text: response.text().catch(() => "left") };
      }),
    );
    expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
    const last = await connectSse(url);
    // Every one of them was ended by the server, none is still held.
    expect(await Promise.all(readers.map(({ text }) => text))).not.toContain("left");
    expect(await last.request(1, "ping")).toHaveProperty("result");
  });
});

describe("a client that comes back", () => {
  test("to its endpoint goes on in its session", async () => {
    const before = await connectSse(lab);
    await before.request("hello", "initialize", { ...HELLO, protocolVersion: "2025-03-26" });
    const after = await connectSse(before.endpoint);
    expect(sessionOf(after)).toBe(sessionOf(before));
    await after.send([{ jsonrpc: "2.0", id: 1, method: "ping" }]);
    expect(await after.stream.message((one) => Array.isArray(one))).toMatchObject([{ id: 1, result: {} }]);
  });

  const ways: [what: string, back: (before: SseConnection, url: string) => Promise<SseConnection>][] = [
    ["by the id of its last event", ({ endpointId }) => connectSse(lab, lastly(endpointId))],
    ["by its name", (_before, url) => connectSse(url)],
  ];
  test.each(ways)("%s has its log level and its subscriptions, and hears what it missed", async (_what, back) => {
    const url = named();
    const uri = `lab://return/${crypto.randomUUID()}`;
    const before = await connectSse(url);
    await initializeSse(before);
    await before.request(1, "logging/setLevel", { level: "warning" });
    await before.request(2, "resources/subscribe", { uri });
    await before.stream.close();
    await write(uri, "while it was away");
    const after = await back(before, url);
    expect((await after.event(UPDATED)).message.params).toEqual({ uri });
    await write(uri, "while it is back");
    expect((await after.event(UPDATED)).message.params).toEqual({ uri });
    await after.call(3, "lab_steps", { steps: 4 });
    const answer: Json[] = [];
    while (answer.at(-1)?.id !== 3) answer.push(await after.stream.message());
    const logged = answer.filter(({ method }) => method === "notifications/message");
    expect(logged.map(({ params }) => (params as Json)["level"])).toEqual(["warning", "warning"]);
  });

  test.each(ways)("%s gets a question that was asked after it came back", async (_what, back) => {
    const [url, key] = [named(), crypto.randomUUID()];
    const before = await connectSse(url);
    await initializeSse(before);
    await before.call("late", "lab_late", { key });
    const prefix = `lab://ends/${key}/`;
    const list = () => client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
    await expect.poll(async () => JSON.stringify((await list()).result.content)).toContain("began");
    await before.stream.close();
    const after = await back(before, url);
    await after.request(1, "ping");
    await write(`lab://gates/${key}`, "open");
    const { message } = await after.event("elicitation/create");
    await after.send({ jsonrpc: "2.0", id: message.id, result: YES });
    expect((await after.event("late")).message.result).toMatchObject({ content: [{ text: "accept" }] });
  });

  test("with initialize is a new client, which gets no answer to earlier requests", async () => {
    const url = named();
    const before = await connectSse(url);
    await initializeSse(before);
    await before.call(3, "lab_ask", { kind: "form" });
    const { message } = await before.event("elicitation/create");
    const after = await connectSse(url);
    await initializeSse(after);
    await after.send({ jsonrpc: "2.0", id: message.id, result: YES });
    const tools = await after.request(3, "tools/list");
    expect(tools.result).toHaveProperty("tools");
    expect((await after.soFar()).filter(({ id }) => id === 3)).toEqual([]);
  });
});
