// What `tenantry call` says of the servers behind an endpoint: which of them is not there, and which of them an error is from.

import { expect, test } from "vitest";
import { NOTE_WRITE, said, toolEndpoint } from "../../../support/tool-endpoint.ts";

const NOT_ALL = {
  tools: [NOTE_WRITE],
  _meta: { "tenantry/missing": [{ source: "down", why: "no connection\u001b[2J" }, { source: 7 }, null] },
  resultType: "complete",
  ttlMs: 0,
  cacheScope: "private",
};

test("what a list lacks is said beside it, with --json too, and for a tool that would be there", async () => {
  const unknown = { error: { code: -32602, message: "Unknown tool: down__find" } };
  const { call } = await toolEndpoint(
    () => unknown,
    ({ method }) => (method === "tools/list" ? NOT_ALL : undefined),
  );
  const lacks = "tenantry: not all of down is listed: no connection\u241b[2J\n";
  expect((await call(["demo"])).stderr).toBe(lacks);
  const asJson = await call(["demo", "--json"]);
  expect(asJson.stderr).toBe(lacks);
  expect(JSON.parse(asJson.stdout)).toEqual([NOTE_WRITE]);
  expect(await call(["demo", "down__find"])).toEqual({
    exit: 3,
    stdout: "",
    stderr: "tenantry: Unknown tool: down__find (no connection\u241b[2J)\n",
  });
});

test.each([
  { data: { server: "down", fault: "lost" }, stderr: "tenantry: Failed (down)\n" },
  { data: { server: "down", why: "no connection" }, stderr: "tenantry: Failed (down: no connection)\n" },
  { data: { server: "down", timeoutMs: 500 }, stderr: "tenantry: Failed (down: timeoutMs is 500)\n" },
  { data: { server: "Failed" }, stderr: "tenantry: Failed\n" },
  { data: { server: 7 }, stderr: "tenantry: Failed\n" },
  { data: "down", stderr: "tenantry: Failed\n" },
])("an error that comes from a server behind the endpoint names it: $data", async ({ data, stderr }) => {
  const { call } = await toolEndpoint(() => ({ error: { code: -32603, message: "Failed", data } }));
  expect((await call(["demo", "note_write"])).stderr).toBe(stderr);
});

test("a port that no request can leave for was never asked", async () => {
  const { call } = await toolEndpoint(() => said("x"));
  const { exit, stderr } = await call(["http://127.0.0.1:1/mcp/demo"]);
  expect({ exit, stderr }).toEqual({
    exit: 6,
    stderr: "tenantry: cannot reach http://127.0.0.1:1/mcp/demo: bad port\n",
  });
});
