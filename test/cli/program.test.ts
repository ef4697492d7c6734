// How commands end: exit codes, one line of error that names field and rule, and never a stack.

import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { commandLine } from "../support/command-line.ts";

const problem = (status: number, about: object = {}) => ({ status, json: { title: "Refused here", status, ...about } });

test.each([
  { status: 400, exit: 1 },
  { status: 401, exit: 4 },
  { status: 403, exit: 4 },
  { status: 404, exit: 3 },
  { status: 409, exit: 5 },
  { status: 412, exit: 5 },
  { status: 413, exit: 1 },
  { status: 422, exit: 1 },
  { status: 500, exit: 1 },
  { status: 502, exit: 6 },
])("a problem with status $status ends with exit code $exit and one line", async ({ status, exit }) => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => problem(status);
  const ended = await cli.run(["tenant", "show", "acme"]);
  expect(ended.exit).toBe(exit);
  expect(ended.stdout).toBe("");
  expect(ended.stderr).toMatch(/^tenantry: Refused here[^\n]*\n$/);
});

test("an error names field and rule, all of them", async () => {
  const { cli } = await commandLine();
  const { exit, stderr } = await cli.run(["tenant", "create", "xn--acme"]);
  expect(exit).toBe(1);
  expect(stderr).toBe("tenantry: Invalid input: id: must not start with xn--\n");
});

test("what a server says cannot break the line or steer the terminal", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => problem(409, { title: "a\nb\u001b[2J\rc\u009b" });
  const { stderr } = await cli.run(["tenant", "show", "acme"]);
  expect(stderr).toBe("tenantry: a b\u241b[2J c\ufffd\n");
});

test("a server that fails says under which request", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => problem(500, { requestId: "r-17" });
  expect((await cli.run(["tenant", "list"])).stderr).toBe("tenantry: Refused here (request r-17)\n");
});

test("a busy server is asked again after the time it names", async () => {
  const { admin, cli } = await commandLine();
  let refusals = 2;
  admin.intercept = () => {
    refusals -= 1;
    return refusals >= 0 ? { ...problem(503), headers: { "retry-after": "0.01" } } : undefined;
  };
  expect((await cli.run(["tenant", "list"])).exit).toBe(0);
  expect(admin.requests).toHaveLength(3);
});

test("a server that is busy for longer than a person waits is not waited for", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ ...problem(429), headers: { "retry-after": "3600" } });
  expect((await cli.run(["tenant", "list"])).exit).toBe(1);
  expect(admin.requests).toHaveLength(1);
});

test("a server that is not there is unreachable, and the message says what to do", async () => {
  const { admin, cli } = await commandLine();
  const { url } = admin;
  await admin.stop();
  const { exit, stderr } = await cli.run(["tenant", "list"]);
  expect(exit).toBe(6);
  expect(stderr).toBe(
    `tenantry: cannot reach ${url}: connection refused. Is it running? \`npm start\` starts one; --url or TENANTRY_URL names another\n`,
  );
});

test("a connection that breaks is tried again where that can do no harm", async () => {
  const { admin, cli } = await commandLine();
  const server = createServer((request, response) => {
    admin.requests.push(`${request.method}`);
    if (admin.requests.length === 1 || request.method === "POST") return void request.socket.destroy();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ items: [] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect((await cli.run(["tenant", "list", "--url", url])).exit).toBe(0);
  expect(admin.requests).toEqual(["GET", "GET"]);
  const created = await cli.run(["tenant", "create", "acme", "--url", url]);
  expect(created.exit).toBe(6);
  expect(created.stderr).toContain("the connection was closed");
  expect(admin.requests).toEqual(["GET", "GET", "POST"]);
});

test.each([
  { args: ["tenant", "delete", "acme", "--yes"], says: "acme is deleted" },
  { args: ["operator", "delete", "ci", "--yes"], says: "ci: deleted" },
  { args: ["prompt", "delete", "acme", "greet"], says: "greet: deleted" },
])("what $args has deleted when the connection breaks is not missing afterwards", async ({ args, says }) => {
  const { admin, cli } = await commandLine();
  const answers: string[] = [];
  const server = createServer((request, response) => {
    answers.push(`${request.method}`);
    if (answers.length === 1) return void request.socket.destroy();
    response.writeHead(404, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ title: "There is no such thing" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await cli.run([...args, "--url", url])).toMatchObject({ exit: 0, stdout: expect.stringContaining(says) });
  expect(answers).toEqual(["DELETE", "DELETE"]);
  // Without a broken connection before it, 404 says that the name is wrong.
  admin.intercept = () => problem(404);
  expect((await cli.run(args)).exit).toBe(3);
});

test.each([
  { args: ["key", "revoke", "acme", "key0000001", "--yes"], says: "key0000001 is revoked everywhere" },
  { args: ["resume", "acme", "--tool", "note_write"], says: "tool note_write of acme: resumed" },
  { args: ["secret", "delete", "acme", "API_TOKEN", "--yes"], says: "API_TOKEN of acme is deleted everywhere" },
])("what $args has ended when the connection breaks is done, and nobody is told it was not there", async (form) => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  let deletions = 0;
  admin.intercept = ({ method }) => {
    deletions += method === "DELETE" ? 1 : 0;
    if (method === "DELETE" && deletions === 1) throw new Error("the connection breaks");
    return undefined;
  };
  const lost = " (the answer to the first attempt was lost; it is gone now)";
  expect(await cli.run(form.args)).toMatchObject({ exit: 0, stdout: `${form.says}${lost}\n` });
  expect(deletions).toBe(2);
  // Without a broken connection before it, it was never there.
  expect((await cli.run(form.args)).exit).toBe(3);
});

test("a resource that is deleted in one version is gone when the answer was lost, and not one that is another now", async () => {
  const { admin, cli } = await commandLine();
  const { resources } = admin.addTenant("acme");
  let isLost = false;
  admin.intercept = ({ method }) => {
    if (method !== "DELETE" || isLost) return undefined;
    isLost = true;
    resources.delete("file:///a.md");
    throw new Error("the connection breaks");
  };
  const args = ["resource", "delete", "acme", "file:///a.md", "--if-match", '"one"'];
  expect(await cli.run(args)).toMatchObject({ exit: 0, stdout: "1 resource deleted\n" });
  expect((await cli.run(args)).exit).toBe(5);
  isLost = false;
  admin.intercept = ({ method }) => {
    if (method !== "DELETE" || isLost) return undefined;
    isLost = true;
    admin.addResource("acme", "file:///a.md", "theirs");
    throw new Error("the connection breaks");
  };
  expect((await cli.run(args)).exit).toBe(5);
});

test("a key of a tenant that is not there is not revoked, whatever breaks", async () => {
  const { cli } = await commandLine();
  let attempts = 0;
  const server = createServer((request, response) => {
    attempts += 1;
    if (attempts === 1) return void request.socket.destroy();
    response.writeHead(404, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ title: "There is no such tenant" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect((await cli.run(["key", "revoke", "acmee", "Yk3v0Qp8sD", "--yes", "--url", url])).exit).not.toBe(0);
  expect(attempts).toBe(2);
});

test.each([
  {
    what: "HTML",
    answer: { status: 404, body: Buffer.from("<h1>"), headers: { "content-type": "text/html" } },
    exit: 3,
    hint: ". Does the Worker have features: [admin()]?",
  },
  {
    what: "HTML with 200",
    answer: { body: Buffer.from("<h1>"), headers: { "content-type": "text/html" } },
    exit: 1,
    hint: "",
  },
])("something that answers with $what is no tenantry server", async ({ answer, exit, hint }) => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => answer;
  const ended = await cli.run(["tenant", "show", "acme"]);
  expect(ended.exit).toBe(exit);
  expect(ended.stderr).toMatch(/^tenantry: .*/);
  expect(ended.stderr.split("no admin API answers there").at(-1)).toBe(`${hint}\n`);
});

test("a Worker that lacks a binding is quoted", async () => {
  const { admin, cli } = await commandLine();
  const headers = { "content-type": "text/plain; charset=utf-8" };
  admin.intercept = () => ({
    status: 500,
    body: Buffer.from("wrangler's configuration has no KV binding BODIES\n"),
    headers,
  });
  const { exit, stderr } = await cli.run(["key", "create", "acme", "--name", "first"]);
  expect(exit).not.toBe(0);
  expect(stderr).toContain("answered 500: wrangler's configuration has no KV binding BODIES");
});

test("the URL of an endpoint in place of the server's is told apart", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ status: 404, json: { jsonrpc: "2.0", error: { code: -32600, message: "Not found" } } });
  const { exit, stderr } = await cli.run(["tenant", "list", "--url", `${admin.url}/mcp/demo`]);
  expect(exit).toBe(3);
  expect(stderr).toContain("no admin API answers there. --url must be the server's URL, without /mcp/TENANT\n");
});

test("a redirect is not followed with the token but named", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ status: 308, headers: { location: "https://elsewhere.example/" } });
  const { exit, stderr } = await cli.run(["tenant", "list"]);
  expect(exit).toBe(1);
  expect(stderr).toContain("redirects to https://elsewhere.example/: give that as --url");
});

test.each([
  { args: ["tenent", "list"], says: "unknown command 'tenent' (Did you mean tenant?)" },
  {
    args: ["tenant", "create"],
    says: "missing required argument 'tenant'; tenantry help tenant create shows what it takes",
  },
  { args: ["tenant", "list", "--limt", "3"], says: "unknown option '--limt' (Did you mean --limit?)" },
  { args: ["tenant", "list", "--limit", "0"], says: "option '--limit <count>' argument '0' is invalid" },
  {
    args: ["key", "create", "acme", "--nme", "x"],
    says: "not specified; there is no option --nme; tenantry help key create",
  },
  { args: ["key", "create", "acme"], says: "required option '-n, --name <name>' not specified" },
  { args: ["key", "create", "acme", "-n", "x", "--expires", "tomorrow"], says: "30d, 2027-01-31" },
  { args: ["operator", "create", "ci", "--role", "king"], says: "Allowed choices are owner, operator, auditor" },
  { args: ["explain", "acme", "thing", "x"], says: "Allowed choices are tool, prompt, resource" },
  { args: ["explain", "acme", "note_write"], says: "Allowed choices are tool, prompt, resource" },
  { args: ["explain", "acme", "tool"], says: "explain acme tool: the tool's name is missing" },
  { args: ["suspend", "acme", "--note", "n", "--tool", "a", "--profile", "b"], says: "give one of" },
  { args: ["suspend", "--note", "n"], says: "missing required argument 'tenant'" },
  { args: ["resource", "get", "acme"], says: "give one URI, or --prefix" },
  { args: ["resource", "put", "acme", "nothing-here"], says: "nothing-here: no such file or folder" },
  { args: ["tenant", "list", "--url", "ftp://x"], says: "--url: ftp://x is not an http or https URL" },
  { args: ["tenant", "list", "--token", "a b"], says: "--token: must be visible ASCII" },
  { args: ["call", "acme", "--json-args", "{}"], says: "--json-args: needs a tool" },
  {
    args: ["call", "acme", "tool", "novalue"],
    says: "novalue: an argument is key=value or key:=JSON; --json-args takes all of them",
  },
  { args: ["help", "nonsense"], says: "there is no help for nonsense" },
])("$args is a usage error that sends nothing", async ({ args, says }) => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ json: { jsonrpc: "2.0", result: { tools: [] } } });
  const { exit, stderr, stdout } = await cli.run(args);
  expect(exit).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain(says);
  expect(stderr.split("\n")).toHaveLength(2);
  expect(admin.requests.filter((request) => !request.includes("/mcp/"))).toEqual([]);
});

test("with --json an error is JSON on stderr, with what the server said of each member", async () => {
  const { admin, cli } = await commandLine();
  const errors = [{ field: "mode", rule: "one of open, key" }];
  admin.intercept = () => ({ status: 422, json: { title: "Invalid input", status: 422, errors } });
  const refused = await cli.run(["tenant", "create", "acme", "--json"]);
  expect([refused.exit, refused.stdout, JSON.parse(refused.stderr)]).toEqual([
    1,
    "",
    { error: { exit: 1, message: "Invalid input: mode: one of open, key", status: 422, errors } },
  ]);
  const { exit, stderr } = await cli.run(["tenant", "lst", "--json"]);
  expect([exit, JSON.parse(stderr)]).toEqual([
    2,
    { error: { exit: 2, message: expect.stringContaining("unknown command 'lst'") } },
  ]);
});

test("Ctrl+C ends a waiting request with 130 and without a word about the network", async () => {
  const { admin, cli } = await commandLine();
  const interrupt = new AbortController();
  admin.intercept = () => {
    interrupt.abort();
    return undefined;
  };
  expect(await cli.run(["tenant", "list"], { signal: interrupt.signal })).toEqual({
    exit: 130,
    stdout: "",
    stderr: "tenantry: interrupted\n",
  });
});

test("a list whose cursor repeats ends with an error", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ json: { items: [], cursor: "again" } });
  const { exit, stderr } = await cli.run(["key", "list", "acme"]);
  expect({ exit, stderr }).toEqual({
    exit: 1,
    stderr: "tenantry: GET /tenants/{id}/keys: the server sent the same cursor again, so the list has no end\n",
  });
  expect(admin.requests).toHaveLength(2);
});
