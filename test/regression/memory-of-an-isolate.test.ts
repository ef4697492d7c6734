// An isolate of 128 MB was ended by what one caller may send: text, members and answers in a batch counted as fewer bytes than
// they take in memory, and calls whose POST had been answered already counted as none.

import { request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { connectSse, initializeSse } from "../support/sse-connection.ts";
import { bundleWorker, startWorker } from "../support/start-worker.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function startIsolate(entry: string): Promise<string> {
  const vars = { ADMIN_TOKEN, SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
  const worker = await startWorker(await bundleWorker(entry), { heap: 128, vars });
  onTestFinished(() => worker.stop());
  return worker.origin;
}

async function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, { method: "POST", headers: { ...HEADERS, ...headers }, body });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const rpc = (id: number, method: string, params: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${params}}}`;

const members = (count: number) => `{${Array.from({ length: count }, (_none, at) => `"k${at}":0`).join()}}`;

test.each([
  ["4 MB of text with an emoji", 40, () => `"${"x".repeat(3_999_900)}😀"`],
  ["4 MB of text with an escaped character", 40, () => `"${"x".repeat(3_999_900)}\\u20ac"`],
  ["90,000 members", 60, () => members(90_000)],
])(
  "bodies with %s, many at once from eight addresses and three times over, are answered",
  async (_what, count, value) => {
    const url = `${await startIsolate("demo-worker")}/mcp/demo`;
    const body = rpc(1, "resources/read", `"uri":"docs://tenantry/none","a":${value()}`);
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: count }, (_none, at) => post(url, body, { "cf-connecting-ip": `192.0.2.${at % 8}` })),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses).toContain(200);
      // A request that finds no room can be sent again.
      expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    }
  },
);

test("a body with more than 250,000 members is refused", async () => {
  const url = `${await startIsolate("demo-worker")}/mcp/demo`;
  const { status, text } = await post(url, rpc(1, "resources/read", `"uri":"docs://none","a":${members(250_010)}`));
  expect([status, text]).toEqual([400, expect.stringContaining("more than 250000 values")]);
});

test("a batch of 50 reads of a text of 2 MB is answered, in part with errors", async () => {
  const origin = await startIsolate("gateway-worker");
  const admin = fixtureAdmin(origin, "batch");
  const id = await admin.tenant();
  await admin.store(id, "note://long", `${"x".repeat(2_000_000)}😀`);
  const batch = Array.from({ length: 50 }, (_none, at) => rpc(at, "resources/read", '"uri":"note://long"')).join();
  for (let round = 0; round < 3; round += 1) {
    const version = { "mcp-protocol-version": "2025-03-26" };
    const { status, text } = await post(`${origin}/mcp/${id}`, `[${batch}]`, version);
    expect(status).toBe(200);
    const answers = JSON.parse(text) as readonly { readonly error?: { readonly message: string } }[];
    expect(answers).toHaveLength(50);
    expect(answers.some(({ error }) => error === undefined)).toBe(true);
    for (const { error } of answers) if (error) expect(error.message).toMatch(/^Temporarily unavailable/);
  }
});

test("calls of 3.9 MB over HTTP+SSE, to a tool that waits, are refused where there is no room", async () => {
  const origin = await startIsolate("worker");
  const connection = await connectSse(`${origin}/mcp/lab`);
  await initializeSse(connection);
  const a = "x".repeat(3_900_000);
  for (let id = 0; id < 40; id += 1) {
    expect((await connection.call(id, "lab_silent", { forMs: 20_000, a })).status).toBe(202);
  }
  expect(await connection.event(39)).toMatchObject({
    message: { error: { message: expect.stringContaining("other requests use too much memory") } },
  });
});

test("stored calls of 900 KB, whose clients left, leave room for others", async () => {
  const url = `${await startIsolate("worker")}/mcp/lab`;
  const hello = '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}';
  const version = { "mcp-protocol-version": "2025-11-25" };
  for (let session = 0; session < 3; session += 1) {
    const { headers } = await post(url, rpc(0, "initialize", hello), version);
    const id = headers.get("mcp-session-id") ?? "";
    for (let at = 1; at <= 20; at += 1) {
      const params = `"name":"lab_long","arguments":{"key":"${session}-${at}","a":"${"x".repeat(900_000)}"}`;
      await leave(url, rpc(at, "tools/call", params), { ...version, "mcp-session-id": id });
    }
  }
  expect((await post(url, rpc(1, "ping", ""), version)).status).toBe(200);
});

/** Sends a request, and closes the connection once the stream of its answer has begun. */
function leave(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers: { ...HEADERS, ...headers } }, (response) => {
      response.on("error", () => {});
      response.once("data", () => {
        sent.destroy();
        resolve();
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
