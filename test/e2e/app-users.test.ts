// An app that mounts tenantry says who calls: the principal everywhere, in the tenant that the app names. Whatever the app says
// that cannot be read, and a failure of it, lets nobody in.

import { describe, expect, test } from "vitest";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { as, clientAs, startUsersApp, textOf, whoIs } from "../support/app-users.ts";
import { openEvents } from "../support/event-reader.ts";
import { bearer } from "../support/fixture-admin.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { listenTo } from "../support/listening.ts";
import { client2025, client2026, mcpClient, ERAS, post, type Json } from "../support/mcp-client.ts";
import { sendRaw, write } from "../support/raw-http.ts";

const ADA = { tenant: "acme", id: "7" };

const app = await startUsersApp();

const READ = { reader: { tools: ["whoami"] }, payer: { tools: ["pay"] } };
const namesAs = async (user: Json, revision: string, url: string) => {
  const { result } = await (await clientAs(user, revision, url)).request("tools/list");
  return (result["tools"] as Json[]).map(({ name }) => name);
};

/** Everything that a caller is told, without what differs by itself. */
async function toldAs(user: string, url: string, method = "POST"): Promise<unknown> {
  const { headers, body } = write("2025-11-25", "tools/list");
  const sent = { method, headers: { ...headers, ...as(user) } };
  const reply = await fetch(url, method === "POST" ? { ...sent, body: JSON.stringify(body) } : sent);
  return [reply.status, comparableHeaders(reply.headers), await reply.text()];
}

describe.each(ERAS)("in era $era", ({ revision }) => {
  test("a handler is told who calls", async () => {
    const about = { email: "ada@acme.example", name: "Ada", groups: ["staff"], claims: { plan: "pro" } };
    const client = await clientAs({ ...ADA, subject: "ada", ...about }, revision, app.url("/acme"));
    expect(await whoIs(client)).toEqual({ kind: "app", id: "app 7", subject: "ada", ...about });
    const plain = await clientAs(ADA, revision, app.url("/acme"));
    expect(await whoIs(plain)).toMatchObject({ kind: "app", id: "app 7", subject: "7", claims: {} });
  });

  test("no id makes somebody a key, a person or anonymous", async () => {
    for (const id of ["anonymous", "key abcdefghij", "oauth https://login.example.com ada"]) {
      expect(await whoIs(await clientAs({ ...ADA, id }, revision, app.url("/acme")))).toMatchObject({
        id: `app ${id}`,
      });
    }
  });

  test("scopes that the tenant has limit what is seen, and others mean nothing", async () => {
    const id = await app.admin.tenant({ scopes: READ });
    const seen = (scopes: readonly string[]) => namesAs({ tenant: id, id: "7", scopes }, revision, app.url(`/${id}`));
    expect(await seen(["reader"])).toEqual(["whoami"]);
    expect(await seen(["payer", "reader"])).toEqual(["whoami", "pay"]);
    for (const none of [[], ["nobodys"], ["reader payer"], ["constructor", "__proto__"], ["{"]]) {
      expect(await seen(none)).toEqual([]);
    }
    expect(await seen(["reader", "nobodys"])).toEqual(["whoami"]);
  });

  test("a tenant that takes keys takes its own user, a key, and nobody else", async () => {
    const id = await app.admin.tenant({ mode: "key" });
    const url = app.url(`/${id}`);
    expect(await whoIs(await clientAs({ tenant: id, id: "7" }, revision, url))).toMatchObject({ kind: "app" });
    const key = await app.admin.key(id);
    expect(await whoIs(await mcpClient(revision, url, {}, bearer(key.token)))).toMatchObject({ kind: "key" });
    // An app that forgets to say which tenant opens none.
    for (const headers of [as({ id: "7" }), {}]) {
      const { status } = await post(url, write(revision, "tools/list").body, {
        headers: { ...write(revision, "tools/list").headers, ...headers },
      });
      expect(status).toBe(401);
    }
  });

  test("a caller whom the app does not know is who they were without it", async () => {
    expect(await whoIs(await mcpClient(revision, app.url("/acme")))).toMatchObject({ kind: "anonymous" });
    expect(await whoIs(await clientAs({ id: "7" }, revision, app.url("/acme")))).toMatchObject({ id: "app 7" });
  });

  test("a user of the app sees what everybody sees, too, and still belongs to a tenant", async () => {
    const auth = { issuers: [{ issuer: "https://login.example.com" }], anonymous: { scopes: ["reader"] } };
    const id = await app.admin.tenant({ mode: "mixed", auth, scopes: READ });
    const url = app.url(`/${id}`);
    const seen = (scopes: readonly string[]) => namesAs({ tenant: id, id: "7", scopes }, revision, url);
    expect([await seen([]), await seen(["payer"])]).toEqual([["whoami"], ["whoami", "pay"]]);
    expect(await whoIs(await clientAs({ tenant: id, id: "7" }, revision, url))).toMatchObject({ id: "app 7" });
    expect(await whoIs(await mcpClient(revision, url))).toMatchObject({ kind: "anonymous" });
    const { headers, body } = write(revision, "tools/list");
    expect((await post(url, body, { headers: { ...headers, ...as({ id: "7" }) } })).status).toBe(401);
  });

  test("/mcp is the user's own tenant, and the default one for the others", async () => {
    const id = await app.admin.tenant({ tools: { pay: { enabled: false } } });
    expect(await namesAs({ tenant: id, id: "7" }, revision, app.url(""))).not.toContain("pay");
    expect(await namesAs({ id: "7" }, revision, app.url(""))).toContain("pay");
    expect(await namesAs(ADA, revision, app.url("/"))).toContain("pay");
  });

  test("a user who is suspended is refused at once, in a stream too, and nobody else is", async () => {
    const id = await app.admin.tenant({});
    const url = app.url(`/${id}`);
    const [ada, bob] = [
      { tenant: id, id: "ada" },
      { tenant: id, id: "bob" },
    ];
    const [hers, his] = await Promise.all([ada, bob].map((user) => listenTo(revision, url, { headers: as(user) })));
    const client = await clientAs(ada, revision, url);
    await app.admin.suspend(id, "principal", "app ada", "Unpaid");
    const refused = await client.request("tools/list");
    expect([refused.status, refused.error?.message]).toEqual([403, "Suspended: Unpaid"]);
    // What is told until it ends; that it ends is what is waited for.
    await hers?.rest();
    expect(await whoIs(await clientAs(bob, revision, url))).toMatchObject({ id: "app bob" });
    await app.admin.ask("DELETE", `/tenants/${id}/suspensions/principal/app%20ada`);
    expect((await client.request("tools/list")).status).toBe(200);
    await his?.events.close();
  });

  test("limits are each user's own, wherever they come from", async () => {
    const id = await app.admin.tenant({ limits: { principalMessages: 12, toolCalls: 2, principalDailyToolCalls: 2 } });
    const url = app.url(`/${id}`);
    for (const user of ["ada", "bob"]) {
      const client = await clientAs({ tenant: id, id: user }, revision, url);
      const call = () => client.request("tools/call", { name: "whoami", arguments: {} });
      expect([(await call()).error, (await call()).error]).toEqual([undefined, undefined]);
      expect((await call()).status).toBe(429);
    }
    expect(await whoIs(await mcpClient(revision, url))).toMatchObject({ kind: "anonymous" });
  });

  test("the rest of a long result is for whose it is", async () => {
    const id = await app.admin.tenant({ profiles: { short: { resultBudget: { tokens: 300 } } } });
    const url = app.url(`/${id}/short`);
    const [ada, bob] = await Promise.all(
      ["ada", "bob"].map((user) => clientAs({ tenant: id, id: user }, revision, url)),
    );
    const cut = await ada?.request("tools/call", { name: "long", arguments: {} });
    const [, uri = ""] = /"uri":"(tenantry:[^"]+)"/.exec(cut?.text ?? "") ?? [];
    expect(uri).not.toBe("");
    const [own, others] = await Promise.all(
      [ada, bob].map(async (client) => client?.request("resources/read", { uri })),
    );
    expect(own?.text).toContain("app ada");
    expect([others?.error === undefined, others?.text.includes("app ada")]).toEqual([false, false]);
  });

  test("a user whose time has ended is refused, and a stream tells them nothing more", async () => {
    const id = await app.admin.tenant({});
    const url = app.url(`/${id}`);
    const user = (expires: number) => ({ tenant: id, id: "7", expires });
    const expires = Date.now() + 2000;
    const stream = await listenTo(revision, url, { headers: as(user(expires)) });
    await expect.poll(() => Date.now() > expires).toBe(true);
    await app.admin.store(id, "note://a", "told to nobody");
    expect((await stream.rest()).map(({ method }) => method).filter(Boolean)).toEqual([]);
    const { headers, body } = write(revision, "tools/list");
    expect((await post(url, body, { headers: { ...headers, ...as(user(Date.now() - 1)) } })).status).toBe(401);
  });
});

test("no cache that many share keeps what an app shows its users", async () => {
  for (const always of [as(ADA), {}]) {
    const { result } = await client2026(app.url("/acme"), {}, {}, always).request("tools/list");
    expect(result).toMatchObject({ cacheScope: "private" });
  }
});

describe("a run without its request", () => {
  const cut = async (user: Json, key: string) => {
    const url = app.url(`/${String(user["tenant"])}`);
    const client = await client2025(url, "2025-11-25", {}, as(user));
    const params = { name: "wait", arguments: { key }, _meta: { progressToken: "p" } };
    const call = await ResumableCall.begin(url, client, { id: key, params });
    await call.next();
    return { url, call, end: async () => client.request("tools/call", { name: "open", arguments: { key } }) };
  };

  test("is its user's, with all that the app said of them", async () => {
    const claims = { plan: "pro" };
    const { call, end } = await cut({ ...ADA, claims, email: "ada@acme.example" }, "whole");
    await end();
    const { result } = (await call.next()) as { result: { content: { text: string }[] } };
    expect(JSON.parse(String(result.content[0]?.text))).toMatchObject({
      id: "app 7",
      claims,
      email: "ada@acme.example",
    });
    await call.drop();
  });

  test("does not go on for a user whose time has ended, though a later word of the app lets them in", async () => {
    const id = await app.admin.tenant({});
    const url = app.url(`/${id}`);
    const expires = Date.now() + 1500;
    const client = await client2025(url, "2025-11-25", { elicitation: {} }, as({ tenant: id, id: "ada", expires }));
    const call = await ResumableCall.begin(url, client, { id: "pay", params: { name: "pay", arguments: {} } });
    const question = await call.next();
    await expect.poll(() => Date.now() > expires).toBe(true);
    const answer = { jsonrpc: "2.0", id: question?.["id"], result: { action: "accept", content: {} } };
    const headers = { ...client.headers, ...as({ tenant: id, id: "ada" }) };
    expect((await post(url, answer, { headers })).status).toBe(202);
    expect(await call.next()).toMatchObject({ id: "pay", error: { message: "Invalid credential" } });
    await call.drop();
  });

  test("takes no answer of a user who is suspended", async () => {
    const id = await app.admin.tenant({});
    const url = app.url(`/${id}`);
    const client = await client2025(url, "2025-11-25", { elicitation: {} }, as({ tenant: id, id: "ada" }));
    const call = await ResumableCall.begin(url, client, { id: "pay", params: { name: "pay", arguments: {} } });
    const question = await call.next();
    await app.admin.suspend(id, "principal", "app ada", "Unpaid");
    const answer = { jsonrpc: "2.0", id: question?.["id"], result: { action: "accept", content: {} } };
    expect((await post(url, answer, { headers: client.headers })).status).toBe(403);
    await call.drop();
  });
});

describe("what is another tenant's", () => {
  test("cannot be told from what is nowhere", async () => {
    const open = await app.admin.tenant({});
    const keyed = await app.admin.tenant({ mode: "key", profiles: { small: {} } });
    const user = JSON.stringify(ADA);
    const names = [open, keyed, `${keyed}/small`, "nobodys", "nobodys/small", "UPPER", "globex"];
    for (const method of ["POST", "GET", "DELETE", "PUT"]) {
      const notifications = await Promise.all(names.map((name) => toldAs(user, app.url(`/${name}`), method)));
      expect(new Set(notifications.map((one) => JSON.stringify(one))).size, JSON.stringify(notifications)).toBe(1);
      expect(notifications[0]).toEqual(expect.arrayContaining([404]));
    }
    const envelopeAnswers = await Promise.all(names.map((name) => toldAs(user, `${app.base}/gateway/${name}`)));
    expect(new Set(envelopeAnswers.map((one) => JSON.stringify(one))).size, JSON.stringify(envelopeAnswers)).toBe(1);
  });

  test("cannot be told from what is nowhere by a user of no tenant", async () => {
    const keyed = await app.admin.tenant({ mode: "key", profiles: { small: {} } });
    const user = JSON.stringify({ id: "guest" });
    const names = [keyed, `${keyed}/small`, "nobodys", "nobodys/small"];
    for (const method of ["POST", "GET", "DELETE", "PUT"]) {
      const notifications = await Promise.all(names.map((name) => toldAs(user, app.url(`/${name}`), method)));
      expect(new Set(notifications.map((one) => JSON.stringify(one))).size, JSON.stringify(notifications)).toBe(1);
      expect(notifications[0]).toEqual(expect.arrayContaining([401]));
    }
  });

  test("is not reached by a key that comes with it", async () => {
    const keyed = await app.admin.tenant({ mode: "key" });
    const { token } = await app.admin.key(keyed);
    const { headers, body } = write("2025-11-25", "tools/list");
    const sent = { headers: { ...headers, ...bearer(token), ...as(ADA) } };
    expect((await post(app.url(`/${keyed}`), body, sent)).status).toBe(404);
  });
});

describe("what the app answers", () => {
  test("is sent as it is, whatever the tenant, and a page of an origin that may ask can read it", async () => {
    const listing = await app.admin.tenant({ allowedOrigins: ["https://pages.example"] });
    for (const name of ["acme", "nobodys", listing]) {
      const { headers, body } = write("2025-11-25", "tools/list");
      const reply = await fetch(app.url(`/${name}`), {
        method: "POST",
        headers: { ...headers, ...as("refused"), origin: "http://localhost:1" },
        body: JSON.stringify(body),
      });
      expect([reply.status, await reply.text()]).toEqual([401, "sign in to the app first"]);
      expect(reply.headers.get("x-refused-by")).toBe("the app");
      expect(reply.headers.get("access-control-allow-origin")).toBe("http://localhost:1");
    }
    const from = async (origin: string) => {
      const reply = await fetch(app.url(`/${listing}`), { headers: { ...as("refused"), origin } });
      return [reply.status, reply.headers.get("access-control-allow-origin")];
    };
    expect(await from("https://pages.example")).toEqual([401, "https://pages.example"]);
    expect(await from("https://other.example")).toEqual([403, null]);
  });

  test.each<[string, string, string]>([
    ["an error", "broken", "the users' database is away"],
    ["nothing, ever", "hanging", "your function did not answer within 10000 ms"],
    ["a body that is gone", "reading", "the request's body was read"],
    ["a body that nobody else can read", "holding", "the request's body was read"],
    ["a circle", "circle", "circular"],
    ["null", "null", "must return an object, a Response or undefined"],
    ["a list", "[]", "must return an object, a Response or undefined"],
    ["no id", "{}", "id must be 1 to 200"],
    ["an empty id", '{"id":""}', "id must be 1 to 200"],
    ["a long id", JSON.stringify({ id: "a".repeat(201) }), "id must be 1 to 200"],
    ["a line break in an id", '{"id":"a\\nb"}', "id must be 1 to 200"],
    ["a tenant that is none", '{"id":"7","tenant":null}', "tenant must be of type string, not null"],
    ["a misspelt tenant", '{"id":"7","tenent":"acme"}', "unknown field tenent"],
    ["a member of every object", '{"id":"7","constructor":"x"}', "unknown field constructor"],
    ["scopes in one text", '{"id":"7","scopes":"reader payer"}', "scopes must be of type list of strings, not string"],
    ["an end in words", '{"id":"7","expires":"tomorrow"}', "expires must be of type number, not string"],
    ["too much", JSON.stringify({ id: "7", claims: { a: "x".repeat(20_000) } }), "at most 16384 characters"],
  ])("that is %s lets nobody in, and the log says why", async (_what, user, why) => {
    const from = app.log().length;
    const refused = ERAS.map(async ({ revision }) => {
      const { headers, body } = write(revision, "tools/list");
      const reply = await post(app.url("/acme"), body, { headers: { ...headers, ...as(user) } });
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(reply.text).not.toContain(why);
    });
    await Promise.all(refused);
    await expect.poll(() => app.log().slice(from)).toContain(why);
  });
});

describe("the app is asked", () => {
  const counted = async (work: () => Promise<unknown>) => {
    const before = await app.requestCount();
    await work();
    return (await app.requestCount()) - before;
  };
  const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const LISTEN = write("2026-07-28", "subscriptions/listen", { notifications: { toolsListChanged: true } });
  const BATCH = [1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));

  test.each<[string, string, RequestInit]>([
    ["a POST", "/mcp/acme", { method: "POST", headers: json, body: JSON.stringify(BATCH[0]) }],
    [
      "a batch",
      "/mcp/acme",
      { method: "POST", headers: { ...json, "mcp-protocol-version": "2025-03-26" }, body: JSON.stringify(BATCH) },
    ],
    ["a POST that is no JSON", "/mcp/acme", { method: "POST", headers: json, body: "{" }],
    [
      "a POST of the wrong type",
      "/mcp/acme",
      { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" },
    ],
    [
      "subscriptions/listen",
      "/mcp/acme",
      { method: "POST", headers: LISTEN.headers, body: JSON.stringify(LISTEN.body) },
    ],
    ["a stream of HTTP+SSE", "/mcp/acme", { headers: { accept: "text/event-stream" } }],
    ["a post to one", "/mcp/acme?sessionId=none", { method: "POST", headers: json, body: JSON.stringify(BATCH[0]) }],
    ["a DELETE", "/mcp/acme", { method: "DELETE", headers: { "mcp-session-id": "none" } }],
    ["the page for people", "/mcp/acme", { headers: { accept: "text/html" } }],
    [
      "/gateway",
      "/gateway/acme",
      { method: "POST", headers: json, body: JSON.stringify({ server_id: "none", ...BATCH[0] }) },
    ],
    ["another tenant", "/mcp/nobodys", { method: "POST", headers: json, body: "{}" }],
  ])("once for %s", async (_what, path, init) => {
    const ask = async () => {
      const abort = new AbortController();
      const headers = { ...(init.headers as Record<string, string>), ...as(ADA) };
      const { status } = await fetch(app.base + path, { ...init, headers, signal: abort.signal });
      abort.abort();
      expect(status).not.toBe(503);
    };
    expect(await counted(ask)).toBe(1);
  });

  test.each<[string, string, RequestInit]>([
    ["health", "/healthz", {}],
    ["readiness", "/readyz", {}],
    ["the admin API", "/admin/v1/tenants", {}],
    ["the metadata of login", "/.well-known/oauth-protected-resource/mcp/acme", {}],
    ["a tenant's own authorization server", "/login/acme/token", { method: "POST", body: "{}" }],
    ["the page of grants", "/account/acme", { headers: { accept: "text/html" } }],
    [
      "what a browser asks before",
      "/mcp/acme",
      { method: "OPTIONS", headers: { origin: "http://localhost:1", "access-control-request-method": "POST" } },
    ],
    ["what is nowhere", "/nothing", {}],
    ["the root", "/", {}],
  ])("never for %s", async (_what, path, init) => {
    const headers = { ...(init.headers as Record<string, string>), ...as("broken") };
    expect(await counted(async () => (await fetch(app.base + path, { ...init, headers })).body?.cancel())).toBe(0);
  });
});

test.each(ERAS)("an answer that comes when its client of era $era has gone does nobody harm", async ({ revision }) => {
  const { headers, body } = write(revision, "tools/call", { name: "open", arguments: { key: `gone ${revision}` } });
  const before = await app.requestCount();
  const abort = new AbortController();
  const init = { method: "POST", headers: { ...headers, ...as("slow") }, body: JSON.stringify(body) };
  const gone = fetch(app.url("/acme"), { ...init, signal: abort.signal });
  await expect.poll(() => app.requestCount()).toBe(before + 1);
  abort.abort();
  await expect(gone).rejects.toThrow();
  const others = [as("slow"), as(ADA)].map(async (user) =>
    whoIs(await mcpClient(revision, app.url("/acme"), {}, user)),
  );
  expect((await Promise.all(others)).map(({ id }) => id)).toEqual(["app slow", "app 7"]);
});

test("a stream of a session is asked about when it is opened, and not while it lasts", async () => {
  const client = await client2025(app.url("/acme"), "2025-11-25", {}, as(ADA));
  const before = await app.requestCount();
  const stream = await openEvents(app.url("/acme"), { headers: client.headers });
  await client2026(app.url("/acme"), {}, {}, as(ADA)).request("tools/call", {
    name: "open",
    arguments: { key: "heard" },
  });
  await stream.message(({ method }) => method === "notifications/resources/list_changed");
  expect((await app.requestCount()) - before).toBe(2);
  await stream.close();
});

test("a user who comes by plain http over the internet is refused unread", async () => {
  const { headers, body } = write("2025-11-25", "tools/list");
  const before = await app.requestCount();
  for (const credential of [as(ADA), as("refused"), { ...as("refused"), ...bearer("none") }, { cookie: "session=x" }]) {
    const sent = { headers: { ...headers, ...credential, host: "mcp.example.com" }, body: JSON.stringify(body) };
    const reply = await sendRaw(app.url("/acme"), sent);
    expect([reply.status, reply.text.includes("Use https")]).toEqual([403, true]);
  }
  expect(await app.requestCount()).toBe(before);
});

test("an id of any length that is allowed has sessions", async () => {
  const id = await app.admin.tenant({ profiles: { ["p".repeat(40)]: {} } });
  const client = await clientAs({ tenant: id, id: "~".repeat(200) }, "2025-11-25", app.url(`/${id}/${"p".repeat(40)}`));
  expect((await client.request("tools/list")).status).toBe(200);
  expect(textOf(await client.request("tools/call", { name: "whoami", arguments: {} }))).toContain("~".repeat(200));
});
