// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

import { describe, expect, test } from "vitest";
import { openEvents } from "../../support/event-reader.ts";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { client2026, mcpClient, ERAS, post, type Json, type Reply } from "../../support/mcp-client.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const YES = { action: "accept", content: { yes: true } };

interface Round {
  readonly state?: unknown;
  readonly answers?: Json;
}

/** The same request again, with what the round brings along. */
function ask(
  method: string,
  subject: Json,
  { state, answers }: Round = {},
  capabilities: Json = EVERYTHING,
): Promise<Reply> {
  return client2026(lab, capabilities).request(method, {
    ...subject,
    ...(state === undefined ? {} : { requestState: state }),
    ...(answers === undefined ? {} : { inputResponses: answers }),
  });
}

const call = (name: string, args: Json = {}, round: Round = {}, capabilities: Json = EVERYTHING) =>
  ask("tools/call", { name, arguments: args }, round, capabilities);

/** What a reply asks, by name; the state is what the next round brings back. */
function questionsOf({ result }: Reply): { names: string[]; state: unknown; requests: Record<string, Json> } {
  expect(result.resultType).toBe("input_required");
  const requests = (result.inputRequests ?? {}) as Record<string, Json>;
  return { names: Object.keys(requests), state: result.requestState, requests };
}

function textOf(reply: Reply): string {
  expect(reply.result).toMatchObject({ resultType: "complete" });
  return String((reply.result.content as Json[])[0]?.text);
}

async function stored(what: string, key: string): Promise<string[]> {
  const prefix = `lab://${what}/${key}/`;
  const { result } = await client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
  return (JSON.parse(String((result.content as Json[])[0]?.text)) as string[]).map((uri) => uri.slice(prefix.length));
}

const fresh = () => ({ key: crypto.randomUUID() });

describe("a call of several rounds", () => {
  test("asks one question after the other, each knowing the answers before it", async () => {
    const args = fresh();
    const one = questionsOf(await call("lab_rounds", args));
    expect(one.names).toEqual(["first"]);
    expect(one.requests.first).toMatchObject({ method: "elicitation/create", params: { message: "Go on?" } });
    const two = questionsOf(await call("lab_rounds", args, { state: one.state, answers: { first: YES } }));
    expect(two.names).toEqual(["second"]);
    expect(two.requests.second).toMatchObject({ params: { message: 'After {"yes":true}: go on?' } });
    const three = questionsOf(
      await call("lab_rounds", args, { state: two.state, answers: { second: { action: "decline" } } }),
    );
    expect(three.names).toEqual(["third"]);
    const done = await call("lab_rounds", args, { state: three.state, answers: { third: { action: "cancel" } } });
    expect(JSON.parse(textOf(done))).toMatchObject({ answers: ['{"yes":true}', "decline", "cancel"] });
  });

  test("keeps what it made before the first question, though starting over makes it again", async () => {
    const args = fresh();
    const one = questionsOf(await call("lab_rounds", args));
    const [made] = await stored("memos", args.key);
    const again = questionsOf(await call("lab_rounds", args));
    expect(again.state).not.toBe(one.state);
    expect(await stored("memos", args.key)).toHaveLength(2);
    const answers = { first: YES, second: YES, third: YES };
    const done = await call("lab_rounds", args, { state: one.state, answers });
    expect(JSON.parse(textOf(done))).toMatchObject({ token: made });
    expect(await stored("memos", args.key)).toHaveLength(2);
  });

  test("may be sent again in any earlier round, with the same outcome", async () => {
    const args = fresh();
    const one = questionsOf(await call("lab_rounds", args));
    const round = { state: one.state, answers: { first: YES } };
    const two = await Promise.all([call("lab_rounds", args, round), call("lab_rounds", args, round)]);
    const ends = await Promise.all(
      two.map((reply) =>
        call("lab_rounds", args, { state: questionsOf(reply).state, answers: { second: YES, third: YES } }),
      ),
    );
    expect(textOf(ends[0] as Reply)).toBe(textOf(ends[1] as Reply));
  });

  test("ends after a bounded number of rounds", async () => {
    let state: unknown;
    for (let round = 1; round <= 20; round += 1) {
      const answers = round === 1 ? {} : { [`question-${round - 1}`]: YES };
      const questions = questionsOf(await call("lab_endless", {}, state === undefined ? {} : { state, answers }));
      expect(questions.names).toEqual([`question-${round}`]);
      state = questions.state;
    }
    const end = await call("lab_endless", {}, { state, answers: { "question-20": YES } });
    expect(end.result).toMatchObject({ isError: true });
    expect(textOf(end)).toMatch(/20 rounds/);
  });

  test("carries only so much", async () => {
    expect(questionsOf(await call("lab_hoard", { characters: 10_000 })).names).toEqual(["sure"]);
    const end = await call("lab_hoard", { characters: 100_000 });
    expect(end).toMatchObject({ status: 200, result: { isError: true } });
    expect(textOf(end)).toMatch(/too large/);
  });
});

describe("`once`", () => {
  test("runs at most once however often, and however concurrently, one state is sent", async () => {
    const args = fresh();
    const { state } = questionsOf(await call("lab_pay", args));
    expect(await stored("payments", args.key)).toEqual([]);
    const round = { state, answers: { sure: YES } };
    const replies = await Promise.all(Array.from({ length: 8 }, () => call("lab_pay", args, round)));
    const payments = await stored("payments", args.key);
    expect(payments).toHaveLength(1);
    for (const reply of replies) {
      // Whoever came while it was being done is told that nobody knows; the others are asked the next question.
      if (reply.result.resultType === "input_required") expect(questionsOf(reply).names).toEqual(["thanks"]);
      else expect(reply.result).toMatchObject({ isError: true });
    }
    expect(replies.some(({ result }) => result.resultType === "input_required")).toBe(true);
    const later = questionsOf(await call("lab_pay", args, round));
    const done = await call("lab_pay", args, { state: later.state, answers: { thanks: YES } });
    expect(JSON.parse(textOf(done))).toEqual({ receipt: payments[0], thanks: '{"yes":true}' });
    expect(await stored("payments", args.key)).toEqual(payments);
  });

  test("needs no question before it: the client only sends the state again", async () => {
    const args = fresh();
    const reply = await call("lab_pay_first", args);
    expect(reply.result).not.toHaveProperty("inputRequests");
    const { state } = questionsOf(reply);
    expect(await stored("payments", args.key)).toEqual([]);
    const done = textOf(await call("lab_pay_first", args, { state }));
    expect(done).toBe(`receipt ${(await stored("payments", args.key))[0]}`);
    expect(textOf(await call("lab_pay_first", args, { state }))).toBe(done);
    expect(await stored("payments", args.key)).toHaveLength(1);
  });

  test("is done again by a call that starts over", async () => {
    const args = fresh();
    for (const times of [1, 2]) {
      const { state } = questionsOf(await call("lab_pay_first", args));
      textOf(await call("lab_pay_first", args, { state }));
      expect(await stored("payments", args.key)).toHaveLength(times);
    }
  });

  test("is not done when the answer was no", async () => {
    const args = fresh();
    const { state } = questionsOf(await call("lab_pay", args));
    for (const action of ["decline", "cancel"]) {
      expect(textOf(await call("lab_pay", args, { state, answers: { sure: { action } } }))).toBe(`not paid: ${action}`);
    }
    expect(await stored("payments", args.key)).toEqual([]);
  });

  test.each(ERAS)("has one result under one name, like `memo`, in era $era", async ({ revision }) => {
    const args = fresh();
    const client = await mcpClient(revision, lab);
    const params = { name: "lab_pay_twice", arguments: args };
    let { result } = await client.request("tools/call", params);
    if (result.resultType === "input_required") {
      ({ result } = await client.request("tools/call", { ...params, requestState: result.requestState }));
    }
    expect(result.content).toEqual([{ type: "text", text: '{"same":true}' }]);
    expect(await stored("payments", args.key)).toHaveLength(1);
    expect(await stored("memos", args.key)).toHaveLength(1);
  });
});

describe("an answer", () => {
  test("to a question that changed is dropped, and the new question asked", async () => {
    const args = fresh();
    const price = (text: string) => call("lab_write", { uri: `lab://prices/${args.key}`, name: "price", text });
    await price("10");
    const ten = questionsOf(await call("lab_price", args));
    expect(ten.requests.price).toMatchObject({ params: { message: "Is 10 fine?" } });
    await price("99");
    const changed = questionsOf(await call("lab_price", args, { state: ten.state, answers: { price: YES } }));
    expect(changed.requests.price).toMatchObject({ params: { message: "Is 99 fine?" } });
    const done = await call("lab_price", args, { state: changed.state, answers: { price: YES } });
    expect(textOf(done)).toBe('99: {"yes":true}');
  });

  const accepted = (content: unknown) => ({ action: "accept", content });
  test("of the wrong shape makes the question be asked again, until one is right", async () => {
    const { state: began, requests } = questionsOf(await call("lab_order"));
    let state = began;
    const wrong: readonly unknown[] = [
      undefined,
      null,
      "yes",
      [],
      {},
      { action: "maybe" },
      { action: "accept" },
      accepted([]),
      accepted({ size: "small" }),
      accepted({ size: "huge", pieces: 1 }),
      accepted({ size: "small", pieces: 10 }),
      accepted({ size: "small", pieces: 1.5 }),
      accepted({ size: "small", pieces: "1" }),
    ];
    for (const order of wrong) {
      const again = questionsOf(await call("lab_order", {}, { state, answers: { order } }));
      expect({ order, requests: again.requests }).toEqual({ order, requests });
      state = again.state;
    }
    const right = accepted({ size: "large", pieces: 2 });
    const done = await call("lab_order", {}, { state, answers: { order: right } });
    expect(textOf(done)).toBe('{"size":"large","pieces":2}');
  });

  test("that declines or cancels reaches the tool", async () => {
    const { state } = questionsOf(await call("lab_order"));
    for (const action of ["decline", "cancel"]) {
      expect(textOf(await call("lab_order", {}, { state, answers: { order: { action } } }))).toBe(action);
    }
  });

  test("in the first request is accepted, under the names of questions only", async () => {
    expect(textOf(await call("lab_ask", { kind: "form" }, { answers: { form: YES } }))).toBe('{"yes":true}');
    const args = fresh();
    const all = { first: YES, second: { action: "decline" }, third: YES };
    expect(JSON.parse(textOf(await call("lab_rounds", args, { answers: all })))).toMatchObject({
      answers: ['{"yes":true}', "decline", '{"yes":true}'],
    });
    const others = JSON.parse('{"__proto__":{"form":{"action":"decline"}},"constructor":{},"other":5}') as Json;
    expect(questionsOf(await call("lab_ask", { kind: "form" }, { answers: others })).names).toEqual(["form"]);
  });

  test("with the first request does not make a claim without a state", async () => {
    const args = fresh();
    const reply = await call("lab_pay", args, { answers: { sure: YES, thanks: YES } });
    expect(reply.result).not.toHaveProperty("inputRequests");
    expect(await stored("payments", args.key)).toEqual([]);
    const done = await call("lab_pay", args, { state: questionsOf(reply).state, answers: { thanks: YES } });
    expect(JSON.parse(textOf(done))).toEqual({
      receipt: (await stored("payments", args.key))[0],
      thanks: '{"yes":true}',
    });
  });
});

const MESSAGE = { role: "assistant", content: { type: "text", text: "blue" }, model: "m" };
const KINDS = [
  {
    kind: "form",
    name: "form",
    method: "elicitation/create",
    answer: YES,
    text: '{"yes":true}',
    missing: { elicitation: { form: {} } },
  },
  {
    kind: "url",
    name: "url",
    method: "elicitation/create",
    answer: { action: "accept" },
    text: "accept",
    missing: { elicitation: { url: {} } },
  },
  {
    kind: "sampling",
    name: "colour",
    method: "sampling/createMessage",
    answer: MESSAGE,
    text: JSON.stringify(MESSAGE),
    missing: { sampling: {} },
  },
  {
    kind: "tools",
    name: "colour",
    method: "sampling/createMessage",
    answer: MESSAGE,
    text: JSON.stringify(MESSAGE),
    missing: { sampling: { tools: {} } },
  },
  {
    kind: "roots",
    name: "roots",
    method: "roots/list",
    answer: { roots: [{ uri: "file:///a" }] },
    text: '[{"uri":"file:///a"}]',
    missing: { roots: {} },
  },
] as const;

describe.each(KINDS)("a question of the kind $kind", ({ kind, name, method, answer, text, missing }) => {
  test("is asked and answered", async () => {
    const questions = questionsOf(await call("lab_ask", { kind }));
    expect(questions.requests).toMatchObject({ [name]: { method } });
    const done = await call("lab_ask", { kind }, { state: questions.state, answers: { [name]: answer } });
    expect(done.result.isError).toBeUndefined();
    expect(textOf(done)).toBe(text);
  });

  test("is asked again when the answer is of another kind", async () => {
    const questions = questionsOf(await call("lab_ask", { kind }));
    for (const wrong of [{ roots: "none" }, { roots: [{}] }, { model: "m" }, { action: "unknown" }, 5]) {
      const again = questionsOf(
        await call("lab_ask", { kind }, { state: questions.state, answers: { [name]: wrong } }),
      );
      expect(again.names).toEqual([name]);
    }
  });

  test("needs the client's capability, and the error names it", async () => {
    const { status, error } = await call("lab_ask", { kind }, {}, {});
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32021 });
    expect(error?.data).toMatchObject({ requiredCapabilities: missing });
  });

  test("is put on the call's stream in era 2025, where its answer comes in a POST of its own", async () => {
    const client = await mcpClient("2025-11-25", lab, EVERYTHING);
    const stream = await openEvents(lab, {
      method: "POST",
      headers: { "content-type": "application/json", ...client.headers },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: "call",
        method: "tools/call",
        params: { name: "lab_ask", arguments: { kind } },
      }),
    });
    const question = await stream.message((message) => message.method === method);
    expectOfficial("2025-11-25", question, { direction: "server", method });
    const answered = await post(lab, { jsonrpc: "2.0", id: question.id, result: answer }, { headers: client.headers });
    expect(answered.status).toBe(202);
    const done = await stream.message((message) => message.id === "call");
    expect(done.result).toEqual({ content: [{ type: "text", text }] });
    expect(await stream.next()).toBeUndefined();
  });
});

describe("a capability", () => {
  test.each([
    ["nothing", {}, false],
    ["elicitation without members, which means forms", { elicitation: {} }, true],
    ["forms", { elicitation: { form: {} } }, true],
    ["URLs only", { elicitation: { url: {} } }, false],
    ["something that is no object", { elicitation: true }, false],
  ])("is what the client declared: %s", async (_what, capabilities, may) => {
    const reply = await call("lab_polite", {}, {}, capabilities);
    if (may) expect(questionsOf(reply).names).toEqual(["form"]);
    else expect(textOf(reply)).toBe("could not ask (false): MissingCapability");
  });

  test("that was there in the first round is needed in the next", async () => {
    const { state } = questionsOf(await call("lab_ask", { kind: "form" }));
    const { error } = await call("lab_ask", { kind: "form" }, { state, answers: { form: YES } }, {});
    expect(error?.code).toBe(-32021);
  });

  test("is false in era 2025 for a request that takes no stream, which the tool can catch", async () => {
    const client = await mcpClient("2025-11-25", lab, EVERYTHING);
    const headers = { accept: "application/json" };
    const { result } = await client.request("tools/call", { name: "lab_polite", arguments: {} }, { headers });
    expect(result.content).toEqual([{ type: "text", text: "could not ask (false): MissingCapability" }]);
  });
});

describe("a prompt", () => {
  test("asks, does once and answers like a tool", async () => {
    const { key } = fresh();
    const subject = { name: "lab_letter", arguments: { key, flower: "rose" } };
    const { state, names } = questionsOf(await ask("prompts/get", subject));
    expect(names).toEqual(["greeting"]);
    const round = { state, answers: { greeting: YES } };
    const { result } = await ask("prompts/get", subject, round);
    const [stamp] = await stored("stamps", key);
    const text = `Greeting {"yes":true}, flower rose, stamp ${stamp}`;
    expect(result).toMatchObject({
      resultType: "complete",
      messages: [{ role: "user", content: { type: "text", text } }],
    });
    expect((await ask("prompts/get", subject, round)).result.messages).toEqual(result.messages);
    expect(await stored("stamps", key)).toHaveLength(1);
  });

  test("comes back with the state only when it does something once and asks nothing", async () => {
    const { key } = fresh();
    const subject = { name: "lab_stamp", arguments: { key } };
    const reply = await ask("prompts/get", subject);
    expect(reply.result).not.toHaveProperty("inputRequests");
    const { result } = await ask("prompts/get", subject, { state: questionsOf(reply).state });
    expect(result.messages).toMatchObject([{ content: { text: `Stamp ${(await stored("stamps", key))[0]}` } }]);
  });

  test("that asks is an error, not an answer, for a client that cannot be asked", async () => {
    const subject = { name: "lab_letter", arguments: fresh() };
    expect((await ask("prompts/get", subject, {}, {})).error?.code).toBe(-32021);
    const { error } = await (await mcpClient("2025-11-25", lab)).request("prompts/get", subject);
    expect(error?.code).toBe(-32600);
  });
});

test("reading a resource may ask", async () => {
  const { state, names } = questionsOf(await ask("resources/read", { uri: "lab://asks" }));
  expect(names).toEqual(["why"]);
  const answers = { why: { action: "accept", content: { reason: "I can" } } };
  const { result } = await ask("resources/read", { uri: "lab://asks" }, { state, answers });
  expect(result.contents).toEqual([{ uri: "lab://asks", text: "Read because I can" }]);
});
