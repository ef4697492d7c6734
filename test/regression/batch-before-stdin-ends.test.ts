// A program that writes all it has to say and closes its end, as a script with a pipe does: a batch that waits for the handshake is
// no less asked than a request.

import { expect, test } from "vitest";
import { INITIALIZE, INITIALIZED, StdioClient } from "../support/stdio-client.ts";
import { ScriptedServer, sessionScript } from "../support/scripted-server.ts";

test("a batch is answered though stdin ends right behind it, before the handshake is over", async () => {
  const endpoint = await ScriptedServer.start();
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(
    INITIALIZE,
    INITIALIZED,
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
  );
  const ended = client.end();
  const hello = await endpoint.next("initialize");
  const result = { protocolVersion: "2025-03-26", capabilities: {}, serverInfo: { name: "n", version: "1" } };
  const rest = sessionScript("s-1", (one) => (one.verb === "GET" ? one.refuse(405) : one.result({})));
  endpoint.script = (one) => (one.name === "initialize" ? one.result(result, { "mcp-session-id": "s-1" }) : rest(one));
  endpoint.script(hello);
  const { exit, rest: said } = await ended;
  expect(exit).toBe(0);
  expect(JSON.stringify(said)).toMatch(/"id":1,"result".*"id":2,"result"/);
});
