// Every bound of login, met by a request that is made for it, and every place of login held against the limits that hold
// there: made of the table of limits, of the table of login's bounds and of the steps, so that none is left out.

import { describe, expect, onTestFinished, test } from "vitest";
import { LIMIT_NAMES, LIMITS } from "../../src/limits/limit-definitions.ts";
import type { LimitName } from "../../src/tenants/document/tenant-document.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLocalServer } from "../support/local-server.ts";
import { REQUESTS, stepsInSource, type AskedBound } from "../support/login-bounds.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { sendRaw, type RawReply, type RawRequest } from "../support/raw-http.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "bounds");
const REDIRECT = "http://127.0.0.1:4567/callback";
const FORM = { "content-type": "application/x-www-form-urlencoded" };

interface Place {
  readonly method: "GET" | "POST";
  readonly path: string;
}

const both = (path: string): Place[] => [
  { method: "GET", path },
  { method: "POST", path },
];
/** Where steps of login stand. */
const STEPS = [...new Set(stepsInSource().map(({ path }) => path))].flatMap((path) =>
  both(path === "/account" ? "/account/ID" : `/login/ID${path}`),
);
const KNOWN = ["oauth-authorization-server", "openid-configuration"].map((name) => `/.well-known/${name}`);
const METADATA = [...KNOWN.map((path) => `${path}/login/ID`), ...KNOWN.map((path) => `/login/ID${path}`)];
const PLACES = [...STEPS, ...["/.well-known/oauth-protected-resource/mcp/ID", ...METADATA].flatMap(both)];
const SHOWN = (places: readonly Place[]) => places.map(({ method, path }) => [method, path] as const);

let addresses = 0;
/** Nobody has come from there before. */
function newAddress(): { readonly "cf-connecting-ip": string } {
  addresses += 1;
  return { "cf-connecting-ip": `198.18.${addresses >> 8}.${addresses & 255}` };
}

function ask(tenant: string, { method, path }: Place, sent: RawRequest = {}, at = origin): Promise<RawReply> {
  const body = method === "POST" ? { body: sent.body ?? "a=b" } : {};
  return sendRaw(at + path.replace("ID", tenant), {
    method,
    headers: { ...FORM, ...newAddress(), ...sent.headers },
    ...body,
  });
}

async function keyTenant(document: Json = {}): Promise<string> {
  return admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } }, ...document });
}

const NOT_HERE = "nobody signs in by it";
test("the steps are found where they stand", () => {
  expect(STEPS).toContainEqual({ method: "POST", path: "/login/ID/token" });
  expect(STEPS).toContainEqual({ method: "GET", path: "/account/ID" });
});

/** How the limits that tenants have hold at login: each of the table is named, or says why it is none of login's. */
const HOLDS: Readonly<Record<LimitName, "each step" | "each refusal" | { readonly not: string }>> = {
  tenantMessages: "each step",
  addressMessages: "each step",
  addressRefusals: "each refusal",
  principalMessages: { not: NOT_HERE },
  addressToolCalls: { not: NOT_HERE },
  toolCalls: { not: NOT_HERE },
  dailyToolCalls: { not: NOT_HERE },
  principalDailyToolCalls: { not: NOT_HERE },
  concurrentCalls: { not: "a step runs as long as its client document or provider is waited for, which is seconds" },
  streams: { not: NOT_HERE },
  sessions: { not: "a login under way is in the browser's cookie" },
  tenantSessions: { not: "a login under way is in the browser's cookie" },
  bodyBytes: { not: "what login takes is far less: MOST_BYTES" },
  resultBytes: { not: "pages are of what a document may have" },
  resourceBytes: { not: NOT_HERE },
  storedBytes: { not: NOT_HERE },
  resources: { not: NOT_HERE },
  keys: { not: "a grant is no key: MOST_GRANTS" },
};
const eachStep = LIMIT_NAMES.filter((name) => HOLDS[name] === "each step");

describe.each(eachStep)("the tenant's limit %s", (limit) => {
  test.each(SHOWN(STEPS))("holds at %s %s", async (method, path) => {
    const tenant = await keyTenant({ limits: { [limit]: 1 } });
    const headers = newAddress();
    const first = await ask(tenant, { method, path }, { headers });
    const second = await ask(tenant, { method, path }, { headers });
    expect([first.status === 429, second.status, Number(second.headers["retry-after"]) > 0]).toEqual([
      false,
      429,
      true,
    ]);
  });
});

const usual = await sharedWorker("demo-worker");

test.each(SHOWN(PLACES))("a Worker whose author has said nothing counts names of no tenant at %s %s", async (...at) => {
  const [method, path] = at;
  const headers = newAddress();
  const statuses: number[] = [];
  const refusals = () => statuses.filter((status) => status !== 429).length;
  while (!statuses.includes(429) && statuses.length < 1000) {
    const sent = Array.from({ length: 20 }, (_none, more) =>
      ask(`no-${statuses.length + more}`, { method, path }, { headers }, usual.origin),
    );
    statuses.push(...(await Promise.all(sent)).map(({ status }) => status));
  }
  const { initial } = LIMITS.addressRefusals;
  expect(refusals()).toBeGreaterThanOrEqual(initial);
  expect(refusals()).toBeLessThan(2.5 * initial);
  expect((await ask("no-more", { method, path }, {}, usual.origin)).status).not.toBe(429);
});

/** Of what is sent: what is taken at the bound, and refused beyond it. */
const CASES: Readonly<Record<AskedBound, (most: number) => Promise<void>>> = {
  "http/login-feature MOST_BYTES": async (most) => {
    const tenant = await keyTenant();
    const posted = STEPS.filter(({ method }) => method === "POST");
    for (const place of posted) {
      const at = async (bytes: number, parts: number) => {
        const text = `a=${"x".repeat(bytes - 2)}`;
        const body = parts === 1 ? text : [text.slice(0, bytes / 2), text.slice(bytes / 2)];
        return (await ask(tenant, place, { body })).status;
      };
      const statuses = [await at(most, 1), await at(most + 1, 1), await at(most + 1, 2)];
      expect([place.path, statuses[0] === 413, ...statuses.slice(1)]).toEqual([place.path, false, 413, 413]);
    }
  },
  "login/asked-beyond MOST_MESSAGES": async (most) => {
    const issuers = [{ issuer: "https://login.example.com" }];
    const scopes = { public: { tools: ["whoami"] } };
    const auth = { issuers, anonymous: { scopes: ["public"] } };
    const tenant = await admin.tenant({ mode: "mixed", scopes, auth });
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "whoami_later", arguments: {} } };
    const statusOf = async (before: number) => {
      const pings = Array.from({ length: before }, (_none, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
      const headers = { "content-type": "application/json", ...newAddress() };
      return (await sendRaw(`${origin}/mcp/${tenant}`, { headers, body: JSON.stringify([...pings, call]) })).status;
    };
    expect([await statusOf(most - 1), await statusOf(most)]).toEqual([401, 400]);
  },
  "login/oauth-scopes MOST_FIRST": async (most) => {
    const named = async (scopes: number) => {
      const names = Array.from({ length: scopes }, (_none, at) => `s${at}`);
      const values = Object.fromEntries(names.map((name) => [name, [name]]));
      const issuers = [{ issuer: "https://login.example.com", scopes: { claim: "scope", values } }];
      const own = Object.fromEntries(names.map((name) => [name, { tools: [`${name}*`] }]));
      const tenant = await admin.tenant({ mode: "oauth", scopes: own, auth: { issuers } });
      const { headers } = await listAs(`${origin}/mcp/${tenant}`, "2026-07-28");
      return /scope="([^"]*)"/.exec(String(headers["www-authenticate"]))?.[1]?.split(" ").length;
    };
    expect([await named(most), await named(most + 1)]).toEqual([most, most]);
  },
  "login/server/find-client MOST_DOCUMENT_BYTES": async (most) => {
    const { put, statusOf } = await documentWorld();
    const { id: fits } = put((id) => padded(documentOf(id), most));
    const { id: over } = put((id) => padded(documentOf(id), most + 1));
    expect([await statusOf(fits), await statusOf(over)]).toEqual([200, 400]);
  },
  "login/server/client-metadata LONGEST_NAME": async (most) => {
    const tenant = await keyTenant();
    const { answer } = await registered(tenant, { client_name: "n".repeat(most + 1) });
    expect(answer["client_name"]).toBe("n".repeat(most));
  },
  "login/server/client-metadata MOST_REDIRECTS": async (most) => {
    const tenant = await keyTenant();
    const uris = Array.from({ length: most + 1 }, (_none, at) => `${REDIRECT}/${at}`);
    const { status } = await registered(tenant, { redirect_uris: uris.slice(1) });
    const { status: over, answer } = await registered(tenant, { redirect_uris: uris });
    expect([status, over, answer["error"]]).toEqual([201, 400, "invalid_redirect_uri"]);
    const { put, statusOf } = await documentWorld();
    const { id } = put((url) => documentOf(url, { redirect_uris: [...uris.slice(1), REDIRECT] }));
    expect([await statusOf(id, uris[1]), await statusOf(id, REDIRECT)]).toEqual([200, 400]);
  },
  "login/server/find-client LONGEST_ID": async (most) => {
    const { put, statusOf, requests } = await documentWorld();
    const { id: fits } = put(documentOf, most);
    const { id: over } = put(documentOf, most + 1);
    expect([await statusOf(fits), await statusOf(over)]).toEqual([200, 400]);
    expect(requests.map((path) => fits.endsWith(path))).toEqual([true]);
  },
  "login/server/find-client MOST_A_MINUTE": async (most) => {
    const tenant = await keyTenant();
    const from = newAddress();
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length < 5 * most)
      statuses.push((await registered(tenant, {}, from)).status);
    expectMet(statuses, most, 201);
    expect((await registered(tenant)).status).toBe(201);
    const { put, statusOf } = await documentWorld();
    const read: number[] = [];
    while (read.at(-1) !== 400 && read.length < 5 * most) read.push(await statusOf(put(documentOf).id, REDIRECT, from));
    expectMet(read, most, 200);
    expect(await statusOf(put(documentOf).id)).toBe(200);
    expectMet(await allowing(most), most, 303);
  },
  "login/server/authorization-server MOST_STEPS": async (most) => {
    const tenant = await keyTenant();
    const headers = newAddress();
    const statuses: number[] = [];
    // As many flow back while it takes: a machine that is busy asks for longer.
    while (!statuses.includes(429) && statuses.length < 5 * most) {
      const sent = Array.from({ length: 100 }, (_none, at) => STEPS[at % STEPS.length] as Place);
      const answered = await Promise.all(sent.map((place) => ask(tenant, place, { headers })));
      // Registering has a narrower bound of its own.
      statuses.push(
        ...answered.flatMap(({ status }, at) => (sent[at]?.path.endsWith("/register") === true ? [] : [status])),
      );
    }
    expect(statuses).toContain(429);
    expect(statuses.length).toBeGreaterThan(most * 0.8);
    for (const place of STEPS) {
      const told: number[] = [];
      // One that flowed back in the meantime is taken.
      while (told.at(-1) !== 429 && told.length < 60) told.push((await ask(tenant, place, { headers })).status);
      expect([place, told.at(-1)]).toEqual([place, 429]);
      expect([place, (await ask(tenant, place)).status === 429]).toEqual([place, false]);
    }
  },
  "login/server/client-metadata LONGEST_REDIRECT": async (most) => {
    const tenant = await keyTenant();
    const of = (length: number) => registered(tenant, { redirect_uris: [`${REDIRECT}?`.padEnd(length, "x")] });
    expect([(await of(most)).status, (await of(most + 1)).status]).toEqual([201, 400]);
  },
  "login/server/register LONGEST": async (most) => {
    const tenant = await keyTenant();
    const of = (length: number) =>
      ask(tenant, { method: "POST", path: "/login/ID/register" }, { body: padded(metadata(), length) });
    const [fits, over] = [await of(most), await of(most + 1)];
    expect([fits.status, over.status, over.text.includes(String(most))]).toEqual([201, 400, true]);
  },
  "login/server/transaction MOST_BEGUN": async (most) => {
    const [tenant, other] = [await keyTenant(), await keyTenant()];
    const { token: key } = await admin.key(tenant);
    const browser = new LoginBrowser();
    const begin = async (at: string) =>
      browser.go(authorizeAt(at, String((await registered(at)).answer["client_id"])), { headers: newAddress() });
    await begin(other);
    const pages = [];
    for (let at = 0; at < 3 * most; at += 1) pages.push(await begin(tenant));
    const of = (id: string) => [...browser.cookies.keys()].filter((name) => name.includes(`-${id}-`)).length;
    expect([of(tenant), of(other)]).toEqual([most, 1]);
    const statuses: number[] = [];
    for (const page of pages) statuses.push((await browser.submit(page, { key })).status);
    expect(statuses).toEqual(pages.map((_page, at) => (at < 2 * most ? 400 : 200)));
  },
  "login/server/transaction MOST_SEALED": async (most) => {
    const tenant = await keyTenant();
    const { answer } = await registered(tenant, {});
    const longest = { taken: 0 };
    // What is sealed is longer than the state, by its other members and by a third.
    for (let length = 1000; length <= most; length += 100) {
      const url = authorizeAt(tenant, String(answer["client_id"]), REDIRECT, "s".repeat(length));
      const { status, headers } = await new LoginBrowser().go(url, { headers: newAddress() });
      const [cookie = ""] = headers.getSetCookie();
      const [pair = ""] = cookie.split(";");
      expect([length, status, pair !== ""]).toEqual([length, status === 200 ? 200 : 400, status === 200]);
      // https://datatracker.ietf.org/doc/html/rfc6265#section-6.1
      expect(Buffer.byteLength(cookie)).toBeLessThanOrEqual(4096);
      longest.taken = Math.max(longest.taken, pair.split("=")[1]?.length ?? 0);
    }
    expect(longest.taken).toBeGreaterThan(most - 200);
    expect(longest.taken).toBeLessThanOrEqual(most);
  },
};

/** As many flow back as the time that they take lets. */
function expectMet(statuses: readonly number[], most: number, taken: number): void {
  expect(statuses.length).toBeGreaterThan(most);
  expect(statuses.length).toBeLessThan(3 * most);
  expect([...new Set(statuses.slice(0, most))]).toEqual([taken]);
  expect(statuses.at(-1)).not.toBe(taken);
}

const metadata = (more: Json = {}): Json => ({
  client_name: "A client",
  redirect_uris: [REDIRECT],
  token_endpoint_auth_method: "none",
  ...more,
});
const documentOf = (id: string, more: Json = {}): Json => metadata({ client_id: id, ...more });
const padded = (answer: unknown, length: number): string => JSON.stringify(answer).padEnd(length, " ");

async function registered(tenant: string, more: Json = {}, from = newAddress()) {
  const body = JSON.stringify(metadata(more));
  const { status, text } = await ask(tenant, { method: "POST", path: "/login/ID/register" }, { body, headers: from });
  return { status, answer: JSON.parse(text) as Json };
}

function authorizeAt(tenant: string, client: string, redirect = REDIRECT, state = "s"): string {
  const query = {
    response_type: "code",
    client_id: client,
    redirect_uri: redirect,
    code_challenge: "c".repeat(43),
    code_challenge_method: "S256",
    state,
  };
  return `${origin}/login/${tenant}/authorize?${new URLSearchParams(query)}`;
}

/** A host with documents of clients, and a tenant at which each begins to sign in. */
async function documentWorld() {
  const tenant = await keyTenant();
  const documents = new Map<string, string>();
  const requests: string[] = [];
  const server = await startLocalServer(({ url = "" }, response) => {
    requests.push(url);
    response.writeHead(200, { "content-type": "application/json" }).end(documents.get(url));
  });
  onTestFinished(() => server.stop());
  const put = (say: (id: string) => unknown, length = 60) => {
    const path = `/${documents.size}-`.padEnd(length - server.origin.length, "x");
    const id = server.origin + path;
    const answer = say(id);
    documents.set(path, typeof answer === "string" ? answer : JSON.stringify(answer));
    return { id };
  };
  const statusOf = async (id: string, redirect = REDIRECT, from = newAddress()) =>
    (await new LoginBrowser().go(authorizeAt(tenant, id, redirect), { headers: from })).status;
  return { put, statusOf, requests };
}

/** One person who allows the same again and again. */
async function allowing(most: number): Promise<number[]> {
  const tenant = await keyTenant();
  const { token } = await admin.key(tenant);
  const { answer } = await registered(tenant, {});
  const browser = new LoginBrowser();
  const asked = await browser.go(authorizeAt(tenant, String(answer["client_id"])), { headers: newAddress() });
  const consent = await browser.submit(asked, { key: token });
  const cookies = [...browser.cookies];
  const statuses: number[] = [];
  while (statuses.at(-1) !== 429 && statuses.length < 5 * most) {
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    statuses.push((await browser.submit(consent, { decision: "allow" })).status);
  }
  return statuses;
}

test.each(Object.entries(REQUESTS) as [AskedBound, number][])("the bound %s holds at %i", (bound, most) =>
  CASES[bound](most),
);
