// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server

import { describe, expect, test } from "vitest";
import { openEvents, type EventReader } from "../../support/event-reader.ts";
import { bearer, fixtureAdmin } from "../../support/fixture-admin.ts";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { client2025, client2026, post, type Client, type Json, type Reply } from "../../support/mcp-client.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "answers");
const lab = `${origin}/mcp/lab`;
const REVISION = "2025-11-25";
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const YES = { action: "accept", content: { yes: true } };
const NO = { action: "accept", content: { yes: false } };
const [SAID_YES, SAID_NO] = ['{"yes":true}', '{"yes":false}'];

const connect = (url = lab, headers: Record<string, string> = {}, revision = REVISION) =>
  client2025(url, revision, EVERYTHING, headers);

interface Running {
  readonly client: Client;
  readonly url: string;
  readonly stream: EventReader;
  /** The result's text. */
  readonly done: () => Promise<string>;
}

interface Starting {
  readonly client?: Client;
  readonly url?: string;
  readonly id?: string | number;
}

/** A call on a stream of its own. */
async function start(name: string, args: Json, { client, url = lab, id = "call" }: Starting = {}): Promise<Running> {
  const mine = client ?? (await connect(url));
  const params = { name, arguments: args, _meta: { progressToken: "p" } };
  const stream = await openEvents(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...mine.headers },
    body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }),
  });
  const done = async () => {
    const message = await stream.message((one) => one["id"] === id && !("method" in one));
    expectOfficial(REVISION, message, { direction: "server", method: "tools/call" });
    const { content } = message["result"] as { content: { text: string }[] };
    return content[0]?.text ?? "";
  };
  return { client: mine, url, stream, done };
}

interface OpenQuestion extends Running {
  /** The id of the question. */
  readonly question: string;
  readonly eventId: string;
}

async function ask(starting: Starting = {}, kind = "form"): Promise<OpenQuestion> {
  const running = await start("lab_ask", { kind }, starting);
  for (let event = await running.stream.next(); event; event = await running.stream.next()) {
    if (event.data === "") continue;
    return { ...running, question: String((JSON.parse(event.data) as Json)["id"]), eventId: event.id ?? "" };
  }
  throw new Error("nothing was asked");
}

const say = ({ headers }: Pick<Client, "headers">, message: unknown, url = lab): Promise<Reply> =>
  post(url, message, { headers: { ...headers } });
const answer = (id: unknown, result: unknown = YES) => ({ jsonrpc: "2.0", id, result });
const cancellation = (params: Json) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params });

async function expectTaken(saying: Promise<Reply>): Promise<void> {
  const { status, text } = await saying;
  expect({ status, text }).toEqual({ status: 202, text: "" });
}

/** The question is still open: the right answer ends the call. */
async function expectOpen({ client, url, question, done }: OpenQuestion): Promise<void> {
  await expectTaken(say(client, answer(question), url));
  expect(await done()).toBe(SAID_YES);
}

describe("an answer", () => {
  test("to an unknown question is accepted and changes nothing", async () => {
    const open = await ask();
    const ids = ["never-was", 1, "call", "", "q-0123456789abcdef-1.1", "q".repeat(5000), "q' OR '1'='1"];
    for (const id of ids) {
      await expectTaken(say(open.client, answer(id, NO)));
      await expectTaken(say(open.client, { jsonrpc: "2.0", id, error: { code: -1, message: "No" } }));
    }
    await expectOpen(open);
  });

  test("in a session without a question is accepted", async () => {
    await expectTaken(say(await connect(), answer("never-was")));
  });

  test("counts once: the first", async () => {
    const open = await ask();
    for (const result of [NO, YES]) await expectTaken(say(open.client, answer(open.question, result)));
    expect(await open.done()).toBe(SAID_NO);
  });

  test("counts once when many come at the same moment", async () => {
    const open = await ask();
    const results = Array.from({ length: 10 }, (_none, at) => (at % 2 === 0 ? YES : NO));
    await Promise.all(results.map((result) => expectTaken(say(open.client, answer(open.question, result)))));
    expect([SAID_YES, SAID_NO]).toContain(await open.done());
    expect(await open.stream.next()).toBeUndefined();
  });

  test("after its call ended is accepted, and the call does not run again", async () => {
    const open = await ask();
    await expectOpen(open);
    expect(await open.stream.next()).toBeUndefined();
    for (const result of [YES, NO]) await expectTaken(say(open.client, answer(open.question, result)));
    const again = await fetch(lab, {
      headers: { ...open.client.headers, accept: "text/event-stream", "last-event-id": open.eventId },
    });
    const notifications = (await again.text()).split("\n").filter((line) => line.startsWith("data: {"));
    expect(notifications.map((line) => (JSON.parse(line.slice(6)) as Json)["id"])).toEqual(["call"]);
  });

  test("to one question does not answer the next one", async () => {
    const { client, stream, done } = await start("lab_rounds", { key: crypto.randomUUID() });
    const isQuestion = ({ method }: Json) => method === "elicitation/create";
    const first = await stream.message(isQuestion);
    await expectTaken(say(client, answer(first["id"])));
    const second = await stream.message(isQuestion);
    expect(second["id"]).not.toBe(first["id"]);
    await expectTaken(say(client, answer(first["id"], NO)));
    await expectTaken(say(client, answer(second["id"], NO)));
    const third = await stream.message(isQuestion);
    await expectTaken(say(client, answer(third["id"])));
    expect(JSON.parse(await done())).toMatchObject({ answers: [SAID_YES, SAID_NO, SAID_YES] });
  });

  test.each(["2024-11-05", "2025-03-26", "2025-06-18"])("of a client of %s reaches its call", async (revision) => {
    await expectOpen(await ask({ client: await connect(lab, {}, revision) }));
  });

  test("in a batch of 2025-03-26 reaches its call, too", async () => {
    const open = await ask({ client: await connect(lab, {}, "2025-03-26") });
    const batch = [answer("never-was"), { jsonrpc: "2.0", id: 1, method: "ping" }, answer(open.question)];
    expect((await say(open.client, batch)).status).toBe(200);
    expect(await open.done()).toBe(SAID_YES);
  });

  test("that is an error fails the tool's question, and the error says why", async () => {
    const open = await ask();
    const error = { code: -1, message: "User rejected sampling request" };
    await expectTaken(say(open.client, { jsonrpc: "2.0", id: open.question, error }));
    expect(await open.done()).toContain(error.message);
  });

  test.each<[string, Json]>([
    ["nothing", {}],
    ["a code that is a text", { code: "x", message: "why" }],
    ["a message that is a number", { code: 1, message: 5 }],
    ["data of all kinds", { code: 1, message: "why", data: { deep: [[{}]] } }],
    ["a long message", { code: 1, message: "x".repeat(100_000) }],
  ])("that is an error with %s ends the call, too, and shows no more than it should", async (_what, error) => {
    const open = await ask();
    await expectTaken(say(open.client, { jsonrpc: "2.0", id: open.question, error }));
    const text = await open.done();
    expect(text).toContain("refused");
    expect(text.length).toBeLessThan(2000);
  });

  test("that is no JSON-RPC response is refused and the question stays open", async () => {
    const open = await ask();
    const id = open.question;
    const wrong: readonly Json[] = [
      { jsonrpc: "2.0", id },
      { jsonrpc: "2.0", id, result: YES, error: { code: 1, message: "no" } },
      { jsonrpc: "2.0", id, result: null },
      { jsonrpc: "2.0", id, result: "yes" },
      { jsonrpc: "2.0", id, error: "no" },
      { jsonrpc: "2.0", id: null, result: YES },
      { jsonrpc: "2.0", id: [id], result: YES },
      { id, result: YES },
    ];
    for (const message of wrong) {
      const { status, error } = await say(open.client, message);
      expect({ message, status, code: error?.code }).toEqual({ message, status: 400, code: -32600 });
    }
    await expectOpen(open);
  });

  test("that does not fit is asked for again, a few times", async () => {
    const { client, stream, done } = await start("lab_ask", { kind: "form" });
    const questions = new Set<unknown>();
    for (const result of [{}, { action: "accept", content: { yes: "perhaps" } }, { action: "maybe" }]) {
      const { id } = await stream.message(({ method }) => method === "elicitation/create");
      questions.add(id);
      await expectTaken(say(client, answer(id, result)));
    }
    expect(questions.size).toBe(3);
    expect(await done()).toContain("does not match the question");
  });
});

describe("from another client", () => {
  const DOCUMENT = { profiles: { small: {} } };

  /** Who else there is, by the URL and what is sent along. */
  async function others(): Promise<{ open: OpenQuestion; from: readonly (readonly [string, Client])[] }> {
    const [mine, theirs] = [await admin.tenant(DOCUMENT), await admin.tenant(DOCUMENT)];
    const { token } = await admin.key(mine);
    const url = `${origin}/mcp/${mine}`;
    const clientAt = async (at: string, headers = {}) => [at, await connect(at, headers)] as const;
    const open = await ask({ url, client: await connect(url) });
    const { "mcp-session-id": _session, ...without } = open.client.headers;
    const from = [
      await clientAt(url),
      await clientAt(`${url}/small`),
      await clientAt(url, bearer(token)),
      await clientAt(`${origin}/mcp/${theirs}`),
      [url, { ...open.client, headers: without }] as const,
    ];
    return { open, from };
  }

  test("an answer is taken and changes nothing", async () => {
    const { open, from } = await others();
    for (const [url, client] of from) {
      await expectTaken(say(client, answer(open.question, NO), url));
      await expectTaken(
        say(client, { ...answer(open.question), result: undefined, error: { code: 1, message: "no" } }, url),
      );
    }
    await expectOpen(open);
  });

  test("a cancellation is taken and changes nothing", async () => {
    const { open, from } = await others();
    for (const [url, client] of from) await expectTaken(say(client, cancellation({ requestId: "call" }), url));
    await expectOpen(open);
  });

  test("an event id shows nothing, and the call's own stream goes on", async () => {
    const { open, from } = await others();
    for (const [url, { headers }] of from) {
      const response = await fetch(url, {
        headers: { ...headers, accept: "text/event-stream", "last-event-id": open.eventId.replace(/\d+$/, "0") },
      });
      const text = await response.text();
      expect([response.status, text.includes("elicitation/create")]).toEqual([400, false]);
    }
    await expectOpen(open);
  });

  test("without a session, nothing is accepted", async () => {
    const { open, from } = await others();
    const session = open.client.headers["mcp-session-id"] ?? "";
    const stolen = from
      .slice(1, 4)
      .map(([url, { headers }]) => [url, { ...headers, "mcp-session-id": session }] as const);
    for (const [url, headers] of stolen) {
      for (const message of [answer(open.question, NO), cancellation({ requestId: "call" })]) {
        const { status, error } = await say({ headers }, message, url);
        expect([status, error?.code]).toEqual([404, -32600]);
      }
    }
    await expectOpen(open);
  });
});

describe("a cancellation", () => {
  async function endsOf(key: string): Promise<string[]> {
    const prefix = `lab://ends/${key}/`;
    const { result } = await client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
    const uris = JSON.parse(String((result["content"] as Json[])[0]?.["text"])) as string[];
    return uris.map((uri) => uri.slice(prefix.length));
  }
  const untilEnds = (key: string, ends: readonly string[]) =>
    expect.poll(() => endsOf(key), { timeout: 15_000, interval: 50 }).toEqual(ends);

  test.each(["call", 5, 0])("ends a running call, which is not answered, by its id %j", async (id) => {
    const key = crypto.randomUUID();
    const { client, stream } = await start("lab_watch", { key, forMs: 15_000, talk: true }, { id });
    await stream.message(({ method }) => method === "notifications/progress");
    await expectTaken(say(client, cancellation({ requestId: id, reason: "enough" })));
    await untilEnds(key, ["aborted", "began"]);
    await expect(stream.message((message) => !("method" in message))).rejects.toThrow("the stream ended");
  });

  test("ends a call that waits for an answer, which then comes too late", async () => {
    const open = await ask();
    await expectTaken(say(open.client, cancellation({ requestId: "call" })));
    expect(await open.stream.next()).toBeUndefined();
    await expectTaken(say(open.client, answer(open.question)));
  });

  test("in a batch of 2025-03-26 ends its call, too", async () => {
    const open = await ask({ client: await connect(lab, {}, "2025-03-26") });
    await expectTaken(say(open.client, [cancellation({ requestId: "call" })]));
    expect(await open.stream.next()).toBeUndefined();
  });

  test("that names no call of the session is accepted and changes nothing", async () => {
    const open = await ask({ id: "5" });
    // The number that the id spells is another id.
    const others: readonly unknown[] = ["never-was", 5, undefined, null, ["5"], 5.5, { id: "5" }, "5".repeat(5000)];
    for (const requestId of others) await expectTaken(say(open.client, cancellation({ requestId })));
    await expectOpen(open);
  });

  test("ends one of two calls that wait", async () => {
    const client = await connect();
    const [one, two] = [await ask({ client, id: "one" }), await ask({ client, id: "two" })];
    await expectTaken(say(client, cancellation({ requestId: "one" })));
    expect(await one.stream.next()).toBeUndefined();
    await expectOpen(two);
  });
});

describe("progress of a question", () => {
  const progress = (params: Json) => ({ jsonrpc: "2.0", method: "notifications/progress", params });

  test("reaches the tool that asked, in order, until the answer", async () => {
    const { client, stream, done } = await start("lab_patient", {});
    const open = await stream.message((message) => message["method"] === "sampling/createMessage");
    expectOfficial(REVISION, open, { direction: "server", method: "sampling/createMessage" });
    const { progressToken } = (open["params"] as { _meta: Json })._meta;
    await expectTaken(say(client, progress({ progressToken, progress: 1, total: 3, message: "thinking" })));
    await expectTaken(say(client, progress({ progressToken, progress: 2, message: "trip" })));
    await expectTaken(say(await connect(), progress({ progressToken, progress: 2.5 })));
    await expectTaken(say(client, progress({ progressToken, progress: "3" })));
    await expectTaken(say(client, progress({ progressToken, progress: 3, total: "many", more: {} })));
    await expectTaken(
      say(client, answer(open["id"], { role: "assistant", model: "m", content: { type: "text", text: "blue" } })),
    );
    await expectTaken(say(client, progress({ progressToken, progress: 4 })));
    expect(JSON.parse(await done())).toEqual([
      { progress: 1, total: 3, message: "thinking" },
      { progress: 2, message: "trip" },
      { progress: 3 },
    ]);
  });
});

test("any other notification of a client is taken and changes nothing", async () => {
  const open = await ask();
  const others: readonly [string, Json][] = [
    ["notifications/progress", { progressToken: "p", progress: 1, total: 2 }],
    ["notifications/progress", {}],
    ["notifications/roots/list_changed", {}],
    ["notifications/initialized", {}],
    ["notifications/message", { level: "error", data: "no" }],
    ["notifications/elicitation/complete", { elicitationId: "never-was" }],
    ["notifications/resources/updated", { uri: "lab://end" }],
    ["nothing/here", {}],
  ];
  for (const [method, params] of others) await expectTaken(say(open.client, { jsonrpc: "2.0", method, params }));
  await expectOpen(open);
});
