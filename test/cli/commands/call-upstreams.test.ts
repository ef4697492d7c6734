// What `tenantry call` says of the servers behind an endpoint: which of them is not there, and which of them an error is from.

import { expect, test } from "vitest";
import { NOTE_WRITE, textResult, toolEndpoint } from "./tool-endpoint.ts";

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
  const why = "no connection\u241b[2J; tenantry upstream refresh demo down reads it";
  const lacks = `tenantry: not all of down is listed: ${why}\n`;
  expect((await call(["demo"])).stderr).toBe(lacks);
  const asJson = await call(["demo", "--json"]);
  expect(asJson.stderr).toBe(lacks);
  expect(JSON.parse(asJson.stdout)).toEqual([NOTE_WRITE]);
  expect(await call(["demo", "down__find"])).toEqual({
    exit: 3,
    stdout: "",
    stderr: `tenantry: Unknown tool: down__find (down: ${why})\n`,
  });
});

test.each([
  { data: { server: "down" }, stderr: "tenantry: Failed (down)\n" },
  { data: { server: "down", why: "no connection" }, stderr: "tenantry: Failed (down: no connection)\n" },
  { data: { server: "down", timeoutMs: 500 }, stderr: "tenantry: Failed (down: timeoutMs is 500)\n" },
  { data: { server: "Failed" }, stderr: "tenantry: Failed\n" },
  { data: { server: 7 }, stderr: "tenantry: Failed\n" },
  { data: "down", stderr: "tenantry: Failed\n" },
])("an error that comes from a server behind the endpoint names it: $data", async ({ data, stderr }) => {
  const { call } = await toolEndpoint(() => ({ error: { code: -32603, message: "Failed", data } }));
  expect((await call(["demo", "note_write"])).stderr).toBe(stderr);
});

test.each([
  { message: "Failed to connect to server", data: { server: "down", fault: "lost" } },
  { message: "Failed to connect to server: try again in 5 s", data: { server: "down", fault: "unreachable" } },
  { message: "Request timed out", data: { server: "down", fault: "timeout", timeoutMs: 500 } },
  { message: "gone fishing", data: { server: "down", fault: "secret" } },
  { message: "down: the server answered 401 (text/plain)", data: { server: "down", fault: "status" } },
])("where a server behind a tenant cannot be asked, the next step is said: $message", async ({ message, data }) => {
  const { call } = await toolEndpoint(() => ({ error: { code: -32603, message, data } }));
  const { exit, stderr } = await call(["demo/readers", "note_write"]);
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^tenantry: [^\n]*; tenantry upstream test demo down says what is wrong\n$/);
  expect(stderr).toContain(message);
});

test("an error of the server behind the endpoint itself does not send people to `upstream test`", async () => {
  // A gateway behind it may have found a fault, and may say what ours says.
  for (const message of ["no", "Failed to connect to server"]) {
    const data = { server: "down", fault: "lost", originalError: { code: -32602, message } };
    const { call } = await toolEndpoint(() => ({ error: { code: -32602, message, data } }));
    expect((await call(["demo", "note_write"])).stderr).toBe(`tenantry: ${message} (down)\n`);
  }
});

test("a name that its server has no more is not taken for one of another server", async () => {
  const tools = ["search", "down__find", "down__research"].map((name) => ({ ...NOTE_WRITE, name }));
  const { call } = await toolEndpoint(
    () => ({ error: { code: -32602, message: "Unknown tool" } }),
    ({ method }) => (method === "tools/list" ? { ...NOT_ALL, _meta: {}, tools } : undefined),
  );
  expect((await call(["demo", "down__finds"])).stderr).toContain("(did you mean down__find?)");
  expect((await call(["demo", "down__search"])).stderr).not.toContain("did you mean search?");
  // Of a server that is nowhere, but for one that is misspelt.
  expect((await call(["demo", "gone__search"])).stderr).not.toContain("did you mean");
  expect((await call(["demo", "donw__find"])).stderr).toContain("(did you mean down__find?)");
  expect((await call(["demo", "searching"])).stderr).toContain("(did you mean search?)");
});

test("a port that no request can leave for was never asked", async () => {
  const { call } = await toolEndpoint(() => textResult("x"));
  const { exit, stderr } = await call(["http://127.0.0.1:1/mcp/demo"]);
  expect({ exit, stderr }).toEqual({
    exit: 6,
    stderr: "tenantry: cannot reach http://127.0.0.1:1/mcp/demo: bad port\n",
  });
});
