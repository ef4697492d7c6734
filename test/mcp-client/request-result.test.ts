// Asking until there is a result: what the server asks back is answered in the way of its era, what is said meanwhile is handed
// over, and what is given up is cancelled at the server.

import { describe, expect, test } from "vitest";
import {
  requestResult2025,
  requestResult2026,
  type SendOptions,
  type ResultMessage,
} from "../../src/mcp-client/request-result.ts";
import type { ParamHeader } from "../../src/protocol/headers.ts";
import type { RemoteEndpoint } from "../../src/mcp-client/remote-endpoint.ts";
import { buildRequest2025 } from "../../src/mcp-client/prepared-request.ts";
import type { HandleQuestion } from "../../src/mcp-client/question-dispatcher.ts";
import { streamable2025 } from "../../src/mcp-client/streamable-2025.ts";
import { ABOUT, bench, done, expectNothingLeft, faultOf, progress, SESSION } from "./client-setup.ts";
import { expectOfficial } from "../support/official-schema.ts";
import type { Exchange, Json } from "../support/scripted-server.ts";

expectNothingLeft();

type Bench = Awaited<ReturnType<typeof bench>>;

const CALL = { method: "tools/call", params: { name: "ask", arguments: { a: 1 } } };
const FORM = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } };
const question = (id: string, method = "elicitation/create", params: Json = FORM): Json => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

async function ask(made: Bench, asking: SendOptions): Promise<ResultMessage> {
  const client = { channel: streamable2025(made.endpoint, SESSION), clock: made.clock };
  return requestResult2025(client, buildRequest2025({ id: 1, ...CALL }), { ...made.options, ...asking });
}

async function askNew(made: Bench, asking: SendOptions, mirrored?: readonly ParamHeader[]): Promise<ResultMessage> {
  let id = 0;
  const client = { endpoint: made.endpoint, client: ABOUT, nextId: () => (id += 1) };
  return requestResult2026(
    client,
    { ...CALL, ...(mirrored && { paramHeaders: mirrored }) },
    { ...made.options, ...asking },
  );
}

const ERAS = [
  { era: "2025", asks: ask },
  { era: "2026", asks: askNew },
];

describe.each(ERAS)("era $era", ({ era, asks }) => {
  test("a result is the text that the server wrote", async () => {
    const made = await bench((one) => one.json('{"jsonrpc":"2.0","id":1,"result":{ "content":[], "n":1.0 }}'));
    expect((await asks(made, {})).result).toBe('{ "content":[], "n":1.0 }');
  });

  test("an error is a fault that keeps it whole, with the head of its answer", async () => {
    const made = await bench((one) => one.error(-32602, "Unknown tool", 200));
    expect(await faultOf(asks(made, {}))).toMatchObject({
      kind: "refused",
      http: { status: 200 },
      error: { id: 1, error: '{"code":-32602,"message":"Unknown tool"}' },
    });
    const refused = await bench((one) =>
      one.json({ jsonrpc: "2.0", error: { code: 1, message: "No" } }, 401, { "www-authenticate": "Bearer x" }),
    );
    expect(await faultOf(asks(refused, {}))).toMatchObject({ http: { status: 401, wwwAuthenticate: "Bearer x" } });
  });

  test("notifications before the result are handed over in order, each before the next is read", async () => {
    const made = await bench((one) => one.stream().event(progress("one")).event(progress("two")).event(done(1)).end());
    const lines: string[] = [];
    await asks(made, {
      onNotification: async (message) => {
        lines.push(`begin ${message.text.length}`);
        await Promise.resolve();
        lines.push("end");
      },
    });
    expect(lines).toEqual([expect.stringContaining("begin"), "end", expect.stringContaining("begin"), "end"]);
  });

  test("a listener who fails ends the request", async () => {
    const made = await bench((one) =>
      one.name === "tools/call" ? one.stream().event(progress("one")) : one.refuse(202),
    );
    const notified = () => Promise.reject(new Error("mine"));
    await expect(asks(made, { onNotification: notified })).rejects.toThrow("mine");
    await made.server.exchanges[0]?.closed;
  });

  test("a request that takes too long is given up at the server too", async () => {
    const made = await bench((one) => (one.name === "tools/call" ? undefined : one.refuse(202)));
    const work = faultOf(asks(made, { limits: { headersMs: 1000 } }));
    const exchange = await made.server.next("tools/call");
    made.clock.advance(1000);
    expect(await work).toMatchObject({ kind: "timeout" });
    await exchange.closed;
    expect(made.server.names).toEqual(era === "2025" ? ["tools/call", "notifications/cancelled"] : ["tools/call"]);
  });

  test("a request whose caller goes is given up at the server, unless it was never sent", async () => {
    const made = await bench((one) => (one.name === "tools/call" ? one.stream() : one.refuse(202)));
    const work = faultOf(asks(made, {}));
    await made.server.next("tools/call");
    made.abort.abort();
    expect(await work).toMatchObject({ kind: "cancelled" });
    const notifications = era === "2025" ? ["notifications/cancelled"] : [];
    expect(made.server.names).toEqual(["tools/call", ...notifications]);
    if (era === "2025") expect(made.server.exchanges.at(-1)?.message["params"]).toEqual({ requestId: 1 });
    expect(await faultOf(asks(made, {}))).toEqual({ kind: "cancelled", sent: "no" });
    expect(made.server.names).toEqual(["tools/call", ...notifications]);
  });
});

describe("a server of era 2025", () => {
  const accept: HandleQuestion = async ({ method, params }) =>
    method === "elicitation/create" ? { action: "accept", content: { said: params["message"] } } : undefined;

  async function sendRequest(answer: HandleQuestion | undefined, ...questions: Json[]) {
    const made = await bench();
    const work = ask(made, answer === undefined ? {} : { onQuestion: answer });
    const stream = (await made.server.next("tools/call")).stream();
    for (const one of questions) stream.event(one);
    return { ...made, work, stream };
  }

  async function finish({ stream, work }: { stream: Exchange; work: Promise<ResultMessage> }): Promise<void> {
    stream.event(done(1)).end();
    expect((await work).result).toBe("{}");
  }

  test("is answered in its session, under the id of its question", async () => {
    const made = await sendRequest(accept, question("q"));
    const response = await made.server.next("response");
    expectOfficial("2025-11-25", response.message, { direction: "client", method: "elicitation/create" });
    expect(response.message).toEqual({
      jsonrpc: "2.0",
      id: "q",
      result: { action: "accept", content: { said: "Sure?" } },
    });
    expect(response.headers["mcp-session-id"]).toBe("s-1");
    response.refuse(202);
    await finish(made);
  });

  test("is answered in whatever order the answers come", async () => {
    const settle: Record<string, () => void> = {};
    const made = await sendRequest(
      async ({ params }) => {
        await new Promise<void>((resolve) => (settle[String(params["name"])] = resolve));
        return { name: params["name"] };
      },
      question("a", "sampling/createMessage", { name: "a" }),
      question("b", "sampling/createMessage", { name: "b" }),
    );
    made.stream.event(question("p", "ping"));
    // The pong shows that both questions are open.
    (await made.server.next("response")).refuse(202);
    settle["b"]?.();
    const first = await made.server.next("response");
    expect(first.message).toMatchObject({ id: "b", result: { name: "b" } });
    first.refuse(202);
    settle["a"]?.();
    const second = await made.server.next("response");
    expect(second.message).toMatchObject({ id: "a" });
    second.refuse(202);
    await finish(made);
  });

  test.each([
    { what: "its ping", answer: accept, asks: "ping", says: { result: {} } },
    {
      what: "what nobody is asked here",
      answer: accept,
      asks: "roots/list",
      says: { error: { code: -32601, message: "This client does not support roots/list" } },
    },
    {
      what: "anything, where nobody answers",
      answer: undefined,
      asks: "roots/list",
      says: { error: { code: -32601, message: "This client does not support roots/list" } },
    },
    {
      what: "what its client cannot be asked, with the reason",
      answer: async () => "the client's revision 2024-11-05 does not support audio",
      asks: "sampling/createMessage",
      says: { error: { code: -32602, message: "the client's revision 2024-11-05 does not support audio" } },
    },
    {
      what: "what fails here, without a reason",
      answer: async () => Promise.reject(new Error("secret")),
      asks: "roots/list",
      says: { error: { code: -32603, message: "Internal error" } },
    },
  ])("is told the end of $what", async ({ answer, asks, says }) => {
    const made = await sendRequest(answer, question("q", asks, {}));
    const response = await made.server.next("response");
    expect(response.message).toEqual({ jsonrpc: "2.0", id: "q", ...says });
    response.refuse(202);
    await finish(made);
  });

  test("may take a question back, which is then not answered", async () => {
    let isOver = () => {};
    const over = new Promise<void>((resolve) => (isOver = resolve));
    const made = await sendRequest(async ({ signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      isOver();
      return {};
    }, question("q"));
    made.stream.event({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "q" } });
    await over;
    await finish(made);
    expect(made.server.names).toEqual(["tools/call"]);
  });

  test("has its open questions dropped when it answers the call", async () => {
    let question1: AbortSignal | undefined;
    const made = await sendRequest(async ({ signal }) => {
      question1 = signal;
      return new Promise(() => {});
    }, question("q"));
    await finish(made);
    expect(question1?.aborted).toBe(true);
    expect(made.server.names).toEqual(["tools/call"]);
  });

  test("cannot ask more at once than a person could answer", async () => {
    const many = Array.from({ length: 33 }, (_, at) => question(`q-${at}`));
    const made = await sendRequest(async () => new Promise(() => {}), ...many);
    const response = await made.server.next("response");
    expect(response.message).toMatchObject({ id: "q-32", error: { code: -32603 } });
    response.refuse(202);
    await finish(made);
  });

  test("cannot make us send a request for each of hundreds of questions", async () => {
    const made = await bench();
    let requests = 0;
    const fetch: RemoteEndpoint["fetch"] = async (url, init) => {
      requests += 1;
      return made.endpoint.fetch(url, init);
    };
    const counted = { ...made, endpoint: { ...made.endpoint, fetch } };
    const work = ask(counted, { onQuestion: async () => new Promise(() => {}) });
    const stream = (await made.server.next("tools/call")).stream();
    made.server.script = (one) => one.refuse(503);
    // All of it in one piece, as it arrives when the server writes it at once.
    const events = Array.from({ length: 400 }, (_none, at) => {
      return [question(`q-${at}`), question(`p-${at}`, "ping")].map((one) => `data: ${JSON.stringify(one)}\n\n`);
    });
    stream.raw(events.flat().join(""));
    await finish({ stream, work });
    expect(requests).toBeGreaterThan(32);
    expect(requests - 1).toBeLessThanOrEqual(500);
  });

  test("is not sent a pong again that it did not take", async () => {
    const made = await bench();
    const posted: Promise<Response>[] = [];
    const fetch: RemoteEndpoint["fetch"] = async (url, init) => {
      posted.push(made.endpoint.fetch(url, init));
      return posted.at(-1) as Promise<Response>;
    };
    const work = ask({ ...made, endpoint: { ...made.endpoint, fetch } }, {});
    const stream = (await made.server.next("tools/call")).stream().event(question("p", "ping"));
    (await made.server.next("response")).refuse(503);
    await Promise.all(posted);
    // The fault has been judged by then.
    await new Promise((resolve) => setImmediate(resolve));
    expect(made.clock.pending).not.toContain(100);
    await finish({ stream, work });
  });

  test("gets an answer again that may not have arrived", async () => {
    const made = await sendRequest(accept, question("q"));
    (await made.server.next("response")).drop();
    await made.clock.untilWaitsFor(100);
    made.clock.advance(100);
    (await made.server.next("response")).refuse(202);
    await finish(made);
  });
});

describe("a server of era 2026", () => {
  const wants = (inputRequests: Json, requestState?: string): Json => ({
    resultType: "input_required",
    inputRequests,
    ...(requestState !== undefined && { requestState }),
  });
  const FINAL = { resultType: "complete", content: [] };

  test("is asked again with the answers and its own state, under a new id, until it is content", async () => {
    const rounds = [
      wants({ a: { method: "elicitation/create", params: FORM } }, "state-1"),
      wants({ b: { method: "roots/list" }, c: { method: "sampling/createMessage", params: { n: 1 } } }),
      FINAL,
    ];
    const made = await bench((one) => one.result(rounds[made.server.exchanges.length - 1] ?? {}));
    const methods: string[] = [];
    const result = await askNew(made, {
      onQuestion: async ({ method, params }) => {
        methods.push(method);
        return method === "roots/list" ? undefined : { answered: method, params };
      },
    });
    expect(JSON.parse(result.result)).toEqual(FINAL);
    expect(methods).toEqual(["elicitation/create", "roots/list", "sampling/createMessage"]);
    expect(made.server.exchanges.map(({ message }) => message["id"])).toEqual([1, 2, 3]);
    const [first, second, third] = made.server.exchanges.map(({ message }) => message["params"] as Json);
    expect(first).not.toHaveProperty("inputResponses");
    expect(second).toMatchObject({
      ...CALL.params,
      requestState: "state-1",
      inputResponses: { a: { answered: "elicitation/create", params: FORM } },
    });
    expect(third).toMatchObject({ inputResponses: { c: { answered: "sampling/createMessage", params: { n: 1 } } } });
    expect(third).not.toHaveProperty("requestState");
    expect(third?.["inputResponses"]).not.toHaveProperty("b");
  });

  test("has its questions handed out as the result where nobody answers them", async () => {
    const asks = wants({ a: { method: "roots/list" } }, "s");
    const made = await bench((one) => one.result(asks));
    expect(JSON.parse((await askNew(made, {})).result)).toEqual(asks);
    expect(made.server.exchanges).toHaveLength(1);
  });

  test("is given up where it asks without end", async () => {
    const made = await bench((one) => one.result(wants({}, "again")));
    expect(await faultOf(askNew(made, { onQuestion: async () => ({}) }))).toMatchObject({
      kind: "violation",
      rule: "tooManyRounds",
    });
    expect(made.server.exchanges).toHaveLength(10);
  });

  test("cannot ask more at once than a person could answer", async () => {
    const many = Object.fromEntries(Array.from({ length: 33 }, (_none, at) => [`q-${at}`, { method: "roots/list" }]));
    const made = await bench((one) => one.result(wants(many)));
    const answer = async () => Promise.reject(new Error("nobody is asked"));
    expect(await faultOf(askNew(made, { onQuestion: answer }))).toMatchObject({
      kind: "violation",
      rule: "tooManyQuestions",
    });
  });

  test("may name its questions as it likes", async () => {
    const names = ["__proto__", "constructor", "toString"];
    const asks = names.map((name) => `"${name}":{"method":"roots/list"}`).join(",");
    const first = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{${asks}}}}`;
    const made = await bench((one) => (made.server.exchanges.length === 1 ? one.json(first) : one.result(FINAL)));
    await askNew(made, { onQuestion: async () => ({ roots: [] }) });
    const answers = names.map((name) => `"${name}":{"roots":[]}`).join(",");
    expect(made.server.exchanges[1]?.body).toContain(`"inputResponses":{${answers}}`);
  });

  test.each([
    { what: "resultType", twice: '"resultType":"complete","content":[],"resultType":"input_required"' },
    { what: "inputRequests", twice: '"inputRequests":{},"resultType":"input_required","inputRequests":{}' },
    { what: "resultType in another spelling", twice: '"resultType":"complete","result\\u0054ype":"input_required"' },
  ])("breaks the protocol where it says $what twice", async ({ twice }) => {
    const made = await bench((one) => one.json(`{"jsonrpc":"2.0","id":1,"result":{${twice}}}`));
    const answer = async () => Promise.reject(new Error("nobody is asked"));
    expect(await faultOf(askNew(made, { onQuestion: answer }))).toMatchObject({
      kind: "violation",
      rule: "notJsonRpc",
    });
    expect(made.server.exchanges).toHaveLength(1);
  });

  test("is not asked again where only a member inside of its result says input_required", async () => {
    const made = await bench((one) => one.result({ ...FINAL, structuredContent: { resultType: "input_required" } }));
    await askNew(made, { onQuestion: async () => Promise.reject(new Error("nobody asked")) });
    expect(made.server.exchanges).toHaveLength(1);
  });

  test("is not asked again when the caller goes while an answer is looked for, nor when none is found", async () => {
    const made = await bench((one) => one.result(wants({ a: { method: "roots/list" } })));
    const answer: HandleQuestion = async ({ signal }) => {
      made.abort.abort();
      expect(signal.aborted).toBe(true);
      return {};
    };
    expect(await faultOf(askNew(made, { onQuestion: answer }))).toEqual({ kind: "cancelled", sent: "yes" });
    const other = await bench((one) => one.result(wants({ a: { method: "roots/list" } })));
    await expect(askNew(other, { onQuestion: async () => Promise.reject(new Error("mine")) })).rejects.toThrow("mine");
    expect([made.server.exchanges.length, other.server.exchanges.length]).toEqual([1, 1]);
  });

  test("gets the headers that repeat the body, and a progress token where progress is wanted", async () => {
    const made = await bench((one) => one.result(FINAL));
    await askNew(made, { onNotification: () => {} }, [{ header: "Region", path: ["a"], type: "integer" }]);
    const [exchange] = made.server.exchanges;
    expectOfficial("2026-07-28", exchange?.message ?? {}, { direction: "client" });
    expect(exchange?.headers).toMatchObject({ "mcp-name": "ask", "mcp-param-region": "1" });
    expect(metaOf(exchange)).toMatchObject({ progressToken: 1 });
    const quiet = await bench((one) => one.result(FINAL));
    await askNew(quiet, {});
    expect(metaOf(quiet.server.exchanges[0])).not.toHaveProperty("progressToken");
  });
});

function metaOf(exchange: Exchange | undefined): unknown {
  const params = exchange?.message["params"] as Json | undefined;
  return params?.["_meta"];
}
