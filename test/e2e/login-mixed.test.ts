// A tenant of the mode `mixed`, of which everybody sees a part, and callers who see less than they could: what is answered
// to a call of what they do not see, and how a client learns what to ask its authorization server for.

import { describe, expect, test, vi } from "vitest";
import { tamper } from "../support/tamper.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startAuthorizationServer, type AuthorizationServer } from "../support/authorization-server.ts";
import { listAs, LOGIN_HOST, startLoginWorker, whoamiAs } from "../support/login-tenant.ts";
import { mcpClient, ERAS, post, type Json } from "../support/mcp-client.ts";
import { startUpstream } from "../support/upstream.ts";
import { sendRaw, write, type RawReply } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusal.ts";
import { connectSse, initializeSse } from "../support/sse-connection.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "mixed");

const SCOPES = {
  public: { tools: ["whoami"], prompts: ["hello"], resources: ["note:///public*"] },
  later: { tools: ["whoami", "whoami_later"] },
  everything: { tools: ["*"], prompts: ["*"], resources: ["*"] },
};
const PROMPTS = Object.fromEntries(
  ["hello", "secret"].map((name) => [name, { messages: [{ role: "user", content: { type: "text", text: name } }] }]),
);

/** OAuth scopes of the server are scopes of the tenant; what brings nothing sees `public`. */
async function tenantOf(server: AuthorizationServer, document: Json = {}, issuer: Json = {}) {
  const scopes = { claim: "scope", values: { "later:run": ["later"], all: ["everything"], 'odd "one"': ["later"] } };
  const auth = { issuers: [{ issuer: server.issuer, scopes, ...issuer }], anonymous: { scopes: ["public"] } };
  const id = await admin.tenant({ mode: "mixed", auth, scopes: SCOPES, prompts: PROMPTS, ...document });
  return { id, url: `${origin}/mcp/${id}`, auth };
}

const toolsOf = ({ text }: RawReply) =>
  (JSON.parse(text) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);

interface Ask {
  readonly token?: string;
  readonly id?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(url: string, revision: string, written: readonly [string, Json], { token, id = 7, headers }: Ask = {}) {
  const { headers: usual, body } = write(revision, written[0], written[1], id);
  const always = token === undefined ? {} : bearer(token);
  return sendRaw(url, { headers: { ...usual, ...always, ...headers }, body: JSON.stringify(body) });
}

const callOf = (name: string) => ["tools/call", { name, arguments: {} }] as const;

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const code = era === "2025" ? -32003 : -32600;
  const metadataAt = (path: string, base = origin) => `${base}/.well-known/oauth-protected-resource${path}`;

  function expectLogin(reply: RawReply, path: string, base = origin, id: number | undefined = 7): void {
    expectRefusal(reply, revision, { status: 401, code, id });
    expect(reply.headers["www-authenticate"]).toBe(
      `Bearer realm="tenantry", resource_metadata="${metadataAt(path, base)}", scope="later:run all"`,
    );
  }

  test("a request without a credential sees the scopes of everybody, and calls what is theirs", async () => {
    const { url } = await tenantOf(await startAuthorizationServer());
    expect(toolsOf(await listAs(url, revision))).toEqual(["whoami"]);
    const client = await mcpClient(revision, url);
    const { result } = await client.request("tools/call", { name: "whoami", arguments: {} });
    expect(JSON.stringify(result)).toContain('\\"kind\\":\\"anonymous\\",\\"id\\":\\"anonymous\\"');
    expect((await client.request("prompts/get", { name: "hello" })).status).toBe(200);
  });

  test("a call of what everybody does not see answers 401 with a challenge, whether or not it is there", async () => {
    const { id, url } = await tenantOf(await startAuthorizationServer());
    for (const name of ["whoami_later", "whoami_never", "WHOAMI", "whoami ", "code__whoami_later", "search"]) {
      expectLogin(await send(url, revision, callOf(name)), `/mcp/${id}`);
    }
    for (const name of ["secret", "none"]) {
      expectLogin(await send(url, revision, ["prompts/get", { name }]), `/mcp/${id}`);
    }
    for (const uri of ["note:///secret", "note:///secret%61", "file:///none"]) {
      expectLogin(await send(url, revision, ["resources/read", { uri }]), `/mcp/${id}`);
    }
    const absent = await send(url, revision, ["resources/read", { uri: "note:///public-none" }]);
    expect([absent.status, absent.headers["www-authenticate"]]).toEqual([200, undefined]);
  });

  test("the challenge comes where a stream was asked for, too, and in a session that began without a credential", async () => {
    const { id, url } = await tenantOf(await startAuthorizationServer());
    const streamed = await send(url, revision, callOf("whoami_later"), { headers: { accept: "text/event-stream" } });
    expectLogin(streamed, `/mcp/${id}`);
    const client = await mcpClient(revision, url);
    const reply = await client.request("tools/call", { name: "whoami_later", arguments: {} });
    expect([reply.status, reply.headers.get("www-authenticate")]).toEqual([401, streamed.headers["www-authenticate"]]);
    expect((await client.request("tools/list")).status).toBe(200);
  });

  test("profiles and hostnames have a challenge of their own", async () => {
    const profiles = { small: { tools: { allow: ["whoami"], rename: { whoami: { name: "who" } } } } };
    const { id, url } = await tenantOf(await startAuthorizationServer(), { profiles });
    expect(toolsOf(await listAs(`${url}/small`, revision))).toEqual(["who"]);
    expectLogin(await send(`${url}/small`, revision, callOf("whoami")), `/mcp/${id}/small`);
    const host = `${id}.${LOGIN_HOST}`;
    const there = await send(`${origin}/mcp/small`, revision, callOf("whoami"), { headers: { host } });
    expectLogin(there, "/mcp/small", `http://${host}`);
    expect((await send(`${origin}/mcp`, revision, callOf("whoami"), { headers: { host } })).status).toBe(200);
  });

  test("a message that names its upstream beside itself goes no further", async () => {
    const result = { content: [{ type: "text", text: "said" }] };
    const up = await startUpstream({ shown: () => result, hidden: () => result });
    const scopes = { ...SCOPES, public: { tools: ["up__shown"] } };
    const { id, url } = await tenantOf(await startAuthorizationServer(), {
      scopes,
      upstreams: { up: { url: up.url, era: "2025" } },
    });
    await vi.waitFor(async () => expect(toolsOf(await listAs(url, revision))).toEqual(["up__shown"]), 20_000);
    const ask = (name: string) => {
      const { headers, body } = write(revision, ...callOf(name), 7);
      const envelope = JSON.stringify({ server_id: "up", ...body });
      return sendRaw(`${origin}/gateway/${id}`, { headers, body: envelope });
    };
    expect((await ask("shown")).status).toBe(200);
    const requestCount = up.requests.length;
    for (const name of ["hidden", "up__hidden", "none"]) expectLogin(await ask(name), `/mcp/${id}`);
    for (const name of ["up__hidden", "hidden"]) expectLogin(await send(url, revision, callOf(name)), `/mcp/${id}`);
    expect(up.requests).toHaveLength(requestCount);
    up.close();
  });

  test("keys and tokens are taken, a person sees what everybody does besides, and a bad bearer is refused", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server);
    const key = await admin.key(id);
    expect(toolsOf(await listAs(url, revision, key.token))).toEqual(["whoami", "whoami_later"]);
    const plain = await server.token({ aud: url });
    expect(toolsOf(await listAs(url, revision, plain))).toEqual(["whoami"]);
    const all = await server.token({ aud: url, scope: "openid all" });
    expect(await whoamiAs(url, revision, all, "whoami_later")).toMatchObject({ kind: "oauth", subject: "alice" });
    for (const token of ["x", await server.token({ aud: `${url}/small` }), tamper(key.token)]) {
      const reply = await listAs(url, revision, token);
      expectRefusal(reply, revision, { status: 401, code });
      expect(reply.headers["www-authenticate"]).toContain('scope="later:run all", error="invalid_token"');
    }
    const unknown = await send(url, revision, callOf("none"), { token: key.token });
    expectRefusal(unknown, revision, { status: 200, code: -32602, id: 7 });
  });

  test("a session belongs to whom it began as: what began without a credential is not gone on with by a token", async () => {
    const server = await startAuthorizationServer();
    const { url } = await tenantOf(server);
    const client = await mcpClient(revision, url);
    const headers = bearer(await server.token({ aud: url, scope: "all" }));
    expect((await client.request("tools/list", {}, { headers })).status).toBe(era === "2025" ? 404 : 200);
    expect((await client.request("tools/list")).status).toBe(200);
  });

  test("a tool that one more scope would show answers 403, with what the token has and that scope", async () => {
    const server = await startAuthorizationServer();
    const { id, url, auth } = await tenantOf(server, { mode: "key+oauth" });
    const token = await server.token({ aud: url, scope: "profile later:run" });
    const { message } = expectRefusal(
      await send(url, revision, ["prompts/get", { name: "secret" }], { token }),
      revision,
      { status: 403, code, id: 7 },
    );
    expect(message).toBe("Permission denied: this needs the scope all");
    const little = await server.token({ aud: url, scope: "profile" });
    const reply = await send(url, revision, callOf("whoami_later"), { token: little });
    expectRefusal(reply, revision, { status: 403, code, id: 7 });
    expect(reply.headers["www-authenticate"]).toBe(
      `Bearer realm="tenantry", resource_metadata="${metadataAt(`/mcp/${id}`)}", scope="later:run", ` +
        `error="insufficient_scope", error_description="this needs the scope later:run"`,
    );
    const more = await send(url, revision, ["prompts/get", { name: "hello" }], { token });
    expect(more.headers["www-authenticate"]).toContain('scope="later:run all", error="insufficient_scope"');
    const absent = await send(url, revision, callOf("none"), { token: little });
    expectRefusal(absent, revision, { status: 200, code: -32602, id: 7 });
    expect((await send(url, revision, callOf("whoami_later"), { token })).status).toBe(200);
    // The same in `mixed`, where the person sees what everybody does.
    await admin.apply(id, { mode: "mixed", auth, scopes: SCOPES, prompts: PROMPTS });
    expect((await send(url, revision, ["prompts/get", { name: "hello" }], { token: little })).status).toBe(200);
    expect((await send(url, revision, ["prompts/get", { name: "secret" }], { token: little })).status).toBe(403);
  });

  test("a tool of a scope that nobody can ask for stays hidden", async () => {
    const server = await startAuthorizationServer();
    const scopes = { claim: "groups", values: { staff: ["public"], admins: ["everything"] } };
    const { id, url } = await tenantOf(server, { mode: "oauth" }, { scopes });
    const token = await server.token({ aud: url, groups: ["staff"] });
    for (const name of ["whoami_later", "none"]) {
      const reply = await send(url, revision, callOf(name), { token });
      expectRefusal(reply, revision, { status: 200, code: -32602, id: 7 });
    }
    const reply = await listAs(url, revision);
    expect(reply.headers["www-authenticate"]).toBe(
      `Bearer realm="tenantry", resource_metadata="${metadataAt(`/mcp/${id}`)}"`,
    );
    expect(await (await fetch(metadataAt(`/mcp/${id}`))).json()).not.toHaveProperty("scopes_supported");
  });

  test("a tool that a profile leaves out or that is switched off is not offered for a scope", async () => {
    const server = await startAuthorizationServer();
    const profiles = { small: { tools: { deny: ["whoami_later"] } } };
    const { url } = await tenantOf(server, { mode: "oauth", profiles });
    const token = await server.token({ aud: `${url}/small`, scope: "none" });
    const denied = await send(`${url}/small`, revision, callOf("whoami_later"), { token });
    expectRefusal(denied, revision, { status: 200, code: -32602, id: 7 });
    expect((await send(`${url}/small`, revision, callOf("whoami"), { token })).status).toBe(403);
  });

  test("metadata lists the scopes that may be asked for, and the challenge those that come first", async () => {
    const server = await startAuthorizationServer();
    const scopes = { claim: "scp", values: { read: ["public"], write: ["everything"] }, first: ["read"] };
    const { id, url } = await tenantOf(server, {}, { scopes });
    const metadata = (await (await fetch(metadataAt(`/mcp/${id}`))).json()) as Json;
    expect(metadata).toMatchObject({ resource: url, scopes_supported: ["read", "write"] });
    const reply = await send(url, revision, callOf("whoami_later"));
    expect(reply.headers["www-authenticate"]).toContain(', scope="read"');
  });
});

test("one call in a batch that wants a credential has all of it answered 401, before anything of it ran", async () => {
  const server = await startAuthorizationServer();
  const { url } = await tenantOf(server);
  const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26" };
  const message = (name: string, id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
  const fine = await post(url, [message("whoami", 1), message("whoami", 2)], { headers, revision: "2025-03-26" });
  expect([fine.status, fine.messages.length]).toEqual([200, 2]);
  const batches = [
    [message("whoami", 1), message("whoami_later", 2)],
    [message("whoami_later", 1), message("whoami", 2)],
  ];
  for (const batch of batches) {
    const { status, headers: answered, text } = await post(url, batch, { headers });
    expect([status, answered.get("www-authenticate")]).toEqual([401, expect.stringContaining('scope="later:run all"')]);
    expect(JSON.parse(text)).toMatchObject({ id: null, error: { code: -32003 } });
  }
  const token = await server.token({ aud: url });
  const { status } = await post(url, batches[0], { headers: { ...headers, ...bearer(token) } });
  expect(status).toBe(403);
});

test("over HTTP+SSE the POST of such a call is answered 401, and its stream goes on", async () => {
  const { url } = await tenantOf(await startAuthorizationServer());
  const connection = await connectSse(url);
  await initializeSse(connection);
  const { status, headers } = await connection.call(1, "whoami_later");
  expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringContaining('scope="later:run all"')]);
  const { result } = await connection.request(2, "tools/call", { name: "whoami", arguments: {} });
  expect(JSON.stringify(result)).toContain("anonymous");
});

test("a call that runs without its request runs as nobody, where nobody signed in", async () => {
  const server = await startAuthorizationServer();
  const { url } = await tenantOf(server, { scopes: { ...SCOPES, public: { tools: ["whoami_later"] } } });
  const client = await mcpClient("2025-11-25", url);
  const { result } = await client.request("tools/call", { name: "whoami_later", arguments: {} });
  expect(JSON.stringify(result)).toContain('\\"id\\":\\"anonymous\\"');
});

test("a tool that is taken from everybody is refused from the acknowledgement on", async () => {
  const { id, url, auth } = await tenantOf(await startAuthorizationServer());
  expect((await send(url, "2026-07-28", callOf("whoami"))).status).toBe(200);
  await admin.apply(id, { mode: "mixed", auth: { ...auth, anonymous: { scopes: [] } }, scopes: SCOPES });
  expect((await send(url, "2026-07-28", callOf("whoami"))).status).toBe(401);
});

test("a document that leaves open what everybody sees, or names scopes that are none, is refused", async () => {
  const issuer = { issuer: "https://login.example.com" };
  const ruleOf = async (auth: Json, document: Json = {}) =>
    admin
      .tenant({ mode: "mixed", auth: { issuers: [issuer], ...auth }, scopes: SCOPES, prompts: PROMPTS, ...document })
      .then(String, String);
  expect(await ruleOf({})).toContain("is required in the mode mixed");
  expect(await ruleOf({ anonymous: { scopes: ["publik"] } })).toContain('did you mean \\"public\\"?');
  const first = (claim: string, one: string) => ({
    anonymous: { scopes: [] },
    issuers: [{ ...issuer, scopes: { claim, values: { read: ["public"] }, first: [one] } }],
  });
  expect(await ruleOf(first("scope", "write"))).toContain("must be keys of scopes.values");
  expect(await ruleOf(first("groups", "read"))).toContain("with the claim scope or scp");
  expect(await ruleOf(first("scope", "read"))).toMatch(/^mixed-/);
});
