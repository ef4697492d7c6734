// The official clients, each starting the bridge as a process of its own, before a server made with the official SDK:
// everything that goes both ways in 2025.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { ScriptedServer, sessionScript } from "../../support/scripted-server.ts";
import { SdkServer } from "../../support/sdk-server.ts";
import { isRunning, MAIN, startV1, startV2 } from "../../support/official-stdio-clients.ts";

const TOOLS = ["announce", "choose", "elicit", "hear", "poll", "progress", "roots", "sample"];
const textResult = (value: unknown) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });

function answeringV1(): ClientV1 {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const client = new ClientV1({ name: "stdio-test", version: "1" }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { sure: true } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: "m",
    role: "assistant",
    content: { type: "text", text: "4" },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///r" }] }));
  return client;
}

test("the v1 client lists, calls, sees progress, and is asked for everything", async () => {
  const server = await SdkServer.start();
  const { client, faults, pid } = await startV1([server.url], answeringV1());
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS);
  const seen: number[] = [];
  const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
  expect(await client.callTool({ name: "progress" }, undefined, { onprogress })).toEqual(textResult("done"));
  expect(seen).toEqual([1, 2]);
  expect(await client.callTool({ name: "elicit" })).toEqual(textResult({ action: "accept", content: { sure: true } }));
  const answer = { model: "m", role: "assistant", content: { type: "text", text: "4" } };
  expect(JSON.parse(textOf(await client.callTool({ name: "sample" })))).toEqual(answer);
  expect(await client.callTool({ name: "roots" })).toEqual(textResult({ roots: [{ uri: "file:///r" }] }));
  expect(await client.callTool({ name: "poll" })).toEqual(textResult("polled"));
  expect(await client.callTool({ name: "nothing" })).toMatchObject({ isError: true });
  await expect(client.getPrompt({ name: "nothing" })).rejects.toThrow("Method not found");
  const [session] = server.sessions.keys();
  await client.close();
  expect({ faults, deleted: server.deleted, running: isRunning(pid) }).toEqual({
    faults: [],
    deleted: [session],
    running: false,
  });
});

test("the v1 client hears what a server says unasked, and does not notice that its session was lost", async () => {
  const server = await SdkServer.start();
  const client = answeringV1();
  const { promise: changed, resolve } = Promise.withResolvers<void>();
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
  const { faults } = await startV1([server.url], client);
  const [first] = server.sessions.keys();
  server.forget();
  expect(await client.callTool({ name: "elicit" })).toEqual(textResult({ action: "accept", content: { sure: true } }));
  expect([...server.sessions.keys()]).not.toEqual([first]);
  await client.callTool({ name: "announce" });
  await changed;
  expect(faults).toEqual([]);
});

test("the v2 client falls back to 2025 by itself, and is asked too", async () => {
  const server = await SdkServer.start();
  const client = new ClientV2(
    { name: "stdio-test", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
  );
  client.setRequestHandler("elicitation/create", async () => ({ action: "decline" }));
  const { faults } = await startV2([server.url], client);
  expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(await client.callTool({ name: "elicit", arguments: {} })).toMatchObject(textResult({ action: "decline" }));
  expect(faults).toEqual([]);
});

test("a server that goes away in the middle of a call is an error for the call, and the next one works again", async () => {
  const endpoint = await ScriptedServer.start(sessionScript("s-1"));
  const { client, faults } = await startV1([endpoint.url]);
  const call = client.callTool({ name: "slow" });
  const refused = expect(call).rejects.toThrow("the connection was closed");
  (await endpoint.next("tools/call")).stream().drop();
  await refused;
  const again = client.callTool({ name: "slow" });
  (await endpoint.next("tools/call")).result({ content: [] });
  expect(await again).toEqual({ content: [] });
  expect(faults).toEqual([]);
});

test.each([
  { signal: "SIGINT", exit: 130 },
  { signal: "SIGTERM", exit: 130 },
] as const)("$signal ends the process with $exit, whatever is under way", async ({ signal, exit }) => {
  const endpoint = await ScriptedServer.start();
  const bridge = spawn(process.execPath, [MAIN, "stdio", endpoint.url], { stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void bridge.kill("SIGKILL"));
  bridge.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  const exchange = await endpoint.next("ping");
  bridge.kill(signal);
  const [code] = (await once(bridge, "exit")) as [number | null];
  expect(code).toBe(exit);
  await exchange.closed;
});

test("SIGTERM ends the process with 130 though its client does not read what it was told", async () => {
  const endpoint = await ScriptedServer.start();
  const bridge = spawn(process.execPath, [MAIN, "stdio", endpoint.url], { stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void bridge.kill("SIGKILL"));
  bridge.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n');
  const [first, second] = [await endpoint.next("ping"), await endpoint.next("ping")];
  // More than a pipe holds.
  first.json({ jsonrpc: "2.0", id: 1, result: { data: "x".repeat(8 * 1024 * 1024) } });
  // It begins to come, and is not read on.
  await once(bridge.stdout, "readable");
  bridge.kill("SIGTERM");
  const [code] = (await once(bridge, "exit")) as [number | null];
  expect(code).toBe(130);
  await second.closed;
});

test("a client that closes stderr is served all the same", async () => {
  const endpoint = await ScriptedServer.start();
  const bridge = spawn(process.execPath, [MAIN, "stdio", endpoint.url], { stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void bridge.kill("SIGKILL"));
  await once(bridge.stderr, "data");
  bridge.stderr.destroy();
  // Each is a word on stderr, and an answer.
  bridge.stdin.end("no JSON\n".repeat(3));
  const lines = (await text(bridge.stdout)).trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { error: object }).error)).toMatchObject(
    Array.from({ length: 3 }, () => ({ code: -32700 })),
  );
  expect(bridge.exitCode ?? (await once(bridge, "exit"))[0]).toBe(0);
});

test("a client that reads late gets all of what came meanwhile", async () => {
  const count = 400;
  const endpoint = await ScriptedServer.start();
  const bridge = spawn(process.execPath, [MAIN, "stdio", endpoint.url], { stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void bridge.kill("SIGKILL"));
  bridge.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  const exchange = (await endpoint.next("ping")).stream();
  const params = { level: "info", data: "x".repeat(64 * 1024) };
  for (let at = 0; at < count; at += 1) exchange.event({ jsonrpc: "2.0", method: "notifications/message", params });
  exchange.event({ jsonrpc: "2.0", id: 1, result: {} }).end();
  const lines: string[] = [];
  for await (const line of createInterface({ input: bridge.stdout })) {
    lines.push(line);
    // Whoever goes is waited for a few seconds, and this is more than a slow machine writes in these.
    if (line.includes('"id":1')) bridge.stdin.end();
  }
  expect(lines).toHaveLength(count + 1);
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
});

function textOf(result: object): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? "";
}
