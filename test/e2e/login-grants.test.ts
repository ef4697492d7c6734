// What people allowed at a tenant's own authorization server: they see and end it on a page of theirs, operators by the
// admin API, and what ended is refused everywhere when that is acknowledged.

import { describe, expect, onTestFinished, test } from "vitest";
import { listedName } from "../../src/gateway/listed-name.ts";
import { authorizeClient } from "../support/authorized-client.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, type Page } from "../support/login-browser.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";
import { namesIn } from "../support/gateway-tenant.ts";
import { mcpClient, type Json } from "../support/mcp-client.ts";
import { startUpstream } from "../support/upstream.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "grants");
const REVISION = "2026-07-28";

async function keyTenant(document: Json = {}) {
  const id = await admin.tenant({
    mode: "key+oauth",
    auth: { login: { via: "key" } },
    title: `The ${origin}`,
    ...document,
  });
  const urls = { issuer: `${origin}/login/${id}`, account: `${origin}/account/${id}`, url: `${origin}/mcp/${id}` };
  return { id, ...urls, key: await admin.key(id, { name: "Ada" }) };
}

const statusAs = async (url: string, token: string) => (await listAs(url, REVISION, token)).status;
const grantsOf = async (id: string, query = "") =>
  (await admin.ask("GET", `/tenants/${id}/grants${query}`)) as unknown as { items: Json[]; cursor?: string };

/** Signed in to the page of grants. */
async function openAccount(account: string, key: string): Promise<{ browser: LoginBrowser; page: Page }> {
  const browser = new LoginBrowser();
  const signedIn = await browser.submit(await browser.go(account), { key });
  expect([signedIn.status, signedIn.location]).toEqual([303, account]);
  return { browser, page: await browser.go(account) };
}

describe("the page of grants", () => {
  test("shows a person their own grants, and ends one everywhere", async () => {
    const { id, issuer, account, url, key } = await keyTenant();
    const other = await admin.key(id, { name: "Bob" });
    const [mine, kept, theirs] = await Promise.all([
      authorizeClient({ issuer, name: "Mine <b>" }, key.token, { tool: ["whoami"] }),
      authorizeClient({ issuer, name: "Kept" }, key.token),
      authorizeClient({ issuer, name: "Theirs" }, other.token),
    ]);
    const { browser, page } = await openAccount(account, key.token);
    expect(page.status).toBe(200);
    expect(page.text).toContain("<bdi>Mine &#60;b&#62;</bdi>");
    expect(page.text).toContain("All tools but whoami_later");
    expect(page.text).toContain("Kept");
    expect(page.text).not.toContain("Theirs");
    const { items } = await grantsOf(id);
    const grant = (name: string) => String(items.find(({ client }) => (client as Json)["name"] === name)?.["id"]);
    const ended = await browser.submit(page, { end: grant("Mine <b>") });
    expect(ended.text).toContain("Access has ended.");
    expect(ended.text).not.toContain("Mine");
    expect(await statusAs(url, mine.access)).toBe(401);
    // Of somebody else: as if there were none.
    expect((await browser.submit(page, { end: grant("Theirs") })).text).toContain("Access had already ended.");
    for (const { access } of [kept, theirs]) expect(await statusAs(url, access)).toBe(200);
    // Twice, by a finger that was too fast.
    expect((await browser.submit(page, { end: grant("Mine <b>") })).text).toContain("Access had already ended.");
  });

  test("names a tool of an upstream as policy does, and what is allowed and left out stays so", async () => {
    const up = await startUpstream({ "a.b": () => ({ content: [] }), "a/b": () => ({ content: [] }) });
    onTestFinished(() => up.close());
    const { id, issuer, account, url, key } = await keyTenant({ upstreams: { up: { url: up.url } } });
    await admin.ask("POST", `/tenants/${id}/upstreams/up/refresh?wait=1`);
    const [dotted, slashed] = [listedName("up", "a.b"), listedName("up", "a/b")];
    const none: string[] = [];
    const only = await authorizeClient({ issuer, name: "Only" }, key.token, { tool: [dotted], later: none });
    const but = await authorizeClient({ issuer, name: "But" }, key.token, {
      tool: ["whoami", "whoami_later", slashed],
    });
    const listed = async ({ access }: { access: string }) =>
      namesIn((await mcpClient(REVISION, url, {}, bearer(access)).then((one) => one.request("tools/list"))).result);
    expect(await listed(only)).toEqual([dotted]);
    expect(await listed(but)).toEqual(["whoami", "whoami_later", slashed]);
    const { text } = (await openAccount(account, key.token)).page;
    expect(text).toContain("Only up__a.b");
    expect(text).toContain("All tools but up__a.b");
  });

  test("is shown to nobody without signing in, and not after signing out", async () => {
    const { account, key } = await keyTenant();
    const { browser, page } = await openAccount(account, key.token);
    expect(page.text).toContain("Signed in as <bdi>the key");
    const cookies = new Map(browser.cookies);
    expect((await browser.submit(page, { out: "1" })).location).toBe(`${account}?signed-out`);
    expect((await browser.go(account)).text).toContain('name="key"');
    expect((await new LoginBrowser().go(account)).text).toContain('name="key"');
    expect([...cookies.keys()]).toEqual([expect.stringMatching(/^tenantry-login-grants-\d+-account$/)]);
  });

  test("opens with no cookie of another tenant", async () => {
    const [one, two] = await Promise.all([keyTenant(), keyTenant()]);
    const { browser } = await openAccount(one.account, one.key.token);
    for (const [name, value] of browser.cookies) browser.cookies.set(name.replace(one.id, two.id), value);
    expect(browser.cookies.size).toBe(2);
    expect((await browser.go(two.account)).text).toContain('name="key"');
    expect((await browser.go(one.account)).text).toContain("Sign out");
  });

  test("takes forms of its own alone", async () => {
    const { id, issuer, account, url, key } = await keyTenant();
    const { access } = await authorizeClient({ issuer }, key.token);
    const { browser, page } = await openAccount(account, key.token);
    const [grant] = (await grantsOf(id)).items;
    const end = { end: String(grant?.["id"]) };
    const sent = [
      [end, { origin: "https://evil.example" }],
      [end, { origin: "null", "sec-fetch-site": "cross-site" }],
      [end, { origin, "sec-fetch-site": "same-site" }],
      [end, {}],
      [{ ...end, nonce: "guessed" }, { origin }],
    ] as const;
    for (const [fields, headers] of sent) {
      const refused = await browser.submit(page, fields, headers);
      expect([refused.status, refused.text.includes("sent from another page")]).toEqual([403, true]);
    }
    expect(await statusAs(url, access)).toBe(200);
    // What is refused names nothing that ended, and neither does a link.
    expect((await browser.go(`${account}?end=${end.end}&out=1`)).text).toContain("Sign out");
    expect(await statusAs(url, access)).toBe(200);
  });

  test("is sent with headers that keep it from frames, stores and scripts", async () => {
    const { account } = await keyTenant();
    const { headers } = await new LoginBrowser().go(account);
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("set-cookie")).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  });
});

describe("operators", () => {
  test("list grants, all in pages or of one principal, and end one", async () => {
    const { id, issuer, url, key } = await keyTenant();
    const other = await admin.key(id, { name: "Bob" });
    const mine = await authorizeClient({ issuer, name: "Mine" }, key.token, { tool: "whoami", later: [] });
    const theirs = await authorizeClient({ issuer, name: "Theirs" }, other.token);
    const first = await grantsOf(id, "?limit=1");
    const second = await grantsOf(id, `?limit=1&cursor=${first.cursor}`);
    expect([first.items.length, second.items.length, second.cursor]).toEqual([1, 1, undefined]);
    const of = await grantsOf(id, `?principal=${encodeURIComponent(`key ${key.id}`)}`);
    expect(of.items).toMatchObject([
      {
        id: expect.stringMatching(/^[\w][\w-]{21}$/),
        client: { id: mine.id, name: "Mine" },
        principal: `key ${key.id}`,
        person: { name: "Ada", email: null },
        url,
        profile: null,
        scopes: null,
        deny: ["whoami_later"],
        allow: ["whoami"],
        toolsOnly: false,
        created: expect.stringMatching(/Z$/),
        lastUsed: expect.stringMatching(/Z$/),
        expires: expect.stringMatching(/Z$/),
      },
    ]);
    const path = `/tenants/${id}/grants/${String(of.items[0]?.["id"])}`;
    const done = await admin.ask("DELETE", path);
    expect(done).toMatchObject({ changed: true, effectiveAt: expect.any(String) });
    expect([await statusAs(url, mine.access), await statusAs(url, theirs.access)]).toEqual([401, 200]);
    expect(await admin.ask("DELETE", path)).toMatchObject({ changed: false });
    const { items } = (await admin.ask("GET", `/tenants/${id}/audit`)) as unknown as { items: Json[] };
    expect(items.map(({ action }) => action)).toContain("grant.end");
  });

  test("list clients and remove one, which ends all that it was granted", async () => {
    const { id, issuer, url, key } = await keyTenant();
    const one = await authorizeClient({ issuer, name: "One" }, key.token);
    const two = await authorizeClient({ issuer, name: "Two" }, key.token);
    const list = async () => (await admin.ask("GET", `/tenants/${id}/login-clients`)) as unknown as { items: Json[] };
    expect((await list()).items.map(({ name, kind }) => [name, kind].join(" ")).toSorted()).toEqual([
      "One registered",
      "Two registered",
    ]);
    const path = `/tenants/${id}/login-clients/${encodeURIComponent(one.id)}`;
    expect(await admin.ask("DELETE", path)).toMatchObject({ changed: true });
    expect([await statusAs(url, one.access), await statusAs(url, two.access)]).toEqual([401, 200]);
    expect(await admin.ask("DELETE", path)).toMatchObject({ changed: false });
    expect((await list()).items.map(({ name }) => name)).toEqual(["Two"]);
    const body = { grant_type: "refresh_token", client_id: one.id, refresh_token: one.refresh };
    const refreshed = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(body) });
    expect([400, 401]).toContain(refreshed.status);
  });

  test("suspend a principal, whose tokens are refused with the note until they are resumed", async () => {
    const { id, issuer, url, key } = await keyTenant();
    const other = await admin.key(id, { name: "Bob" });
    const mine = await authorizeClient({ issuer }, key.token);
    const theirs = await authorizeClient({ issuer }, other.token);
    await admin.suspend(id, "principal", key.id, "Left the company");
    const refused = await listAs(url, REVISION, mine.access);
    expect([refused.status, refused.text.includes("Left the company")]).toEqual([403, true]);
    expect(await statusAs(url, theirs.access)).toBe(200);
    await admin.ask("DELETE", `/tenants/${id}/suspensions/principal/${key.id}`);
    expect(await statusAs(url, mine.access)).toBe(200);
  });

  test("suspend principals that may sign in where the tenant says, and no others", async () => {
    const login = { via: "oidc", issuer: "https://login.example.com/realm", clientId: "tenantry" };
    const { id } = await keyTenant({ auth: { login } });
    const suspend = (name: string) => admin.suspend(id, "principal", name, "Left").then(String, String);
    expect(await suspend("oauth https://login.example.com/realm 00u1")).toBe("[object Object]");
    for (const name of [
      "oauth https://login.example.com/realm2 00u1",
      "oauth https://login.example.com 00u1",
      "oauth  x",
    ]) {
      expect(await suspend(name)).toContain("there is no principal");
    }
  });
});
