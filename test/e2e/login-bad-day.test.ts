// A tenant's own authorization server while its object is moved or away: a client that can ask again is told so in words of
// OAuth, keeps its login, and gets tokens as soon as there are any. Two Workers over one storage stand for two isolates.

import { beforeAll, expect, test } from "vitest";
import { LoginBrowser } from "../support/login-browser.ts";
import { authorizeUrl, beginning, redeem, signIn, type LoggingIn } from "../support/oauth-client.ts";
import { sendRaw, write, type RawReply } from "../support/raw-http.ts";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

interface Person {
  readonly tenant: string;
  readonly key: string;
  readonly login: LoggingIn;
}

let made = 0;
async function newPerson(maxStalenessMs = 1000): Promise<Person> {
  const { one } = workers;
  const tenant = `bad-day-${(made += 1)}`;
  const document = { mode: "key+oauth", auth: { login: { via: "key" } }, maxStalenessMs };
  await one.admin("POST", "/tenants", { id: tenant, document });
  const { token } = (await one.admin("POST", `/tenants/${tenant}/keys`, { name: "test" })) as { token: string };
  return { tenant, key: token, login: await beginning(`${one.origin}/mcp/${tenant}`) };
}

/** At the first Worker, which has the name by which its clients know it. */
async function posted({ tenant, login }: Person, step: string, form: Record<string, string>): Promise<RawReply> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams({ client_id: login.client.client_id, ...form }).toString();
  return sendRaw(`${workers.one.origin}/login/${tenant}/${step}`, { headers, body });
}

const refreshed = (person: Person, token: string) =>
  posted(person, "token", { grant_type: "refresh_token", refresh_token: token });

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

function expectAway(reply: RawReply): void {
  expect([reply.status, reply.headers["access-control-allow-origin"]]).toEqual([503, "*"]);
  expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0);
  expect(JSON.parse(reply.text)).toMatchObject({ error: "temporarily_unavailable" });
}

/** As a client that asks again as it is told to. */
async function untilGiven(ask: () => Promise<RawReply>): Promise<Tokens> {
  for (let tries = 0; tries < 10; tries += 1) {
    const reply = await ask();
    if (reply.status === 200) return JSON.parse(reply.text) as Tokens;
    expectAway(reply);
  }
  throw new Error("no tokens");
}

async function statusOf({ tenant }: Person, token: string): Promise<number> {
  const { headers, body } = write("2026-07-28", "tools/list");
  const init = { headers: { ...headers, authorization: `Bearer ${token}` }, body: JSON.stringify(body) };
  return (await sendRaw(`${workers.one.origin}/mcp/${tenant}`, init)).status;
}

test("a step whose answer is lost is done once, and nobody loses what came of it", async () => {
  const { one } = workers;
  for (const method of ["keepClient", "client", "pasted", "addGrant"]) await one.loseAnswer(`login.${method}`);
  const person = await newPerson();
  const code = new URL(await signIn(person.login, person.key)).searchParams.get("code") ?? "";
  await one.loseAnswer("login.redeem");
  const form = { grant_type: "authorization_code", code, code_verifier: person.login.verifier };
  const first = tokensIn(await posted(person, "token", form));
  await one.loseAnswer("login.refresh");
  const second = tokensIn(await refreshed(person, first.refresh_token));
  const third = tokensIn(await refreshed(person, second.refresh_token));
  expect(await statusOf(person, third.access_token)).toBe(200);
  const { items } = (await one.admin("GET", `/tenants/${person.tenant}/grants`)) as { items: unknown[] };
  expect(items).toHaveLength(1);
});

function tokensIn({ status, text }: RawReply): Tokens {
  expect([status, text]).toEqual([200, text]);
  return JSON.parse(text) as Tokens;
}

function paused(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test.each([
  ["while the lease lasts", 10_000, 0, 200],
  ["when the lease has ended", 1000, 1200, 503],
])("a client keeps its login through an authority that is away, %s", async (_when, lasts, waits, status) => {
  const { one } = workers;
  const person = await newPerson(lasts);
  const tokens = (await redeem(person.login, await signIn(person.login, person.key))) as unknown as Tokens;
  expect(await statusOf(person, tokens.access_token)).toBe(200);
  await one.cutOff();
  try {
    await paused(waits);
    expectAway(await refreshed(person, tokens.refresh_token));
    expectAway(await posted(person, "revoke", { token: tokens.access_token }));
    const browser = new LoginBrowser();
    const page = await browser.go(await authorizeUrl(person.login));
    expect(page.status).toBe(503);
    expect(await statusOf(person, tokens.access_token)).toBe(status);
  } finally {
    await one.reconnect();
  }
  expect((await untilGiven(() => refreshed(person, tokens.refresh_token))).access_token).toMatch(/^tna_/);
});

test("a tenant that was made anew under its name knows no client, code, token or half a login of the one before", async () => {
  const { one } = workers;
  const person = await newPerson();
  const { tenant, login } = person;
  const tokens = (await redeem(login, await signIn(login, person.key))) as unknown as Tokens;
  const code = new URL(await signIn(login, person.key)).searchParams.get("code") ?? "";
  const browser = new LoginBrowser();
  const begun = await browser.go(await authorizeUrl(login));
  await one.admin("DELETE", `/tenants/${tenant}`);
  await one.admin("POST", "/tenants", { id: tenant, document: { mode: "key+oauth", auth: { login: { via: "key" } } } });
  const { token: key } = (await one.admin("POST", `/tenants/${tenant}/keys`, { name: "test" })) as { token: string };
  const form = { grant_type: "authorization_code", code, code_verifier: login.verifier };
  const refused = await Promise.all([posted(person, "token", form), refreshed(person, tokens.refresh_token)]);
  expect(refused.map(({ status, text }) => [status, (JSON.parse(text) as { error: string }).error])).toEqual([
    [401, "invalid_client"],
    [401, "invalid_client"],
  ]);
  expect(await statusOf(person, tokens.access_token)).toBe(401);
  expect((await browser.submit(begun, { key })).status).toBe(400);
  expect(await one.admin("GET", `/tenants/${tenant}/grants`)).toEqual({ items: [] });
});
