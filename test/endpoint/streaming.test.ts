import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2025, client2026, ERAS, post, type Json } from "../support/mcp-client.ts";
import { expectOfficial } from "../support/official-schema.ts";
import { messagesOf, sendRaw, startRaw, write } from "../support/raw-http.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

interface ReceivedMessages {
  readonly type: string;
  /** Milliseconds from the request to the head of the answer, and to each message. */
  readonly begunAfter: number;
  readonly messages: readonly Json[];
  readonly heardAfter: readonly number[];
}

/** Calls a tool without a session and listens to the end; every message is held against the official schema. */
async function listen(
  revision: string,
  name: string,
  args: Json,
  about: { meta?: Json; headers?: Json } = {},
): Promise<ReceivedMessages> {
  const { headers, body } = write(revision, "tools/call", { name, arguments: args, _meta: about.meta ?? {} });
  const start = performance.now();
  const sent = { ...headers, ...about.headers } as Record<string, string>;
  const { response } = await startRaw(lab, { headers: sent, body: JSON.stringify(body) }).begun;
  const begunAfter = performance.now() - start;
  const type = String(response.headers["content-type"]);
  const messages: Json[] = [];
  const heardAfter: number[] = [];
  const source = type === "application/json" ? jsonOf(response) : messagesOf(response);
  for await (const message of source) {
    messages.push(message);
    heardAfter.push(performance.now() - start);
    const method = "method" in message ? String(message.method) : "tools/call";
    expectOfficial(revision, message, { direction: "server", method });
  }
  return { type, begunAfter, messages, heardAfter };
}

async function* jsonOf(response: AsyncIterable<unknown>): AsyncGenerator<Json> {
  let text = "";
  for await (const part of response) text += String(part);
  yield JSON.parse(text) as Json;
}

const textOf = (message: Json | undefined) => (message?.result as { content: Json[] } | undefined)?.content[0]?.text;
const progressOf = (messages: readonly Json[]) =>
  messages.filter(({ method }) => method === "notifications/progress").map(({ params }) => params as Json);

describe.each(ERAS)("an answer in era $era", ({ era, revision }) => {
  test("is JSON when nothing precedes it", async () => {
    const { type, messages } = await listen(revision, "lab_steps", { steps: 0 }, { meta: { progressToken: 1 } });
    expect(type).toBe("application/json");
    expect(messages.map(textOf)).toEqual(["0 steps"]);
  });

  test("is JSON when the client did not ask for what the tool says", async () => {
    const { type, messages } = await listen(revision, "lab_steps", { steps: 3, everyMs: 20 });
    expect(type).toBe("application/json");
    expect(messages.map(textOf)).toEqual(["3 steps"]);
  });

  test.each(["token", 7, ""])("is a stream from the first progress on, under the token %j", async (progressToken) => {
    const received = await listen(revision, "lab_steps", { steps: 3, everyMs: 300 }, { meta: { progressToken } });
    expect(received.type).toBe("text/event-stream");
    expect(progressOf(received.messages)).toEqual(
      [1, 2, 3].map((step) => ({ progressToken, progress: step, total: 3, message: `step ${step}` })),
    );
    expect(received.messages.map(textOf)).toEqual([undefined, undefined, undefined, "3 steps"]);
    // Each is sent when it is said, not kept for the end.
    const [first = 0, , , last = 0] = received.heardAfter;
    expect(last - first).toBeGreaterThan(400);
  });

  test("has each event on lines of its own, with nothing that a proxy may keep back", async () => {
    const { headers, body } = write(revision, "tools/call", {
      name: "lab_steps",
      arguments: { steps: 2 },
      _meta: { progressToken: "p" },
    });
    const reply = await sendRaw(lab, { headers, body: JSON.stringify(body) });
    expect(reply.headers["cache-control"]).toMatch(/no-cache/);
    const events = reply.text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
    expect(events).toHaveLength(3);
    for (const event of events) expect(event).toMatch(/^event: message\ndata: \{.*\}$/);
  });

  test("is JSON, without earlier notifications, when Accept has no stream", async () => {
    for (const accept of ["application/json", "*/*"]) {
      const about = { meta: { progressToken: 1, [LOG_LEVEL]: "debug" }, headers: { accept } };
      const { type, messages } = await listen(revision, "lab_steps", { steps: 3, everyMs: 50 }, about);
      expect(type).toBe("application/json");
      expect(messages.map(textOf)).toEqual(["3 steps"]);
    }
  });

  test("becomes a stream after two seconds of silence", async () => {
    const [quick, slow, jsonOnly] = await Promise.all([
      listen(revision, "lab_silent", { forMs: 800 }),
      listen(revision, "lab_silent", { forMs: 4000 }),
      listen(revision, "lab_silent", { forMs: 4000 }, { headers: { accept: "application/json" } }),
    ]);
    expect(quick.type).toBe("application/json");
    expect(slow.type).toBe("text/event-stream");
    expect(slow.begunAfter).toBeGreaterThan(1900);
    expect(slow.heardAfter[0]).toBeGreaterThan(slow.begunAfter + 500);
    expect(slow.messages.map(textOf)).toEqual(["silent for 4000 ms"]);
    expect(jsonOnly.type).toBe("application/json");
    expect(jsonOnly.messages.map(textOf)).toEqual(["silent for 4000 ms"]);
  });

  test("is never mixed with the answer to another request", async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_none, at) =>
        listen(revision, "lab_steps", { steps: 5, everyMs: at * 5 }, { meta: { progressToken: `token ${at}` } }),
      ),
    );
    for (const [at, { messages }] of all.entries()) {
      expect(progressOf(messages).map(({ progressToken }) => progressToken)).toEqual(Array(5).fill(`token ${at}`));
    }
  });

  const endsOf = async (key: string): Promise<string[]> => {
    const prefix = `lab://ends/${key}/`;
    const { result } = await client2026(lab).request("tools/call", { name: "lab_list", arguments: { prefix } });
    const uris = JSON.parse(String((result.content as Json[])[0]?.text)) as string[];
    return uris.map((uri) => uri.slice(prefix.length));
  };
  const untilEnds = (key: string, ends: readonly string[]) =>
    expect.poll(() => endsOf(key), { timeout: 15_000, interval: 50 }).toEqual(ends);
  const watch = (key: string, forMs: number, talk: boolean) => {
    const params = { name: "lab_watch", arguments: { key, forMs, talk }, _meta: { progressToken: 1 } };
    const { headers, body } = write(revision, "tools/call", params);
    return startRaw(lab, { headers, body: JSON.stringify(body) });
  };

  test(
    era === "2026" ? "ends its call when its stream is closed" : "is worked out though its stream is closed",
    async () => {
      const key = crypto.randomUUID();
      const { response, close } = await watch(key, era === "2026" ? 15_000 : 1500, true).begun;
      const first = await messagesOf(response).next();
      expect(first.value).toMatchObject({ method: "notifications/progress" });
      close();
      await untilEnds(key, era === "2026" ? ["aborted", "began"] : ["began", "finished"]);
    },
  );

  test("that its client reads to the end ends the call by itself", async () => {
    const key = crypto.randomUUID();
    const { response } = await watch(key, 400, true).begun;
    const messages: Json[] = [];
    for await (const message of messagesOf(response)) messages.push(message);
    expect(textOf(messages.at(-1))).toBe("finished");
    expect(await endsOf(key)).toEqual(["began", "finished"]);
  });

  const limit = { message: expect.stringContaining("300 ms") as string, data: { timeoutMs: 300 } };
  const timedOut = { ...limit, code: era === "2026" ? -32603 : -32001 };

  test.each([false, true])("is an error after the tool's time limit, as a stream: %s", async (talk) => {
    const key = crypto.randomUUID();
    const received = await listen(revision, "lab_stuck", { key, talk }, { meta: { progressToken: 1 } });
    expect(received.type).toBe(talk ? "text/event-stream" : "application/json");
    expect(received.messages).toHaveLength(talk ? 2 : 1);
    expect(received.messages.at(-1)).toMatchObject({ id: 1, error: timedOut });
    // The handler is told, and has time to clear up.
    await untilEnds(key, ["aborted"]);
  });
});

describe("log messages", () => {
  const levelsOf = (messages: readonly Json[]) =>
    messages.filter(({ method }) => method === "notifications/message").map(({ params }) => (params as Json).level);

  test.each([
    ["debug", ["warning", "debug", "warning"]],
    ["info", ["warning", "warning"]],
    ["warning", ["warning", "warning"]],
    ["error", []],
    [undefined, []],
  ])("of 2026-07-28 reach the request that asked for %s", async (level, expected) => {
    const meta = level === undefined ? {} : { [LOG_LEVEL]: level };
    const { messages } = await listen("2026-07-28", "lab_steps", { steps: 3 }, { meta });
    expect(levelsOf(messages)).toEqual(expected);
    expect(messages.at(-1)).toHaveProperty("result");
  });

  test("carry the data and the logger", async () => {
    const { messages } = await listen("2026-07-28", "lab_steps", { steps: 1 }, { meta: { [LOG_LEVEL]: "debug" } });
    expect(messages[0]?.params).toEqual({ level: "warning", logger: "lab", data: { step: 1 } });
  });

  test("of era 2025 reach the sessions that set a level, from then on", async () => {
    const [loud, quiet] = await Promise.all([client2025(lab), client2025(lab)]);
    const steps = { name: "lab_steps", arguments: { steps: 3 } };
    expect(levelsOf((await loud.request("tools/call", steps)).messages)).toEqual([]);
    await loud.request("logging/setLevel", { level: "debug" });
    expect(levelsOf((await loud.request("tools/call", steps)).messages)).toEqual(["warning", "debug", "warning"]);
    expect(levelsOf((await quiet.request("tools/call", steps)).messages)).toEqual([]);
    await loud.request("logging/setLevel", { level: "critical" });
    expect(levelsOf((await loud.request("tools/call", steps)).messages)).toEqual([]);
  });

  test("keep their order with progress in one stream", async () => {
    const meta = { [LOG_LEVEL]: "debug", progressToken: 1 };
    const { messages } = await listen("2026-07-28", "lab_steps", { steps: 2 }, { meta });
    const order = messages.map(({ method }) => method ?? "result");
    const [progress, log] = ["notifications/progress", "notifications/message"];
    expect(order).toEqual([progress, log, progress, log, "result"]);
  });

  test("of a batch go to a stream if the client accepts one, and the batch is answered", async () => {
    const params = { name: "lab_steps", arguments: { steps: 2 }, _meta: { progressToken: 1 } };
    for (const accept of ["application/json", "application/json, text/event-stream"]) {
      const { headers, messages } = await post(lab, [{ jsonrpc: "2.0", id: 1, method: "tools/call", params }], {
        headers: { accept },
      });
      const isStream = accept.includes("event-stream");
      expect(headers.get("content-type")).toBe(isStream ? "text/event-stream" : "application/json");
      const progress = isStream ? [1, 2].map((step) => ({ params: { progress: step } })) : [];
      expect(messages).toMatchObject([...progress, { id: 1, result: { content: [{ text: "2 steps" }] } }]);
    }
  });
});
