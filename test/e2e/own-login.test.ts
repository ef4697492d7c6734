// A tenant's own authorization server, end to end: from a refusal to a call, by a strict client and a browser.

import * as oauth from "oauth4webapi";
import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import {
  authorizeUrl,
  beginning,
  errorOf,
  insecure,
  redeem,
  REDIRECT,
  refresh,
  register,
  signIn,
} from "../support/oauth-client.ts";
import { listAs, LOGIN_HOST, startLoginWorker, whoamiAs } from "../support/login-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "own");
const REVISION = "2026-07-28";

async function keyTenant(login: Json = {}, document: Json = {}) {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key", ...login } }, ...document });
  return { id, url: `${origin}/mcp/${id}`, key: await admin.key(id) };
}

describe.each(ERAS)("in era $era", ({ revision }) => {
  test("a client finds the server, registers, has a person paste their key and decide, and calls as them", async () => {
    const { url, key } = await keyTenant();
    const login = await beginning(url);
    expect(login.resource).toBe(url);
    const tokens = await redeem(login, await signIn(login, key.token));
    expect(tokens.token_type).toBe("bearer");
    expect(tokens.expires_in).toBeGreaterThan(3500);
    const who = { kind: "oauth", id: `key ${key.id}`, subject: key.id };
    expect(await whoamiAs(url, revision, tokens.access_token)).toMatchObject(who);
    expect(await whoamiAs(url, revision, tokens.access_token, "whoami_later")).toMatchObject(who);
    const next = await refresh(login, tokens.refresh_token);
    expect(await whoamiAs(url, revision, next.access_token)).toMatchObject(who);
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(login.server, login.client, oauth.None(), next.refresh_token ?? "", insecure),
    );
    for (const { access_token: token } of [tokens, next]) {
      const refused = await listAs(url, revision, token);
      expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
        401,
        expect.stringContaining("it has expired or was revoked"),
      ]);
    }
    expect(await errorOf(refresh(login, next.refresh_token))).toBe("invalid_grant");
  });
});

const listed = async (url: string, token: string) => {
  const { status, headers } = await listAs(url, REVISION, token);
  return [status, /error_description="([^"]+)"/.exec(String(headers["www-authenticate"]))?.[1]];
};

test("a code is good once, and bringing it again ends what came of it", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const location = await signIn(login, key.token);
  const { access_token: token } = await redeem(login, location);
  expect(await listed(url, token)).toEqual([200, undefined]);
  expect(await errorOf(redeem(login, location))).toBe("invalid_grant");
  expect(await listed(url, token)).toEqual([401, "it has expired or was revoked"]);
});

test("a code with another verifier, for another redirect, or of another client is refused", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const location = await signIn(login, key.token);
  expect(await errorOf(redeem(login, location, oauth.generateRandomCodeVerifier()))).toBe("invalid_grant");
  const other = await register(login.server);
  expect(await errorOf(redeem({ ...login, client: other }, location))).toBe("invalid_grant");
  expect(await errorOf(redeem({ ...login, resource: `${url}/x` }, location))).toBe("invalid_target");
  expect(await redeem(login, location)).toHaveProperty("access_token");
});

test("nothing of one tenant is worth anything at another", async () => {
  const [one, two] = [await keyTenant(), await keyTenant()];
  const login = await beginning(one.url);
  const other = await beginning(two.url);
  const browser = new LoginBrowser();
  const page = await browser.go(await authorizeUrl(login));
  // A cookie of one, under the name that the other looks for.
  for (const [name, value] of browser.cookies) browser.cookies.set(name.replace(one.id, two.id), value);
  const moved = { ...page, text: page.text.replaceAll(one.id, two.id) };
  expect(await browser.submit(moved, { key: two.key.token })).toMatchObject({ status: 400, location: null });
  expect((await browser.submit(page, { key: two.key.token })).text).toContain("not a key of this tenant");
  const location = await signIn(login, one.key.token);
  const asOther = { ...login, server: { ...login.server, token_endpoint: other.server.token_endpoint ?? "" } };
  expect(await errorOf(redeem(asOther, location))).toBe("invalid_client");
  const tokens = await redeem(login, location);
  expect(await listed(two.url, tokens.access_token)).toEqual([401, "it has expired or was revoked"]);
  expect(await errorOf(refresh({ ...other, server: other.server }, tokens.refresh_token))).toBe("invalid_grant");
  expect(await listed(one.url, tokens.access_token)).toEqual([200, undefined]);
});

test("a token is for the endpoint that was asked for, and no other one of the tenant", async () => {
  const { url, key } = await keyTenant({}, { profiles: { small: {} } });
  for (const [asked, other] of [
    [url, `${url}/small`],
    [`${url}/small`, url],
  ] as const) {
    const login = await beginning(asked);
    const { access_token: token } = await redeem(login, await signIn(login, key.token));
    expect(await listed(asked, token)).toEqual([200, undefined]);
    expect(await listed(`${asked}/`, token)).toEqual([200, undefined]);
    expect(await listed(other, token)).toEqual([401, "it is for another audience"]);
  }
});

test("fifty refreshes with one token at once have the same answer, and nobody is logged out", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const first = await redeem(login, await signIn(login, key.token));
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(login, first.refresh_token)));
  expect(new Set(answers.map(({ access_token: access, refresh_token: next }) => `${access} ${next}`)).size).toBe(1);
  for (const token of [first.access_token, answers[0]?.access_token ?? ""]) {
    expect(await listed(url, token)).toEqual([200, undefined]);
  }
  expect(await refresh(login, answers[0]?.refresh_token)).toHaveProperty("access_token");
});

test("a wrong client or redirect is answered with a page, and every other error goes back to the client with state and issuer", async () => {
  const { url } = await keyTenant();
  const login = await beginning(url);
  const browser = new LoginBrowser();
  const at = async (more: Record<string, string>) => browser.go(await authorizeUrl(login, more));
  const evil = "https://evil.example/callback";
  for (const wrong of [{ client_id: "nobody" }, { redirect_uri: evil }, { redirect_uri: `${REDIRECT}/more` }]) {
    const page = await at(wrong);
    expect([page.status, page.location]).toEqual([400, null]);
    expect(page.text).not.toContain("evil.example");
  }
  const errors = [
    { more: { response_type: "token" }, error: "unsupported_response_type" },
    { more: { code_challenge_method: "plain" }, error: "invalid_request" },
    { more: { code_challenge: "" }, error: "invalid_request" },
    { more: { resource: evil }, error: "invalid_target" },
  ];
  for (const { more, error } of errors) {
    const back = new URL((await at(more)).location ?? "");
    expect(Object.fromEntries(back.searchParams)).toMatchObject({
      error,
      state: login.state,
      iss: login.server.issuer,
    });
    expect(back.origin + back.pathname).toBe(REDIRECT);
  }
  expect((await at({ redirect_uri: "http://127.0.0.1:1/callback" })).status).toBe(200);
});

test("a form of another page, of another browser, or without its cookie decides nothing", async () => {
  const { url, key } = await keyTenant();
  const login = await beginning(url);
  const browser = new LoginBrowser();
  const asked = await browser.go(await authorizeUrl(login));
  const forged = { origin: "https://evil.example" };
  expect((await browser.submit(asked, { key: key.token }, forged)).status).toBe(403);
  expect((await browser.submit(asked, { key: key.token }, { origin, "sec-fetch-site": "cross-site" })).status).toBe(
    403,
  );
  expect((await new LoginBrowser().submit(asked, { key: key.token })).status).toBe(400);
  const consent = await browser.submit(asked, { key: key.token });
  expect(consent.text).not.toContain(key.token);
  expect((await browser.submit(consent, { decision: "allow" }, forged)).status).toBe(403);
  expect((await new LoginBrowser().submit(consent, { decision: "allow" })).status).toBe(400);
  const denied = new URL((await browser.submit(consent, { decision: "deny" })).location ?? "");
  expect(denied.searchParams.get("error")).toBe("access_denied");
  expect((await browser.submit(consent, { decision: "allow" })).status).toBe(400);
});

test("the server is found in every place where clients look, on a tenant's hostname at the root", async () => {
  const { id } = await keyTenant();
  const issuer = `${origin}/login/${id}`;
  const names = ["oauth-authorization-server", "openid-configuration"];
  for (const place of names.flatMap((name) => [
    `${origin}/.well-known/${name}/login/${id}`,
    `${issuer}/.well-known/${name}`,
  ])) {
    const response = await fetch(place, { headers: { origin: "https://inspector.example" } });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(await response.json()).toMatchObject({ issuer, token_endpoint: `${issuer}/token` });
  }
  const host = `${id}.${LOGIN_HOST}`;
  for (const path of names.map((name) => `/.well-known/${name}`)) {
    const reply = await sendRaw(origin + path, { method: "GET", headers: { host } });
    expect(JSON.parse(reply.text)).toMatchObject({ issuer: `http://${host}`, token_endpoint: `http://${host}/token` });
  }
  const metadata = await sendRaw(`${origin}/.well-known/oauth-protected-resource`, {
    method: "GET",
    headers: { host },
  });
  expect(JSON.parse(metadata.text)).toMatchObject({ authorization_servers: [`http://${host}`] });
  expect((await sendRaw(`${origin}/jwks`, { method: "GET", headers: { host } })).status).toBe(200);
  for (const path of [
    "/jwks",
    "/authorize",
    `/login/${id}`,
    `/login/${id}/account`,
    `/login/${id}/nothing`,
    "/account",
  ]) {
    expect([path, (await fetch(origin + path)).status]).toEqual([path, 404]);
  }
});

test("a tenant that takes no tokens of its own has no server, like a name that is none", async () => {
  const { id: keyed } = { id: await admin.tenant({ mode: "key" }) };
  const open = await admin.tenant();
  for (const id of [keyed, open, "no-such-tenant"]) {
    for (const path of [
      `/login/${id}/authorize`,
      `/.well-known/oauth-authorization-server/login/${id}`,
      `/account/${id}`,
    ]) {
      const { status } = await fetch(origin + path);
      expect([path, [401, 404].includes(status)]).toEqual([path, true]);
    }
  }
});

test("a client with a secret needs it for tokens, in either way", async () => {
  const { url, key } = await keyTenant();
  for (const [method, auth] of [
    ["client_secret_basic", oauth.ClientSecretBasic],
    ["client_secret_post", oauth.ClientSecretPost],
  ] as const) {
    const login = await beginning(url, { token_endpoint_auth_method: method });
    const secret = login.client["client_secret"] as string;
    const answer = oauth.validateAuthResponse(
      login.server,
      login.client,
      new URL(await signIn(login, key.token)),
      login.state,
    );
    const ask = async (by: oauth.ClientAuth) => {
      const { server, client, verifier } = login;
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        by,
        answer,
        REDIRECT,
        verifier,
        insecure,
      );
      return oauth.processAuthorizationCodeResponse(server, client, response);
    };
    expect(await errorOf(ask(oauth.None()))).toBe("invalid_client");
    expect(await errorOf(ask(auth(`${secret}x`)))).toMatch(/invalid_client|www-authenticate/i);
    expect(await ask(auth(secret))).toHaveProperty("refresh_token");
  }
});

test("a suspended person is refused with a token, and a suspended tenant signs nobody in", async () => {
  const { id, url, key } = await keyTenant();
  const login = await beginning(url);
  const { access_token: token } = await redeem(login, await signIn(login, key.token));
  await admin.suspend(id, "principal", `key ${key.id}`, "on leave");
  expect(await listed(url, token)).toEqual([403, undefined]);
  await admin.suspend(id, "tenant", undefined, "closed");
  expect((await fetch(await authorizeUrl(login), { redirect: "manual" })).status).toBe(503);
  expect(await errorOf(refresh(login, "x"))).not.toBe("none");
});

test("the log has no token, key, code or cookie in it", () => {
  expect(worker.log()).not.toMatch(/tn[atr]_\w{10}|[?&]code=|tenantry-login-/);
});
