// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import { beforeAll, describe, expect, test, vi } from "vitest";
import { comparableHeaders } from "../../support/comparable-headers.ts";
import { openEvents } from "../../support/event-reader.ts";
import { client2026, mcpClient, type Json } from "../../support/mcp-client.ts";
import { sendRaw, write, type RawReply } from "../../support/raw-http.ts";
import { expectRefusal } from "../../support/refusal.ts";
import { sharedWorkerPair, type SharedWorkerPair, type WatchedWorker } from "../../support/worker-pair.ts";

const REVISION = "2025-11-25";
const DOCUMENT = { mode: "open", maxStalenessMs: 50, profiles: { small: {}, large: {} } };

let workers: SharedWorkerPair;
let keys: Record<"a" | "b", string>;
beforeAll(async () => {
  workers = await sharedWorkerPair();
  const { one } = workers;
  for (const id of ["mine", "other"]) await one.admin("POST", "/tenants", { id, document: DOCUMENT });
  const [a, b] = await Promise.all(["a", "b"].map((name) => one.admin("POST", "/tenants/mine/keys", { name })));
  keys = { a: String(a?.["token"]), b: String(b?.["token"]) };
});

/** A place to call from: the tenant with its profile, and the key that is brought. */
interface Place {
  readonly at?: string;
  readonly key?: "a" | "b";
  readonly worker?: WatchedWorker;
}

const urlOf = ({ at = "mine", worker = workers.one }: Place) => `${worker.origin}/mcp/${at}`;
const credentialOf = ({ key }: Place): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${keys[key]}` };

async function begin(place: Place = {}): Promise<string> {
  const { headers } = await mcpClient(REVISION, urlOf(place), {}, credentialOf(place));
  return headers["mcp-session-id"] ?? "none";
}

function send(place: Place, session: string | undefined, method: string, body?: unknown): Promise<RawReply> {
  const headers = {
    ...write(REVISION, "ping").headers,
    ...(method === "GET" ? { accept: "text/event-stream" } : {}),
    ...credentialOf(place),
    ...(session === undefined ? {} : { "mcp-session-id": session }),
  };
  return sendRaw(urlOf(place), { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

const call = (place: Place, session: string | undefined, method = "tools/list", id: unknown = 7) =>
  send(place, session, "POST", write(REVISION, method, {}, id).body);

const notify = (place: Place, session: string, method: string) =>
  send(place, session, "POST", { jsonrpc: "2.0", method });

/** Everything that a client can send in a session, and the id of the refusal. */
const WAYS: readonly (readonly [string, (place: Place, session: string) => Promise<RawReply>, unknown])[] = [
  ["a request", (place, session) => call(place, session), 7],
  ["a request with a text as its id", (place, session) => call(place, session, "ping", "seven"), "seven"],
  ["a method that nobody has", (place, session) => call(place, session, "never/was"), 7],
  ["a notification", (place, session) => notify(place, session, "notifications/initialized"), undefined],
  ["a cancellation", (place, session) => notify(place, session, "notifications/cancelled"), undefined],
  ["an answer", (place, session) => send(place, session, "POST", { jsonrpc: "2.0", id: 7, result: {} }), undefined],
  ["a GET", (place, session) => send(place, session, "GET"), undefined],
  ["a DELETE", (place, session) => send(place, session, "DELETE"), undefined],
];

interface Wrong {
  readonly what: string;
  /** Where the session is begun that the id is made of. */
  readonly from?: Place;
  /** Where it is brought. */
  readonly to?: Place;
  readonly make?: (session: string) => string | Promise<string>;
}

/** When the lease ends that does not know of the session's end. */
const untilRefused = (place: Place, session: string) =>
  vi.waitUntil(async () => (await call(place, session)).status === 404, { timeout: 5000, interval: 20 });

const changed = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;

/** Sealed by the same keys, for another purpose. */
async function requestState(): Promise<string> {
  const call2026 = client2026(urlOf({}), { elicitation: {} });
  const { result } = await call2026.request("tools/call", { name: "lab_ask", arguments: { kind: "form" } });
  return String(result["requestState"]);
}

const WRONG: readonly Wrong[] = [
  { what: "nonsense", make: () => "nonsense" },
  { what: "empty", make: () => "" },
  { what: "a UUID, as other servers make them", make: () => crypto.randomUUID() },
  { what: "longer than any", make: (session) => session.padEnd(5000, "A") },
  { what: "one without its last character", make: (session) => session.slice(0, -1) },
  { what: "the first half of one", make: (session) => session.slice(0, session.length / 2) },
  { what: "one with a character more", make: (session) => `${session}A` },
  { what: "one with another last character", make: (session) => changed(session, session.length - 1) },
  { what: "one with another character inside", make: (session) => changed(session, Math.floor(session.length / 2)) },
  { what: "one that another key would have sealed", make: (session) => `k${session}` },
  { what: "one without its key's name", make: (session) => session.slice(session.indexOf(".") + 1) },
  { what: "two at once", make: (session) => `${session}, ${session}` },
  { what: "a request's state", make: requestState },
  { what: "another tenant's", from: { at: "other" } },
  { what: "one of the tenant without a profile, in a profile", to: { at: "mine/small" } },
  { what: "a profile's, in the tenant without one", from: { at: "mine/small" } },
  { what: "another profile's", from: { at: "mine/small" }, to: { at: "mine/large" } },
  { what: "another key's", from: { key: "a" }, to: { key: "b" } },
  { what: "a key's, brought without it", from: { key: "a" } },
  { what: "one of nobody's, brought with a key", to: { key: "a" } },
  {
    what: "one that was ended",
    make: async (session) => {
      expect((await send({}, session, "DELETE")).status).toBe(204);
      await untilRefused({ worker: workers.two }, session);
      return session;
    },
  },
];

/** What a refusal says, but for the id it answers to. */
const wordsOf = ({ status, headers, text }: RawReply) => {
  const { id: _id, ...said } = JSON.parse(text) as Json;
  const { "content-length": _length, ...kept } = comparableHeaders(headers);
  return { status, headers: kept, said };
};

describe.each(WRONG)("a session id that is $what", ({ from = {}, to = {}, make = (session) => session }) => {
  test("is not found, always with the same answer, and the original session goes on", async () => {
    const session = await begin(from);
    const id = await make(session);
    const nothing = wordsOf(await call(to, "never-was"));
    for (const [what, way, answers] of WAYS) {
      for (const worker of workers.both) {
        const reply = await way({ ...to, worker }, id);
        const error = expectRefusal(reply, REVISION, { status: 404, code: -32600, id: answers });
        expect({ what, ...error }).toEqual({ what, code: -32600, message: "Session not found" });
        expect(wordsOf(reply)).toEqual(nothing);
      }
    }
    const isEnded = (await call(from, session)).status === 404;
    expect(isEnded).toBe(id === session && from.at === to.at && from.key === to.key);
  });
});

test("a session that is not found is the same in the batches of 2025-03-26", async () => {
  const headers = { ...write("2025-03-26", "ping").headers, "mcp-session-id": "never-was" };
  const body = JSON.stringify([write("2025-03-26", "ping").body]);
  const reply = await sendRaw(urlOf({}), { headers, body });
  expectRefusal(reply, "2025-03-26", { status: 404, code: -32600 });
});

test("initialize begins another session, whatever id it brings", async () => {
  const session = await begin();
  const about = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  for (const brought of [session, "never-was"]) {
    const reply = await send({}, brought, "POST", write(REVISION, "initialize", about).body);
    const begun = String(reply.headers["mcp-session-id"]);
    expect([reply.status, begun === session]).toEqual([200, false]);
    expect((await call({}, begun)).status).toBe(200);
  }
  expect((await call({}, session)).status).toBe(200);
});

describe("DELETE", () => {
  test("is not allowed without a session, and says what is", async () => {
    for (const headers of [{}, { "mcp-protocol-version": REVISION }]) {
      const reply = await sendRaw(urlOf({}), { method: "DELETE", headers });
      expectRefusal(reply, REVISION, { status: 405, code: -32600 });
      expect(reply.headers["allow"]).toBe("POST, OPTIONS");
    }
  });

  test("is not allowed in era 2026, which has no sessions, and ends none", async () => {
    const session = await begin();
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-session-id": session };
    const reply = await sendRaw(urlOf({}), { method: "DELETE", headers });
    expectRefusal(reply, "2026-07-28", { status: 405, code: -32600 });
    expect((await call({}, session)).status).toBe(200);
  });

  test("ends a session once: the second time there is none", async () => {
    const session = await begin();
    const first = await send({}, session, "DELETE");
    expect([first.status, first.text]).toEqual([204, ""]);
    expectRefusal(await send({}, session, "DELETE"), REVISION, { status: 404, code: -32600 });
  });

  test("succeeds twice at the same moment", async () => {
    const session = await begin();
    const replies = await Promise.all(workers.both.map((worker) => send({ worker }, session, "DELETE")));
    for (const { status } of replies) expect([204, 404]).toContain(status);
    for (const worker of workers.both) await untilRefused({ worker }, session);
  });

  test("leaves the client's other sessions alone", async () => {
    const [one, two] = [await begin({ key: "a" }), await begin({ key: "a" })];
    expect((await send({ key: "a" }, one, "DELETE")).status).toBe(204);
    expect([(await call({ key: "a" }, one)).status, (await call({ key: "a" }, two)).status]).toEqual([404, 200]);
  });

  test("ends the session's stream", async () => {
    const client = await mcpClient(REVISION, urlOf({}));
    const stream = await openEvents(urlOf({}), { headers: client.headers });
    expect((await send({}, client.headers["mcp-session-id"], "DELETE")).status).toBe(204);
    await expect(stream.message()).rejects.toThrow("the stream ended");
  });
});

describe("in another isolate", () => {
  test("a session goes on", async () => {
    const session = await begin();
    const reply = await call({ worker: workers.two }, session);
    expect([reply.status, "result" in (JSON.parse(reply.text) as Json)]).toEqual([200, true]);
  });

  test("a session is refused once the lease has ended that does not know of its end", async () => {
    const session = await begin();
    const there: Place = { worker: workers.two };
    expect((await call(there, session)).status).toBe(200);
    expect((await send({}, session, "DELETE")).status).toBe(204);
    expect((await call({}, session)).status).toBe(404);
    await untilRefused(there, session);
    expectRefusal(await send(there, session, "GET"), REVISION, { status: 404, code: -32600 });
  });

  test("a session stays ended after all objects lost what they had in memory", async () => {
    const session = await begin();
    expect((await send({}, session, "DELETE")).status).toBe(204);
    await workers.evict();
    for (const worker of workers.both) await untilRefused({ worker }, session);
  });
});
