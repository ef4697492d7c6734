import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { client2026, type Json } from "../../support/mcp-client.ts";
import { expectOfficial } from "../../support/official-schema.ts";
import { connectSse, HELLO, initializeSse, type SseConnection } from "../../support/sse-connection.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;
const YES = { action: "accept", content: { yes: true } };
const MANY = 100;

const cancel = ({ send }: SseConnection, requestId: unknown) =>
  send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });

const idsOf = (messages: readonly Json[]) => messages.map(({ id }) => id as string | undefined);

/** What a tool stored to say how it ended. */
async function endOf(key: string): Promise<string[]> {
  const prefix = `lab://ends/${key}/`;
  const { result } = await client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
  const [content] = result.content as { text: string }[];
  return (JSON.parse(content?.text ?? "") as string[]).map((uri) => uri.slice(prefix.length));
}

async function openGate(key: string): Promise<void> {
  const args = { uri: `lab://gates/${key}`, text: "open" };
  await client2026(lab).request("tools/call", { name: "lab_write", arguments: args });
}

describe("calls at the same time", () => {
  test("are a hundred at most: one more is refused under its id, and taken when one of them is over", async () => {
    const connection = await connectSse(lab);
    const running = Array.from({ length: MANY }, (_none, at) => `run-${at}`);
    await Promise.all(running.map((id) => connection.call(id, "lab_silent", { forMs: 20_000 })));
    const extra = await connection.request("extra", "ping");
    expect(extra.error).toMatchObject({ code: -32600, message: expect.stringContaining("too many") });
    await Promise.all(running.map((id) => cancel(connection, id)));
    await expect.poll(async () => (await connection.request("again", "ping")).error).toBeUndefined();
    await expect
      .poll(async () => {
        await connection.request("all", "ping");
        return connection.soFar();
      })
      .toEqual([]);
  });

  test("are answered as they end, not as they came, each once", async () => {
    const connection = await connectSse(lab);
    const key = crypto.randomUUID();
    await initializeSse(connection);
    await connection.call("slow", "lab_late", { key });
    const quick = Array.from({ length: 20 }, (_none, at) => `quick-${at}`);
    await Promise.all(quick.map((id) => connection.call(id, "lab_steps", { steps: 2 }, { progressToken: id })));
    const answer: Json[] = [];
    while (idsOf(answer).filter(Boolean).length < quick.length) answer.push(await connection.stream.message());
    expect(
      idsOf(answer)
        .filter((id) => id !== undefined)
        .toSorted(),
    ).toEqual(quick.toSorted());
    for (const id of quick) {
      const own = answer.filter((one) => one.id === id || (one.params as Json | undefined)?.["progressToken"] === id);
      expect(own.map(({ method }) => method)).toEqual(["notifications/progress", "notifications/progress", undefined]);
    }
    await openGate(key);
    const { message } = await connection.event("elicitation/create");
    await connection.send({ jsonrpc: "2.0", id: message.id, result: YES });
    expect((await connection.event("slow")).message).toHaveProperty("result");
  });

  test("go on while others are stored and wait for an answer, and those are answered in any order", async () => {
    const connection = await connectSse(lab);
    await initializeSse(connection);
    const questions: Json[] = [];
    for (const id of ["one", "two", "three"]) {
      await connection.call(id, "lab_ask", { kind: "form" });
      questions.push((await connection.event("elicitation/create")).message);
      expect(await connection.request(`${id} meanwhile`, "tools/list")).toHaveProperty("result");
    }
    for (const { id } of questions.toReversed()) await connection.send({ jsonrpc: "2.0", id, result: YES });
    const answered = new Set<unknown>();
    while (answered.size < 3) answered.add((await connection.stream.message()).id);
    expect(answered).toEqual(new Set(["one", "two", "three"]));
  });
});

describe("an error", () => {
  test.each([
    ["a handler that throws", "resources/read", { uri: "lab://broken/x" }, -32603],
    ["arguments that do not fit", "tools/call", { name: "lab_strict", arguments: {} }, -32602],
    ["a tool that nobody has", "tools/call", { name: "nobody" }, -32602],
    ["a method that nobody has", "nothing/such", {}, -32601],
  ])("in one call is its answer alone: %s", async (_what, method, params, code) => {
    const { request } = await connectSse(lab);
    expect((await request("wrong", method, params)).error).toMatchObject({ code });
    expect(await request("right", "ping")).toHaveProperty("result");
  });

  test("in initialize is its answer, and the client may try again", async () => {
    const connection = await connectSse(lab);
    const { error } = await connection.request(1, "initialize", { protocolVersion: 7 });
    expect(error).toMatchObject({ code: -32602 });
    expect(await initializeSse(connection)).toMatchObject({ protocolVersion: "2024-11-05" });
  });
});

describe("a batch", () => {
  test("of 2025-03-26 is answered with one array, in which notifications have no place", async () => {
    const connection = await connectSse(lab);
    const { result } = await connection.request("hello", "initialize", { ...HELLO, protocolVersion: "2025-03-26" });
    expect(result).toMatchObject({ protocolVersion: "2025-03-26" });
    const { status } = await connection.send([
      { jsonrpc: "2.0", id: "a", method: "ping" },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: "b", method: "nothing/such" },
      { id: "c" },
    ]);
    expect(status).toBe(202);
    const answers = (await connection.stream.message()) as unknown as Json[];
    expect(answers).toMatchObject([
      { id: "a", result: {} },
      { id: "b", error: { code: -32601 } },
      { id: "c", error: { code: -32600 } },
    ]);
    for (const answer of answers) expectOfficial("2025-03-26", answer, { direction: "server" });
  });

  test("of notifications is answered with nothing", async () => {
    const connection = await connectSse(lab, { headers: { "mcp-protocol-version": "2025-03-26" } });
    await connection.send([{ jsonrpc: "2.0", method: "notifications/initialized" }]);
    expect(await connection.soFar()).toEqual([]);
  });
});

describe("a call that is cancelled", () => {
  test("ends without an answer while it runs, and others go on", async () => {
    const connection = await connectSse(lab);
    const key = crypto.randomUUID();
    await connection.call("gone", "lab_watch", { key, forMs: 20_000, talk: false });
    await expect.poll(() => endOf(key)).toEqual(["began"]);
    await cancel(connection, "gone");
    await expect.poll(() => endOf(key)).toEqual(["aborted", "began"]);
    const answer = await connection.soFar();
    // What it stored changed a list.
    expect(answer.map(({ id, method }) => [id, method])).not.toContainEqual(["gone", undefined]);
  });

  test("ends without an answer while it waits for one, and a late answer changes nothing", async () => {
    const connection = await connectSse(lab);
    await initializeSse(connection);
    await connection.call("gone", "lab_ask", { kind: "form" });
    const { message } = await connection.event("elicitation/create");
    await cancel(connection, "gone");
    expect((await connection.send({ jsonrpc: "2.0", id: message.id, result: YES })).status).toBe(202);
    expect(await connection.soFar()).toEqual([]);
  });

  test("by a number is not the one with the same text", async () => {
    const connection = await connectSse(lab);
    await initializeSse(connection);
    await connection.call("1", "lab_ask", { kind: "form" });
    const { message } = await connection.event("elicitation/create");
    await cancel(connection, 1);
    await connection.send({ jsonrpc: "2.0", id: message.id, result: YES });
    expect((await connection.event("1")).message).toHaveProperty("result");
  });
});
