// A tenant's own authorization server as somebody hostile would use it: a client that registers under any name, a person of
// the same tenant, whoever sends links around or listens. Each is a way that once was open.

import * as oauth from "oauth4webapi";
import { expect, test } from "vitest";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { authorizeUrl, beginning, errorOf, redeem, refresh, REDIRECT, signIn } from "../support/oauth-client.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "attacked");
const REVISION = "2026-07-28";
const FORM = { "content-type": "application/x-www-form-urlencoded" };

async function keyTenant(login: Json = {}, document: Json = {}) {
  const whole = (more: Json = {}) => ({
    mode: "key+oauth",
    auth: { login: { via: "key", ...login, ...more } },
    ...document,
  });
  const id = await admin.tenant(whole());
  return { id, url: `${origin}/mcp/${id}`, key: await admin.key(id), whole };
}

const toolsOf = async (url: string, token: string): Promise<string[]> => {
  const { text } = await listAs(url, REVISION, token);
  const { result } = JSON.parse(text) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name).toSorted();
};

const PLACES = [
  ["GET", "/login/ID/authorize"],
  ["GET", "/login/ID/callback?state=x"],
  ["POST", "/login/ID/sign-in"],
  ["POST", "/login/ID/consent"],
  ["POST", "/login/ID/token"],
  ["POST", "/login/ID/register"],
  ["POST", "/login/ID/revoke"],
  ["GET", "/login/ID/jwks"],
  ["GET", "/login/ID/.well-known/oauth-authorization-server"],
  ["GET", "/account/ID"],
  ["POST", "/account/ID"],
  ["GET", "/.well-known/oauth-protected-resource/mcp/ID"],
  ["POST", "/.well-known/oauth-protected-resource/mcp/ID"],
  ["GET", "/.well-known/oauth-authorization-server/login/ID"],
] as const;

const ask = (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body = "a=b") =>
  sendRaw(origin + path, { method, headers: { ...FORM, ...headers }, ...(method === "POST" && { body }) });

test("where others can listen no page, form, token or metadata of login is served", async () => {
  const { id } = await keyTenant();
  const host = "mcp.example.com";
  for (const [method, place] of PLACES) {
    const path = place.replace("ID", id);
    const { status, text, headers } = await ask(method, path, { host });
    expect([path, status, headers["set-cookie"]]).toEqual([path, 403, undefined]);
    expect(text).toContain("Use https");
    expect((await ask(method, path, { host, "x-forwarded-proto": "https" })).text).not.toContain("Use https");
  }
});

test("a tenant that takes keys alone is told from none at no place of login", async () => {
  const keyed = await admin.tenant({ mode: "key", auth: { login: { via: "key" } }, profiles: { small: {} } });
  const nobody = keyed.replace(/.$/, (last) => (last === "x" ? "y" : "x"));
  const places = [...PLACES, ["GET", "/.well-known/oauth-protected-resource/mcp/ID/small"] as const];
  for (const [given, place] of places) {
    for (const method of [given, "OPTIONS", "PUT", "DELETE", "HEAD"]) {
      const answerOf = async (name: string) => {
        const { status, text, headers } = await ask(method, place.replace("ID", name), { origin: "https://a.example" });
        return JSON.stringify([status, text, comparableHeaders(headers)]).replaceAll(name, "NAME");
      };
      expect([method, place, await answerOf(keyed)]).toEqual([method, place, await answerOf(nobody)]);
    }
  }
});

test("a link that names this host leads to no place of the web before anybody was asked", async () => {
  const evil = "https://evil.example.com/login";
  const { url } = await keyTenant();
  const login = await beginning(url, { redirect_uris: [evil, REDIRECT] });
  const browser = new LoginBrowser();
  const at = async (more: Record<string, string>) => browser.go(await authorizeUrl(login, more));
  for (const more of [{ response_type: "token" }, { resource: evil }, { code_challenge: "" }]) {
    const { status, location, text } = await at({ ...more, redirect_uri: evil });
    expect([status, location, text.includes("evil.example.com")]).toEqual([400, null, false]);
    expect((await at(more)).location).toContain(REDIRECT);
  }
  // The same where the provider cannot be reached, which the sender of the link may know.
  const away = { via: "oidc", issuer: `${origin}/nowhere`, clientId: "a" };
  const id = await admin.tenant({ mode: "oauth", auth: { login: away } });
  const other = await beginning(`${origin}/mcp/${id}`, { redirect_uris: [evil] });
  const page = await browser.go(await authorizeUrl(other, { redirect_uri: evil }));
  expect([page.status, page.location]).toEqual([400, null]);
});

test("a client that operators take off their list is refused with the tokens that it has", async () => {
  const { id, url, key, whole } = await keyTenant();
  const login = await beginning(url);
  const tokens = await redeem(login, await signIn(login, key.token));
  expect((await listAs(url, REVISION, tokens.access_token)).status).toBe(200);
  await admin.apply(id, whole({ clients: ["https://client.example.com/document"] }));
  expect((await listAs(url, REVISION, tokens.access_token)).status).toBe(401);
  expect(await errorOf(refresh(login, tokens.refresh_token))).toBe("invalid_client");
  await admin.apply(id, whole({ clients: [login.client.client_id] }));
  expect((await listAs(url, REVISION, tokens.access_token)).status).toBe(200);
});

test("what somebody left out stays so when the name under which they saw it is another tool's or nobody's", async () => {
  const profile = (rename: Json) => ({ profiles: { p: { tools: { rename } } } });
  const { id, url, key, whole } = await keyTenant({}, profile({ whoami: { name: "shown" } }));
  const at = `${url}/p`;
  const login = await beginning(at);
  for (const later of [["on"], []]) {
    const browser = new LoginBrowser();
    const consent = await browser.submit(await browser.go(await authorizeUrl(login)), { key: key.token });
    expect(consent.text).toContain('value="shown"');
    const { location } = await browser.submit(consent, { tool: "whoami_later", later, decision: "allow" });
    const { access_token: token } = await redeem(login, location ?? "");
    expect(await toolsOf(at, token)).toEqual(["whoami_later"]);
    for (const rename of [{}, { whoami: { name: "again" } }]) {
      await admin.apply(id, { ...whole(), ...profile(rename) });
      expect(await toolsOf(at, token)).toEqual(["whoami_later"]);
    }
    await admin.apply(id, { ...whole(), ...profile({ whoami: { name: "shown" } }) });
  }
});

test("whoever has a code without its verifier ends nothing by it, before it is redeemed or after", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const location = await signIn(login, key.token);
  const stolen = () => errorOf(redeem(login, location, oauth.generateRandomCodeVerifier()));
  expect(await stolen()).toBe("invalid_grant");
  const { access_token: token } = await redeem(login, location);
  expect(await stolen()).toBe("invalid_grant");
  expect((await listAs(url, REVISION, token)).status).toBe(200);
});

test("a client that changes while somebody decides is shown to them anew, and gets no code where it was", async () => {
  const clientId = "http://127.0.0.1:9/client.json";
  const other = "http://127.0.0.1:4567/other";
  const pinned = (name: string, redirects: string[]) => ({
    pinned: { [clientId]: { client_id: clientId, client_name: name, redirect_uris: redirects } },
  });
  const { id, url, key, whole } = await keyTenant(pinned("Before", [REDIRECT]));
  const login = { ...(await beginning(url)), client: { client_id: clientId } };
  const browser = new LoginBrowser();
  const consent = await browser.submit(await browser.go(await authorizeUrl(login)), { key: key.token });
  expect(consent.text).toContain("Before");
  await admin.apply(id, whole(pinned("After", [REDIRECT, other])));
  const again = await browser.submit(consent, { decision: "allow" });
  expect([again.location, again.text.includes("After")]).toEqual([null, true]);
  await admin.apply(id, whole(pinned("After", [other])));
  const gone = await browser.submit(again, { decision: "allow" });
  expect([gone.status, gone.location]).toEqual([400, null]);
});

test("one address asks a tenant's object no more often than the steps of login may, and another tenant's as before", async () => {
  const [{ id }, { id: other }] = [await keyTenant(), await keyTenant()];
  const at = (tenant: string) => ask("POST", `/login/${tenant}/token`, {}, `client_id=${crypto.randomUUID()}`);
  const replies: Awaited<ReturnType<typeof at>>[] = [];
  const refused = () => replies.filter(({ status }) => status !== 401);
  // As many flow back while it takes: a machine that is busy asks for longer.
  while (refused().length === 0 && replies.length < 6000)
    replies.push(...(await Promise.all(Array.from({ length: 100 }, () => at(id)))));
  expect(replies.length).toBeGreaterThanOrEqual(1200);
  expect(refused().length).toBeGreaterThan(0);
  for (const { status, headers } of refused())
    expect([status, Number(headers["retry-after"]) > 0]).toEqual([429, true]);
  expect((await at(other)).status).toBe(401);
});

test("a person cannot fill the audit log by allowing clients without end", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const browser = new LoginBrowser();
  const consent = await browser.submit(await browser.go(await authorizeUrl(login)), { key: key.token });
  const cookies = [...browser.cookies];
  const statuses: number[] = [];
  for (let at = 0; at < 200 && !statuses.includes(429); at += 1) {
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    statuses.push((await browser.submit(consent, { decision: "allow" })).status);
  }
  expect([statuses[0], statuses.at(-1), statuses.length > 30]).toEqual([303, 429, true]);
});

test("whoever is somebody else leaves nothing by which the next at the browser decides for them", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const browser = new LoginBrowser();
  const consent = await browser.submit(await browser.go(await authorizeUrl(login)), { key: key.token });
  const again = await browser.submit(consent, { decision: "switch" });
  expect(again.text).toContain('name="key"');
  const back = await browser.submit(consent, { decision: "allow" });
  expect([back.status, back.location]).toEqual([400, null]);
  expect((await browser.submit(again, { key: key.token })).text).toContain("Allow");
});

test("a token goes with what it stood on: the mode, the way to sign in, the profile, the tenant of that name", async () => {
  const profiles = { p: {} };
  const { id, url, key, whole } = await keyTenant({}, { profiles });
  const login = await beginning(`${url}/p`);
  const tokens = await redeem(login, await signIn(login, key.token));
  const status = async (at = `${url}/p`) => (await listAs(at, REVISION, tokens.access_token)).status;
  expect([await status(), await status(url)]).toEqual([200, 401]);
  const other = { login: { via: "product", productUrl: "https://app.example.com/in", productSecret: "{{secret:P}}" } };
  for (const [document, refused] of [
    [{ ...whole(), mode: "key" }, 401],
    [{ ...whole(), auth: other }, 401],
    [
      {
        ...whole(),
        mode: "mixed",
        auth: { issuers: [{ issuer: "https://a.example.com" }], anonymous: { scopes: [] } },
      },
      401,
    ],
    [{ ...whole(), profiles: {} }, 404],
  ] as const) {
    await admin.apply(id, document);
    expect([document.mode, await status(), await status(url)]).toEqual([document.mode, refused, 401]);
    if (refused === 401) expect(await errorOf(refresh(login, tokens.refresh_token))).not.toBe("none");
    await admin.apply(id, whole());
    expect(await status()).toBe(200);
  }
  await admin.ask("DELETE", `/tenants/${id}`);
  await admin.ask("POST", "/tenants", { id, document: whole() });
  expect(await status()).toBe(401);
  expect(await errorOf(refresh(login, tokens.refresh_token))).toBe("invalid_client");
});
