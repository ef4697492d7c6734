// Watching a tenant: what is announced is printed as it comes, and a connection that breaks is made again.

import { expect, onTestFinished, test } from "vitest";
import { StdioClient } from "../../support/stdio-client.ts";
import { expectOfficial } from "../../support/official-schema.ts";
import { type Exchange, type Json, ScriptedServer } from "../../support/scripted-server.ts";

const ID = "io.modelcontextprotocol/subscriptionId";

async function watching(args: readonly string[] = [], script?: (exchange: Exchange) => void) {
  const endpoint = await ScriptedServer.start(script);
  const watch = new StdioClient(["listen", "acme", "--url", new URL(endpoint.url).origin, ...args]);
  onTestFinished(async () => void (await watch.interrupt()));
  return { endpoint, watch };
}

function announce(exchange: Exchange, method: string, more: Json = {}): Exchange {
  const _meta = { [ID]: exchange.message["id"] };
  return exchange.event({ jsonrpc: "2.0", method: `notifications/${method}`, params: { _meta, ...more } });
}

function ask(exchange: Exchange): Json {
  expectOfficial("2026-07-28", exchange.message, { direction: "client" });
  return (exchange.message["params"] as Json)["notifications"] as Json;
}

function acknowledge(exchange: Exchange): Exchange {
  return announce(exchange.stream().raw("retry: 5\n"), "subscriptions/acknowledged", {
    notifications: ask(exchange),
  });
}

const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

test.each([
  { args: [], filter: LISTS },
  { args: ["--tools"], filter: { toolsListChanged: true } },
  { args: ["--prompts", "--resources"], filter: { promptsListChanged: true, resourcesListChanged: true } },
  { args: ["--resource", "a://1", "--resource", "a://2"], filter: { resourceSubscriptions: ["a://1", "a://2"] } },
])("watch $args asks for $filter", async ({ args, filter }) => {
  const { endpoint } = await watching([...args, "--key", "tnt_1"]);
  const exchange = await endpoint.next("subscriptions/listen");
  expect(ask(exchange)).toEqual(filter);
  expect(exchange.headers).toMatchObject({ authorization: "Bearer tnt_1", "mcp-method": "subscriptions/listen" });
});

test("each announcement is a line with its time", async () => {
  const { endpoint, watch } = await watching();
  const exchange = acknowledge(await endpoint.next("subscriptions/listen"));
  announce(exchange, "tools/list_changed");
  announce(exchange, "resources/updated", { uri: "note://\u001b[2J" });
  expect(await watch.line()).toMatch(/^\d\d:\d\d:\d\d {2}tools changed$/);
  expect(await watch.line()).toMatch(/ {2}note:\/\/\u241b\[2J changed$/);
  await watch.untilLogged("Ctrl+C ends it.");
  expect(await watch.interrupt()).toBe(130);
  await exchange.closed;
});

test("--json prints each announcement as the message itself", async () => {
  const { endpoint, watch } = await watching(["--json"]);
  const exchange = acknowledge(await endpoint.next("subscriptions/listen"));
  announce(exchange, "prompts/list_changed");
  const params = { _meta: { [ID]: exchange.message["id"] } };
  expect(await watch.next()).toEqual({ jsonrpc: "2.0", method: "notifications/prompts/list_changed", params });
  expect(watch.stderr).toBe("");
});

test("a connection that breaks is made again, and stderr says so", async () => {
  const { endpoint, watch } = await watching();
  acknowledge(await endpoint.next("subscriptions/listen")).drop();
  const again = acknowledge(await endpoint.next("subscriptions/listen"));
  await watch.untilLogged("listening again; changes since the interruption are unknown");
  announce(again, "tools/list_changed");
  expect(await watch.line()).toContain("tools changed");
});

test("a stream that the server ends in good order is opened again", async () => {
  const { endpoint, watch } = await watching();
  const first = acknowledge(await endpoint.next("subscriptions/listen"));
  const result = { resultType: "complete", _meta: { [ID]: first.message["id"] } };
  first.event({ jsonrpc: "2.0", id: first.message["id"], result }).end();
  await watch.untilLogged("the server ended the stream");
  (await endpoint.next("subscriptions/listen")).refuse(503);
  const again = acknowledge(await endpoint.next("subscriptions/listen"));
  announce(again, "tools/list_changed");
  expect(await watch.line()).toContain("tools changed");
});

test("watch says what the server does not announce", async () => {
  const { endpoint, watch } = await watching();
  const exchange = await endpoint.next("subscriptions/listen");
  announce(exchange.stream(), "subscriptions/acknowledged", { notifications: { toolsListChanged: true } });
  await watch.untilLogged("this server does not announce: promptsListChanged, resourcesListChanged");
});

test.each([
  {
    status: 401,
    code: -32600,
    exit: 4,
    says: "(no key: set TENANTRY_KEY or give --key-file; tenantry key create TENANT makes a key)",
  },
  { status: 404, code: -32601, exit: 1, says: "(this server sends no notifications)" },
  { status: 404, code: -32600, exit: 3, says: "No" },
])("a refusal with $status and $code ends with $exit", async ({ status, code, exit, says }) => {
  const { watch } = await watching([], (one) => one.error(code, "No", status));
  expect((await watch.end()).exit).toBe(exit);
  expect(watch.stderr).toContain(says);
});

test("a server that is not there is unreachable, and not waited for", async () => {
  const { endpoint } = await watching();
  await endpoint.stop();
  const watch = new StdioClient(["listen", endpoint.url]);
  expect((await watch.end()).exit).toBe(6);
});
