// Calling tools from the shell: what is sent is valid MCP 2026-07-28, and what comes back is readable or JSON.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CommandLine } from "../../support/command-line.ts";
import { ScriptedServer } from "../../support/scripted-server.ts";
import { NOTE_WRITE, textResult, toolEndpoint, type Json, type Sent } from "./tool-endpoint.ts";

test("a tool's text is printed, through the tenant's own endpoint", async () => {
  const { call, sent } = await toolEndpoint(() => textResult("saved", "twice"));
  expect(await call(["demo", "note_write", "title=Hello"])).toEqual({ exit: 0, stdout: "saved\ntwice\n", stderr: "" });
  const { headers, params } = sent.at(-1) as Sent;
  expect(params["arguments"]).toEqual({ title: "Hello" });
  expect(headers).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "note_write" });
  expect(headers["mcp-protocol-version"]).toBe("2026-07-28");
});

test("the operator's token never goes to an MCP endpoint, the tenant's key does", async () => {
  const { call, sent } = await toolEndpoint(() => textResult("x"));
  await call(["demo/public", "note_write", "title=a"]);
  await call(["demo/public", "note_write", "title=a", "--key", "tnt_1"]);
  await call(["demo/public", "note_write", "title=a"], { env: { TENANTRY_KEY: "tnt_2" } });
  const tokens = sent.map(({ headers }) => headers.authorization);
  expect(tokens).toEqual([undefined, undefined, "Bearer tnt_1", "Bearer tnt_1", "Bearer tnt_2", "Bearer tnt_2"]);
});

test("a key comes from a file, from stdin or the environment, and an option wins", async () => {
  const { call, sent } = await toolEndpoint(() => textResult("x"));
  const folder = await mkdtemp(join(tmpdir(), "tenantry-key-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "key.txt");
  await writeFile(file, "tnt_file\n");
  const env = { TENANTRY_KEY: "tnt_env" };
  await call(["demo", "--key-file", file], { env });
  await call(["demo", "--key-file", "-"], { env, stdin: "tnt_stdin\n" });
  await call(["demo"], { env });
  expect(sent.map(({ headers }) => headers.authorization)).toEqual(
    ["tnt_file", "tnt_stdin", "tnt_env"].map((key) => `Bearer ${key}`),
  );
});

test.each([
  { args: ["--key", "tnt_1", "--key-file", "key.txt"], says: "--key and --key-file: give one of them" },
  { args: ["--key-file", "gone.txt"], says: "gone.txt: no such file" },
  { args: ["--key-file", "-"], stdin: "two words", says: "--key-file: must be visible ASCII characters" },
  { args: ["--key", "hush hush"], says: "--key: must be visible ASCII characters" },
])("$args is a usage error, and no key is in it", async ({ args, stdin = "", says }) => {
  const { call, sent } = await toolEndpoint(() => textResult("x"));
  const { exit, stderr } = await call(["demo", ...args], { stdin });
  expect(exit).toBe(2);
  expect(stderr).toContain(says);
  expect(stderr).not.toMatch(/words|hush|tnt_1/);
  expect(sent).toEqual([]);
});

test.each([
  { pairs: ["title=2026"], args: { title: "2026" } },
  { pairs: ["title=a=b:c"], args: { title: "a=b:c" } },
  { pairs: ["title="], args: { title: "" } },
  { pairs: ["stars=5", "open=true"], args: { stars: 5, open: true } },
  { pairs: ["stars=many"], args: { stars: "many" } },
  { pairs: ["tags=a,b", "sizes=1,2.5"], args: { tags: ["a", "b"], sizes: [1, 2.5] } },
  { pairs: ['tags=["a,b"]', "sizes="], args: { tags: ["a,b"], sizes: [] } },
  { pairs: ["title:=[1]", "unknown=1"], args: { title: [1], unknown: "1" } },
  { pairs: ["--json-args", '{"title":"a","stars":1}', "stars=2"], args: { title: "a", stars: 2 } },
])("$pairs become $args", async ({ pairs, args }) => {
  const { call, sent } = await toolEndpoint(() => textResult("x"));
  expect((await call(["demo", "note_write", ...pairs])).exit).toBe(0);
  expect(sent.at(-1)?.params["arguments"]).toEqual(args);
});

test.each([
  { pairs: ["title"], says: "title: an argument is key=value" },
  { pairs: ["title:={"], says: "title: is not JSON" },
  { pairs: ["--json-args", "[]"], says: "--json-args: must be a JSON object" },
])("$pairs is a usage error", async ({ pairs, says }) => {
  const { call } = await toolEndpoint(() => textResult("x"));
  const { exit, stderr } = await call(["demo", "note_write", ...pairs]);
  expect(exit).toBe(2);
  expect(stderr).toContain(says);
});

test("arguments that the schema mirrors into headers are mirrored, beyond ASCII as Base64", async () => {
  const { call, sent } = await toolEndpoint(() => textResult("x"));
  await call(["demo", "note_write", "region=Köln", 'deep:={"id":7}']);
  expect(sent.at(-1)?.headers).toMatchObject({ "mcp-param-region": "=?base64?S8O2bG4=?=", "mcp-param-deep-id": "7" });
});

test("a tool that reports an error ends with 1, its text still printed", async () => {
  const { call } = await toolEndpoint(() => ({ ...textResult("title: must not be empty"), isError: true }));
  expect(await call(["demo", "note_write", "title="])).toEqual({
    exit: 1,
    stdout: "title: must not be empty\n",
    stderr: "",
  });
});

test("other content is described, links and embedded texts are shown", async () => {
  const content = [
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "resource_link", uri: "note://1", name: "One" },
    { type: "resource", resource: { uri: "note://2", text: "inside" } },
    { type: "resource", resource: { uri: "note://3", blob: "AAAA" } },
  ];
  const { call } = await toolEndpoint(() => ({ resultType: "complete", content }));
  const { stdout } = await call(["demo", "note_write"]);
  expect(stdout).toBe("[image/png, 3 B]\nnote://1  One\ninside\n[note://3, 3 B]\n");
});

test("structured content is printed where there is no other, and --json prints the whole result", async () => {
  const result = { resultType: "complete", content: [], structuredContent: { a: 1 } };
  const { call } = await toolEndpoint(() => result);
  expect((await call(["demo", "note_write"])).stdout).toBe('{\n  "a": 1\n}\n');
  expect(JSON.parse((await call(["demo", "note_write", "--json"])).stdout)).toEqual(result);
});

test("a tool's text cannot steer a terminal, at once or from a pipe, and --raw keeps it as it is", async () => {
  const { call } = await toolEndpoint(() => textResult("a\u001b[2Jb\n\tc"));
  expect((await call(["demo", "note_write"], { tty: true })).stdout).toBe("a\u241b[2Jb\n\tc\n");
  expect((await call(["demo", "note_write"])).stdout).toBe("a\u241b[2Jb\n\tc\n");
  expect((await call(["demo", "note_write", "--raw"], { tty: true })).stdout).toBe("a\u001b[2Jb\n\tc\n");
});

test("a stream's progress goes to stderr, its result to stdout", async () => {
  const progress = { progressToken: 1, progress: 1, total: 2, message: "half" };
  const { call } = await toolEndpoint(() => [
    { jsonrpc: "2.0", method: "notifications/progress", params: progress },
    { jsonrpc: "2.0", id: "ID", result: textResult("grüß dich") },
  ]);
  expect(await call(["demo", "note_write"])).toEqual({ exit: 0, stdout: "grüß dich\n", stderr: "1/2 half\n" });
});

test("a stream that ends without an answer is unreachable", async () => {
  const { call } = await toolEndpoint(() => []);
  expect((await call(["demo", "note_write"])).exit).toBe(6);
});

test("`call` without a tool lists the tools with their arguments", async () => {
  const { call } = await toolEndpoint(() => textResult("x"));
  const { stdout } = await call(["demo"]);
  expect(stdout).toBe(
    "TOOL        ARGUMENTS                                            DESCRIPTION\n" +
      "note_write  title [stars] [open] [tags] [sizes] [region] [deep]  Saves a note\n",
  );
});

test("a tool that is not there is not found, with a guess at what was meant", async () => {
  const { call } = await toolEndpoint(() => ({ error: { code: -32602, message: "Unknown tool: notewrite" } }));
  const { exit, stderr } = await call(["demo", "notewrite"]);
  expect({ exit, stderr }).toEqual({
    exit: 3,
    stderr: "tenantry: Unknown tool: notewrite (did you mean note_write?)\n",
  });
  expect((await call(["demo", "zzz"])).stderr).toContain("(tenantry call demo lists them)");
});

test("an argument that the tool does not have is named, with the one that was meant", async () => {
  const { call, sent } = await toolEndpoint(() => textResult("saved"));
  const { stdout, stderr } = await call(["demo", "note_write", "titel=Hello"]);
  // The server has the last word.
  expect(stdout).toBe("saved\n");
  expect((sent.at(-1) as Sent).params["arguments"]).toEqual({ titel: "Hello" });
  expect(stderr).toBe('tenantry: note_write has no argument titel; did you mean "title"?\n');
});

test("a tool that is listed no more but still callable is called", async () => {
  const { call } = await toolEndpoint(() => textResult("old name, new tool"));
  expect((await call(["demo", "old_write", "title=a"])).stdout).toBe("old name, new tool\n");
});

test.each([
  { status: 403, code: -32600, exit: 4 },
  { status: 404, code: -32600, exit: 3 },
  { status: 200, code: -32603, exit: 1 },
])("a refusal with status $status ends with $exit", async ({ status, code, exit }) => {
  const { call } = await toolEndpoint(() => ({ status, error: { code, message: "Suspended: unpaid" } }));
  expect(await call(["demo", "note_write"])).toEqual({ exit, stdout: "", stderr: "tenantry: Suspended: unpaid\n" });
});

test("a key that is missing or refused is said so", async () => {
  const { call, sent } = await toolEndpoint(
    () => textResult("x"),
    (one) => {
      return one.headers.authorization === "Bearer good"
        ? undefined
        : { status: 401, error: { code: -32600, message: "No" } };
    },
  );
  expect(await call(["demo"])).toMatchObject({
    exit: 4,
    stderr: "tenantry: No (no key: set TENANTRY_KEY or give --key-file; tenantry key create TENANT makes a key)\n",
  });
  expect((await call(["demo", "--key", "bad"])).stderr).toBe(
    "tenantry: No (the key of --key was refused; give no key if the endpoint is open)\n",
  );
  expect((await call(["demo", "--key", "good"])).exit).toBe(0);
  // What is refused may be an older server, which is asked for a session.
  expect(sent.map(({ method }) => method)).toEqual([
    "tools/list",
    "initialize",
    "tools/list",
    "initialize",
    "tools/list",
  ]);
});

const QUESTION = {
  resultType: "input_required",
  requestState: "sealed",
  inputRequests: {
    confirm: {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "Really?",
        requestedSchema: {
          type: "object",
          properties: { sure: { type: "boolean" }, why: { type: "string" }, count: { type: "integer", default: 3 } },
          required: ["sure"],
        },
      },
    },
  },
};

test("a tool that asks is answered at the terminal, and goes on where it was", async () => {
  const { call, sent } = await toolEndpoint(({ params }) =>
    "requestState" in params ? textResult("deleted") : QUESTION,
  );
  const { exit, stdout, stderr } = await call(["demo", "note_write"], { tty: true, stdin: "y\nbecause\n\n" });
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: "deleted\n" });
  expect(stderr).toContain("Really?");
  expect(stderr).toContain("sure, y/n, required: ");
  expect(sent.at(-1)?.params).toMatchObject({
    requestState: "sealed",
    inputResponses: { confirm: { action: "accept", content: { sure: true, why: "because", count: 3 } } },
  });
});

test("a field may have any name, and so may a question", async () => {
  const { params } = QUESTION.inputRequests.confirm;
  // As JSON, because a literal would set the prototype.
  const requestedSchema = '{"type":"object","properties":{"__proto__":{"type":"string"}}}';
  const form = JSON.stringify({ ...params, requestedSchema: 0 }).replace('Schema":0', `Schema":${requestedSchema}`);
  const question = `{"resultType":"input_required","inputRequests":{"__proto__":{"method":"elicitation/create","params":${form}}}}`;
  const { call, sent } = await toolEndpoint(({ params: given }) =>
    "inputResponses" in given ? textResult("done") : (JSON.parse(question) as Json),
  );
  expect((await call(["demo", "note_write"], { tty: true, stdin: "mine\n" })).stdout).toBe("done\n");
  expect(JSON.stringify(sent.at(-1)?.params["inputResponses"])).toBe(
    '{"__proto__":{"action":"accept","content":{"__proto__":"mine"}}}',
  );
});

test(":decline, or the end of the input, declines the form, and the prompt says so", async () => {
  const { call, sent } = await toolEndpoint(({ params }) => ("requestState" in params ? textResult("kept") : QUESTION));
  for (const stdin of [":decline\n", "y\n:decline\n", ""]) {
    const { stdout, stderr } = await call(["demo", "note_write"], { tty: true, stdin });
    expect(stdout).toBe("kept\n");
    expect(stderr).toContain(":decline or Ctrl-D declines");
    expect(sent.at(-1)?.params["inputResponses"]).toEqual({ confirm: { action: "decline" } });
  }
});

test.each([
  { field: { type: "boolean" }, wrong: "maybe", rule: "must be y or n", right: "no", value: false },
  { field: { type: "integer" }, wrong: "zero", rule: "must be a number", right: "0", value: 0 },
  { field: { type: "integer" }, wrong: "1.5", rule: "must be a whole number", right: "1", value: 1 },
  { field: { type: "number", minimum: 2 }, wrong: "1.9", rule: "must be at least 2", right: "2", value: 2 },
  { field: { type: "integer", maximum: 3 }, wrong: "4", rule: "must be at most 3", right: "3", value: 3 },
  {
    field: { type: "string", minLength: 2 },
    wrong: "a",
    rule: "must be at least 2 characters",
    right: "!!",
    value: "!!",
  },
  { field: { type: "string", enum: ["a", "b"] }, wrong: "c", rule: "must be one of a, b", right: "b", value: "b" },
  { field: { oneOf: [{ const: "a", title: "A" }] }, wrong: "A", rule: "must be one of a", right: "a", value: "a" },
  {
    field: { type: "string", format: "date" },
    wrong: "soon",
    rule: "must be a date",
    right: "2026-07-28",
    value: "2026-07-28",
  },
  {
    field: { type: "string", format: "email" },
    wrong: "ada",
    rule: "must be an address",
    right: "a@b.c",
    value: "a@b.c",
  },
  {
    field: { type: "array", items: { enum: ["a", "b"] }, maxItems: 1 },
    wrong: "a, b",
    rule: "must be at most 1 choices",
    right: "b",
    value: ["b"],
  },
  {
    field: { type: "array", items: { enum: ["a"] } },
    wrong: "x",
    rule: "x: must be one of a",
    right: "a",
    value: ["a"],
  },
  { field: { type: "string" }, wrong: "", rule: "an answer is required", right: "yes", value: "yes" },
])(
  "a field that is answered with $wrong is asked again, and told: $rule",
  async ({ field, wrong, rule, right, value }) => {
    const requestedSchema = { type: "object", properties: { first: { type: "string" }, it: field }, required: ["it"] };
    const params = { mode: "form", message: "Which?", requestedSchema };
    const question = { ...QUESTION, inputRequests: { form: { method: "elicitation/create", params } } };
    const { call, sent } = await toolEndpoint(({ params: given }) =>
      "requestState" in given ? textResult("done") : question,
    );
    const { stdout, stderr } = await call(["demo", "note_write"], { tty: true, stdin: `kept\n${wrong}\n${right}\n` });
    expect(stdout).toBe("done\n");
    expect(stderr).toContain(`it: ${rule}`);
    expect(sent.at(-1)?.params["inputResponses"]).toEqual({
      form: { action: "accept", content: { first: "kept", it: value } },
    });
  },
);

test("the endpoint is told whether a person can be asked", async () => {
  const { call, sent } = await toolEndpoint(() => textResult("x"));
  await call(["demo", "note_write"]);
  await call(["demo", "note_write"], { tty: true });
  const capabilities = sent
    .filter(({ method }) => method === "tools/call")
    .map(({ params }) => (params["_meta"] as Json)["io.modelcontextprotocol/clientCapabilities"]);
  expect(capabilities).toEqual([{}, { elicitation: { form: {}, url: {} } }]);
});

test("a tool that asks without a terminal says where it can be answered", async () => {
  const message = "note_write: this client does not support elicitation.form: use a client that does";
  const { call } = await toolEndpoint(() => ({ status: 400, error: { code: -32021, message } }));
  const { exit, stderr } = await call(["demo", "note_write"]);
  expect({ exit, stderr }).toEqual({
    exit: 1,
    stderr: `tenantry: ${message}; the tool asks a question: run tenantry call in a terminal\n`,
  });
});

test("any MCP endpoint can be named by its URL", async () => {
  const { call, url } = await toolEndpoint(() => textResult("there"));
  expect((await call([`${url}/some/where`, "note_write"], { env: { TENANTRY_URL: "" } })).stdout).toBe("there\n");
  expect((await call(["no/such/form", "x"])).exit).toBe(2);
});

test("a connection that closes before the answer is no server that cannot be reached: the tool may have run", async () => {
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
  const { url } = await ScriptedServer.start((one) => {
    if (one.method === "tools/call") one.stream().event(progress).drop();
    else one.result({ tools: [NOTE_WRITE], resultType: "complete", ttlMs: 0, cacheScope: "private" });
  });
  const { exit, stderr } = await new CommandLine("/", { HOME: "/nowhere" }).run(["call", url, "note_write"]);
  expect(exit).toBe(6);
  expect(stderr).toBe(
    `1\ntenantry: ${url}: the connection was closed before the answer arrived; the request may have taken effect\n`,
  );
});

test.each([
  ["call", "demo"],
  ["tenant", "list"],
])("https to a server without TLS: %s says so", async (...args) => {
  const { url } = await ScriptedServer.start((one) => one.refuse(404));
  const base = new URL(url).origin.replace("http:", "https:");
  const { stderr } = await new CommandLine("/", { HOME: "/nowhere" }).run([...args, "--url", base]);
  expect(stderr).toMatch(
    /^tenantry: cannot reach https:.*: the server does not speak TLS: use http:\/\/ instead of https:\/\/\?\n$/,
  );
});
