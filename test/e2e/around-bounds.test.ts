// An author's middleware that hangs, wherever it stands: its call is answered within its time, logged and masked, and what is
// around it is still reached. And one that is cancelled.

import { beforeEach, describe, expect, it } from "vitest";
import { ResumableCall } from "../support/resumable-call.ts";
import { mcpClient, encodeHeader, ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("bounded-worker", { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1" });

const MASKED = /^Internal error: the server's log says why, under request (\S+)$/;
/** It has ten seconds of its own. On a machine that is busy its answer takes longer to arrive. */
const WITHIN_MS = 20_000;

const SHAPES = [
  ["tools/call", { name: "count", arguments: { around: "hangs_before" } }],
  ["tools/call", { name: "count", arguments: { around: "hangs_after" } }],
  ["tools/call", { name: "hangs_alone" }],
  ["prompts/get", { name: "hangs_before" }],
  ["prompts/get", { name: "hangs_after" }],
  ["resources/read", { uri: "held://hangs_before" }],
  ["resources/read", { uri: "read://one" }],
] as const;

let from = 0;
beforeEach(() => {
  from = worker.log().length;
});
const output = () => worker.log().slice(from);
const noted = () =>
  output()
    .split("\n")
    .filter((line) => line.startsWith("around "))
    .map((line) => line.slice("around ".length));
/** One of each era, from addresses of their own. */
const clientsAt = (tenant: string) =>
  Promise.all(
    ERAS.map(({ revision }, at) =>
      mcpClient(revision, `${worker.origin}/mcp/${tenant}`, {}, { "cf-connecting-ip": `198.51.100.${at + 1}` }),
    ),
  );
const call = (of: Client, name: string, how: string) => of.request("tools/call", { name, arguments: { around: how } });
const textOf = ({ result, error }: { result: Json; error: { message: string } | undefined }) =>
  error?.message ?? (result["content"] as { text: string }[])[0]?.text ?? "";

describe("a middleware that hangs, in both eras", () => {
  it("is a fault, masked, logged and in time, wherever it hangs, and what is around it goes on", async () => {
    const began = Date.now();
    const clients = await clientsAt("acme");
    const answered = clients.flatMap((client) =>
      SHAPES.map(async ([method, params]) => ({
        name: "uri" in params ? params.uri : params.name,
        text: textOf(await client.request(method, params)),
      })),
    );
    const unknown = clients.map((client) => call(client, "unknown", "hangs_before"));
    for (const { name, text } of await Promise.all(answered)) {
      const [, id = "none"] = MASKED.exec(text) ?? [];
      expect([name, text]).toEqual([name, expect.stringMatching(MASKED)]);
      const mine = () => noted().filter((line) => line.includes(id));
      const ended = expect.stringMatching(` acme ${name} (complete|failure)$`) as string;
      await expect.poll(mine).toEqual([`begins ${id} acme ${name}`, ended]);
      const faults = output()
        .split("\n")
        .filter((line) => line.includes(id) && line.includes("ms without the time in next()"));
      expect([name, faults]).toEqual([name, [expect.stringMatching(`acme`)]]);
    }
    // It hears of what is refused, too, and changes nothing about that.
    for (const { error } of await Promise.all(unknown)) expect(error?.message).toBe("Unknown tool: unknown");
    const refused = () => noted().filter((line) => line.endsWith("acme unknown failure refused"));
    await expect.poll(refused).toHaveLength(clients.length);
    expect(Date.now() - began).toBeLessThan(WITHIN_MS);
  });

  it("gives its place back with the answer, and the next call has it", async () => {
    const clients = await clientsAt("narrow");
    const hanging = clients.map((client) => call(client, "count", "hangs_before"));
    const begun = () => noted().filter((line) => line.endsWith("narrow count"));
    await expect.poll(begun).toHaveLength(clients.length);
    for (const client of clients)
      expect((await call(client, "count", "none")).error?.message).toContain("concurrentCalls");
    for (const hung of await Promise.all(hanging)) expect(textOf(hung)).toMatch(MASKED);
    for (const client of clients) expect(textOf(await call(client, "count", "none"))).toMatch(/^\d+$/);
  });

  it("has no part of the time that runs inside, and runs nothing when it comes back too late", async () => {
    const clients = await clientsAt("acme");
    const count = async () => Number(textOf(await call(clients[0] as Client, "count", "none")));
    const before = await count();
    const told = await Promise.all(
      clients.flatMap((client) => [call(client, "slow", "none"), call(client, "count", "late")]),
    );
    const each = ["slept", expect.stringMatching(MASKED) as string];
    expect(told.map(textOf)).toEqual(clients.flatMap(() => each));
    expect((await count()) - before).toBe(1);
  });
});

describe.each(ERAS)("in era $era a middleware", ({ era, revision }) => {
  let client: Client;
  beforeEach(async () => {
    client = await mcpClient(revision, `${worker.origin}/mcp/acme`);
  });

  it("ends where it tries again for ever", async () => {
    const before = Number(textOf(await call(client, "count", "none")));
    expect(textOf(await call(client, "count", "retries_for_ever"))).toMatch(MASKED);
    expect(Number(textOf(await call(client, "count", "none"))) - before).toBe(11);
    expect(output()).toContain("next() was called more than 10 times");
  });

  it("is told of a call that its client cancels, and reached after it", async () => {
    const headers = {
      ...client.headers,
      "content-type": "application/json",
      ...(era === "2026" && { "mcp-method": "tools/call", "mcp-name": encodeHeader("cancelled") }),
    };
    const _meta = {
      progressToken: 1,
      ...(era === "2026" && {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      }),
    };
    const params = { name: "cancelled", arguments: {}, _meta };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 77, method: "tools/call", params });
    const abort = new AbortController();
    const calling = await fetch(`${worker.origin}/mcp/acme`, { method: "POST", headers, body, signal: abort.signal });
    await calling.body?.getReader().read();
    await expect.poll(noted).toContain("works");
    if (era === "2026") abort.abort();
    else await client.notify("notifications/cancelled", { requestId: 77 });
    const began = expect.stringMatching(/acme cancelled$/) as string;
    const ended = expect.stringMatching(/acme cancelled failure$/) as string;
    await expect.poll(noted).toEqual([began, "works", "signal", "after failure aborted", ended]);
    abort.abort();
  });
});

it("a middleware that hangs ends a stored call of era 2025, to which its client comes back", async () => {
  const client = await mcpClient("2025-11-25", `${worker.origin}/mcp/acme`);
  const params = { name: "stored", arguments: { around: "hangs_after" }, _meta: { progressToken: 1 } };
  const followed = await ResumableCall.begin(`${worker.origin}/mcp/acme`, client, { id: "s", params });
  const result = await followed.finish(() => `${worker.origin}/mcp/acme`);
  expect(JSON.stringify(result)).toContain("Internal error: the server's log says why");
  expect(followed.streams).toBeGreaterThan(1);
  expect(worker.log()).toContain("acme stored complete");
});
