// The clients of a tenant's own authorization server: those that people use, as they ask; documents that change, lie or
// cannot be read; redirects to elsewhere; and what a person leaves out at consent.

import { describe, expect, onTestFinished, test } from "vitest";
import {
  allow,
  authorizeUrl,
  discover,
  newAsking,
  redeem,
  refresh,
  resourceAs,
  sendJson,
  toConsent,
} from "../support/login-requests.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { KNOWN_CLIENTS, type KnownClient } from "../support/known-clients.ts";
import { startLocalServer } from "../support/local-server.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { listAs, startLoginWorker, whoamiAs } from "../support/login-tenant.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";

// No name leads anywhere: what would be asked on the internet cannot be read.
const nowhere = await startLocalServer((_request, response) => response.end('{"Status":3}'));
const worker = await startLoginWorker({ OUTBOUND_RESOLVER: `${nowhere.origin}/dns-query` });
const { origin } = worker;
const admin = fixtureAdmin(origin, "clients");
const REDIRECT = "http://127.0.0.1:4567/callback";

async function keyTenant(login: Json = {}, document: Json = {}) {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key", ...login } }, ...document });
  return { id, url: `${origin}/mcp/${id}`, key: (await admin.key(id)).token };
}

/** A host of documents; each has its URL for an id unless it says another. */
async function documentHost() {
  const documents = new Map<string, Json>();
  const requests: string[] = [];
  const server = await startLocalServer(({ url = "" }, response) => {
    requests.push(url);
    const found = documents.get(url);
    response.writeHead(found ? 200 : 403, { "content-type": found ? "application/json" : "text/html" });
    response.end(JSON.stringify(found ?? {}));
  });
  onTestFinished(() => server.stop());
  const put = (path: string, answer: Json) => {
    documents.set(path, { client_id: server.origin + path, ...answer });
    return server.origin + path;
  };
  return { requests, put, drop: (path: string) => documents.delete(path), origin: server.origin };
}

/** From a refused call to a call as the person who pasted their key, and on with the next token. */
async function replay(client: KnownClient, { url, key }: { url: string; key: string }, documentId?: string) {
  const found = await discover(url);
  const { registration, redirect, asks, resource, refreshResource } = client;
  const registered = registration && (await sendJson(found.server["registration_endpoint"] ?? "", registration));
  expect(registered?.status ?? 201).toBe(201);
  const id = documentId ?? String(registered?.answer["client_id"]);
  const asking = newAsking(found, id, redirect);
  const named = resourceAs(resource, found.resource);
  const answer = await allow(authorizeUrl(asking, [...Object.entries(asks), ...Object.entries(named)]), key);
  const { code = "", ...rest } = Object.fromEntries(answer.searchParams);
  expect(rest).toEqual({ state: asking.state, iss: found.server["issuer"] });
  expect(answer.href.startsWith(`${redirect}?`)).toBe(true);
  const tokens = await redeem(asking, code, named);
  expect([tokens.status, tokens.answer["token_type"]]).toEqual([200, "Bearer"]);
  const next = await refresh(
    asking,
    String(tokens.answer["refresh_token"]),
    resourceAs(refreshResource, found.resource),
  );
  expect(next.status).toBe(200);
  return { id, tokens: [tokens, next].map(({ answer: result }) => String(result["access_token"])) };
}

describe.each(KNOWN_CLIENTS)("$name", (client) => {
  const { document } = client;

  test("signs in with what it sends, and calls in both eras", async () => {
    const pinned = document && { pinned: { [document.id]: { client_id: document.id, ...document.document } } };
    const tenant = await keyTenant(pinned);
    const { tokens } = await replay(client, tenant, document?.id);
    for (const { revision } of ERAS) {
      for (const token of tokens) expect(await whoamiAs(tenant.url, revision, token)).toMatchObject({ kind: "oauth" });
    }
  });
});

test.each(KNOWN_CLIENTS.filter(({ document }) => document))(
  "$name signs in with its document as its host has it, which is read once",
  async (client) => {
    const host = await documentHost();
    const id = host.put("/oauth/client.json", client.document?.document ?? {});
    await replay(client, await keyTenant(), id);
    expect(host.requests).toEqual(["/oauth/client.json"]);
  },
);

const CLIENT_DOCUMENT = {
  client_name: "App",
  redirect_uris: [REDIRECT, "https://app.example/cb"],
  token_endpoint_auth_method: "none",
};

test("a client whose document changes after consent has to ask for it again, and is shown as it is now", async () => {
  const id = "https://app.example.com/client.json";
  const login = (answer: Json) => ({ via: "key", pinned: { [id]: { client_id: id, ...CLIENT_DOCUMENT, ...answer } } });
  const { id: tenant, url, key } = await keyTenant(login({}));
  const asking = newAsking(await discover(url), id, REDIRECT);
  const tokens = async () => {
    const { code = "" } = Object.fromEntries((await allow(authorizeUrl(asking), key)).searchParams);
    return redeem(asking, code);
  };
  const first = await tokens();
  const again = await refresh(asking, String(first.answer["refresh_token"]));
  expect(again.status).toBe(200);
  const late = Object.fromEntries((await allow(authorizeUrl(asking), key)).searchParams);
  const changed = { client_name: "Another app", redirect_uris: [REDIRECT, "https://evil.example/cb"] };
  await admin.apply(tenant, { mode: "key+oauth", auth: { login: login(changed) } });
  const refused = await refresh(asking, String(again.answer["refresh_token"]));
  expect([refused.status, refused.answer["error"]]).toEqual([400, "invalid_grant"]);
  expect(await redeem(asking, late["code"] ?? "")).toMatchObject({ status: 400, answer: { error: "invalid_grant" } });
  const { page } = await toConsent(authorizeUrl(asking), key);
  expect(page.text).toContain("Another app");
  expect((await tokens()).status).toBe(200);
});

test("a client of the same host gets nothing by another's grant", async () => {
  const { url, key } = await keyTenant();
  const host = await documentHost();
  const asking = newAsking(await discover(url), host.put("/client.json", CLIENT_DOCUMENT), REDIRECT);
  const { code = "" } = Object.fromEntries((await allow(authorizeUrl(asking), key)).searchParams);
  const other = { ...asking, id: host.put("/other.json", CLIENT_DOCUMENT) };
  expect(await redeem(other, code)).toMatchObject({ status: 400, answer: { error: "invalid_grant" } });
  const { code: next = "" } = Object.fromEntries((await allow(authorizeUrl(asking), key)).searchParams);
  const tokens = await redeem(asking, next);
  const stolen = await refresh(other, String(tokens.answer["refresh_token"]));
  expect([tokens.status, stolen.status, stolen.answer["error"]]).toEqual([200, 400, "invalid_grant"]);
});

describe("what a client may not ask is told to the person, and never sent on", () => {
  const WRONG = [
    "https://app.example/cb/evil",
    "https://evil.example/cb",
    "https://app.example@evil.example/cb",
    "https://app.example\\@evil.example/cb",
    "https://app.example/cb#evil",
    "https://app.example/cb?next=evil",
    "https://аpp.example/cb",
    "https://app.example:8443/cb",
    "https://app.example/cb/../evil",
    "http://localhost:4567/callback",
    "http://127.0.0.1:4567/callback/evil",
    "javascript:alert(1)",
    "https://app.example/cb\r\nlocation: https://evil.example",
  ];

  test("a redirect that is none of the client's own, however alike it looks", async () => {
    const { url } = await keyTenant();
    const found = await discover(url);
    const { answer } = await sendJson(found.server["registration_endpoint"] ?? "", CLIENT_DOCUMENT);
    for (const redirect of WRONG) {
      const page = await new LoginBrowser().go(authorizeUrl(newAsking(found, String(answer["client_id"]), redirect)));
      expect([redirect, page.status, page.location]).toEqual([redirect, 400, null]);
      expect(page.text).not.toMatch(/(?:href|action|src)="[^"]*evil/);
    }
  });

  test("a redirect that is there twice, whichever is the client's own", async () => {
    const { url } = await keyTenant();
    const found = await discover(url);
    const { answer } = await sendJson(found.server["registration_endpoint"] ?? "", CLIENT_DOCUMENT);
    for (const [one = "", two = ""] of [
      [REDIRECT, "https://evil.example/cb"],
      ["https://evil.example/cb", REDIRECT],
    ]) {
      const asking = newAsking(found, String(answer["client_id"]), one);
      const page = await new LoginBrowser().go(authorizeUrl(asking, [["redirect_uri", two]]));
      expect([page.status, page.location]).toEqual([400, null]);
    }
  });

  test("an id whose document lies elsewhere, leads inside, redirects, is too long or cannot be read", async () => {
    const { url } = await keyTenant();
    const found = await discover(url);
    const server = await startLocalServer(({ url: path }, response) => {
      const json = { "content-type": "application/json" };
      if (path === "/redirects") response.writeHead(302, { location: "/long" });
      else response.writeHead(path === "/page" ? 403 : 200, path === "/page" ? {} : json);
      // 50 MB, if anybody reads them.
      if (path === "/long") for (let at = 0; at < 50; at += 1) response.write(" ".repeat(1_000_000));
      response.end(JSON.stringify({ client_id: `${server.origin}/other`, ...CLIENT_DOCUMENT }));
    });
    onTestFinished(() => server.stop());
    const ids = ["/redirects", "/long", "/page", "/lies"].map((path) => server.origin + path);
    for (const id of [
      ...ids,
      "https://10.0.0.1/client.json",
      "http://169.254.169.254/x",
      "https://nowhere.example.com/x",
    ]) {
      const page = await new LoginBrowser().go(authorizeUrl(newAsking(found, id, REDIRECT)));
      expect([id, page.status, page.location]).toEqual([id, 400, null]);
    }
  });

  test("a client that operators do not list, and registering at all", async () => {
    const host = await documentHost();
    const id = host.put("/client.json", CLIENT_DOCUMENT);
    const { url } = await keyTenant({ clients: [id] });
    const found = await discover(url);
    expect(found.server).not.toHaveProperty("registration_endpoint");
    const { status, answer } = await sendJson(`${found.server["issuer"]}/register`, CLIENT_DOCUMENT);
    expect([status, answer["error"]]).toEqual([403, "access_denied"]);
    const near = host.put("/client.json?x", CLIENT_DOCUMENT);
    expect(await new LoginBrowser().go(authorizeUrl(newAsking(found, near, REDIRECT)))).toMatchObject({ status: 400 });
    expect(host.requests).toEqual([]);
    expect(await new LoginBrowser().go(authorizeUrl(newAsking(found, id, REDIRECT)))).toMatchObject({ status: 200 });
  });
});

test("a document with a pinned copy that cannot be used is refused, and says why", async () => {
  const refused = (pinned: Json) => keyTenant({ pinned }).then(String, String);
  expect(await refused({ "https://app.example.com/client.json": CLIENT_DOCUMENT })).toContain(
    "client_id must be the URL",
  );
  expect(await refused({ "https://10.0.0.1/a": { client_id: "https://10.0.0.1/a", ...CLIENT_DOCUMENT } })).toContain(
    "must be named by",
  );
  expect(await refused({ app: { client_id: "app", ...CLIENT_DOCUMENT } })).toContain("must be named by the URL");
});

describe.each(ERAS)("in era $era", ({ revision }) => {
  test("a tool that a person leaves out is neither listed nor called, and their other clients have it", async () => {
    const { url, key } = await keyTenant();
    const found = await discover(url);
    const { answer } = await sendJson(found.server["registration_endpoint"] ?? "", CLIENT_DOCUMENT);
    const tokenWith = async (fields: Record<string, string | string[]>) => {
      const asking = newAsking(found, String(answer["client_id"]), REDIRECT);
      const { code = "" } = Object.fromEntries((await allow(authorizeUrl(asking), key, fields)).searchParams);
      return String((await redeem(asking, code)).answer["access_token"]);
    };
    const [all, less] = [await tokenWith({}), await tokenWith({ tool: ["whoami"] })];
    const seen = async (token: string) => {
      const { text } = await listAs(url, revision, token);
      return (JSON.parse(text) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);
    };
    expect([await seen(all), await seen(less)]).toEqual([["whoami", "whoami_later"], ["whoami"]]);
    const client = await mcpClient(revision, url, {}, bearer(less));
    const call = async (name: string) => (await client.request("tools/call", { name, arguments: {} })).text;
    expect(await call("whoami_later")).toContain("Unknown tool: whoami_later");
    expect(await call("whoami")).not.toContain("Unknown");
    expect(await whoamiAs(url, revision, all, "whoami_later")).toMatchObject({ kind: "oauth" });
  });
});

test("consent names the client and where it is answered, and warns of a program on the person's own machine", async () => {
  const { url, key } = await keyTenant();
  const found = await discover(url);
  const { answer } = await sendJson(found.server["registration_endpoint"] ?? "", CLIENT_DOCUMENT);
  for (const [redirect, shown] of [
    [REDIRECT, "127.0.0.1:4567"],
    ["https://app.example/cb", "app.example"],
  ] as const) {
    const { page } = await toConsent(authorizeUrl(newAsking(found, String(answer["client_id"]), redirect)), key);
    expect(page.text).toContain(shown);
    expect(page.text).toContain("App");
  }
});

test("the log has no secret and no code in it", () => {
  expect(worker.log()).not.toMatch(/client_secret|tn[art]_[0-9A-Za-z]{10}_/);
});
