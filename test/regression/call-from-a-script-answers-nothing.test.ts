// `tenantry call` in a script gave a server that asked what nobody had declared the next line of the script's stdin.

import { expect, test } from "vitest";
import { commandLine } from "../support/command-line.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";

const GO = { name: "go", inputSchema: { type: "object" } };
const STDIN = "password of the next account\n";
const properties = { line: { type: "string" } };
const FORM = { message: "?", requestedSchema: { type: "object", properties, required: ["line"] } };

test("a question of era 2025 is refused, and stdin is left alone", async () => {
  let call: Exchange | undefined;
  const script = sessionScript(
    "s",
    (exchange) => {
      if (exchange.headers["mcp-session-id"] === undefined) exchange.error(-32600, "no session", 400);
      else if (exchange.name === "tools/list") exchange.result({ tools: [GO] });
      else if (exchange.name === "tools/call")
        (call = exchange).stream().event({ jsonrpc: "2.0", id: 99, method: "elicitation/create", params: FORM });
      else if (exchange.name === "response") {
        exchange.refuse(202);
        call?.event({ jsonrpc: "2.0", id: call.message["id"], result: { content: [] } }).end();
      } else exchange.error(-32601, "?", 400);
    },
    { tools: {} },
  );
  const endpoint = await ScriptedServer.start(script);
  const { cli } = await commandLine();
  await cli.run(["call", endpoint.url, "go"], { stdin: STDIN });
  const answers = endpoint.exchanges.filter(({ name }) => name === "response").map(({ body }) => body);
  expect(answers).toEqual([expect.stringContaining("-32601")]);
});

test("a question of era 2026 ends the call, and stdin is left alone", async () => {
  const endpoint = await ScriptedServer.start((exchange) => {
    if (exchange.name === "tools/list") exchange.result({ resultType: "complete", tools: [GO] });
    else
      exchange.result({
        resultType: "input_required",
        inputRequests: { a: { method: "elicitation/create", params: FORM } },
      });
  });
  const { cli } = await commandLine();
  const { exit, stderr } = await cli.run(["call", endpoint.url, "go"], { stdin: STDIN });
  expect([exit, stderr]).toEqual([1, expect.stringContaining("the server asks a question")]);
  expect(endpoint.exchanges.filter(({ body }) => body.includes("inputResponses"))).toEqual([]);
});
