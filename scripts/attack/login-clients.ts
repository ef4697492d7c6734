// Clients of a tenant's own authorization server that nobody should meet: redirects to elsewhere, ids whose documents lie
// inside or have no end, and registrations without end.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { authorizeClient, beginLogin, CALLBACK } from "../../test/support/authorized-client.ts";
import { isPage, LoginBrowser, textOf } from "../../test/support/login-browser.ts";
import { rowOf, type Attack, type Row } from "./report.ts";
import { REVISIONS, type Answer, type Json, type Target } from "./target.ts";
import { INSIDE, notationsOf } from "./way-out.ts";

export const loginClients: Attack = {
  name: "login clients",
  classes: ["a door to the inside", "small input, large work", "rows that only grow"],
  run: async ({ lab }) => {
    if (!lab) return [];
    const tenant = await lab.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
    const at = { lab, path: `/login/${tenant}` };
    return [
      await redirects(at),
      await insideIds(at),
      await endless(at),
      await flood(at),
      await unticked(lab),
      await unverified(lab),
    ];
  },
};

interface Place {
  readonly lab: Target;
  /** Of the tenant's issuer. */
  readonly path: string;
}

const OWN = "https://app.example/cb";
const CHALLENGE = createHash("sha256").update("v".repeat(43)).digest("base64url");

function register({ lab, path }: Place, said: object, address: string): Promise<Answer> {
  const headers = { "content-type": "application/json", "cf-connecting-ip": address };
  return lab.send(`${path}/register`, { method: "POST", headers, body: JSON.stringify(said) });
}

function authorize({ lab, path }: Place, id: string, uris: readonly string[]): Promise<Answer> {
  const query = new URLSearchParams({ client_id: id, response_type: "code", code_challenge_method: "S256" });
  query.append("code_challenge", CHALLENGE);
  for (const one of uris) query.append("redirect_uri", one);
  return lab.send(`${path}/authorize?${query}`, { redirect: "manual" });
}

/** Whether the person was told, and sent nowhere. */
function isTold({ status, headers }: Answer): boolean {
  return status === 400 && !headers.has("location");
}

async function redirects(at: Place): Promise<Row> {
  const { json } = await register(at, { redirect_uris: [OWN, "http://127.0.0.1/cb"] }, "192.0.2.10");
  const id = String(json.client_id);
  const tried = [
    [`${OWN}/evil`],
    [`${OWN}?next=evil`],
    [`${OWN}#evil`],
    [`${OWN}/../evil`],
    [`${OWN}%00`],
    ["https://evil.example/cb"],
    ["https://app.example@evil.example/cb"],
    ["https://app.example\\@evil.example/cb"],
    ["https://app.example.evil.example/cb"],
    ["https://app.example:8443/cb"],
    ["https://\u0430pp.example/cb"],
    ["https://app\u3002example/cb"],
    ["http://app.example/cb"],
    ["//app.example/cb"],
    ["http://localhost/cb"],
    ["http://127.0.0.1.evil.example/cb"],
    ["http://127.0.0.1:1@evil.example/cb"],
    ["http://127.0.0.1:1/evil"],
    ["javascript:alert(1)"],
    ["data:text/html,x"],
    ["https://app.example/cb\r\nlocation: https://evil.example"],
    [OWN, "https://evil.example/cb"],
    ["https://evil.example/cb", OWN],
  ];
  const gaveWay: string[] = [];
  for (const uris of tried) {
    const answer = await authorize(at, id, uris);
    if (!isTold(answer)) gaveWay.push(`${uris.join(" and ")}: ${answer.status}`);
  }
  if ((await authorize(at, id, [OWN])).status !== 200) gaveWay.push("its own is refused");
  const what = `${tried.length} redirect URIs that are none of the client's`;
  return rowOf("an authorization server redirects to anywhere", what, gaveWay, "400 each, and no redirect");
}

async function insideIds(at: Place): Promise<Row> {
  const { peer } = at.lab;
  peer.take();
  const gaveWay: string[] = [];
  const hosts = [...INSIDE, ...peer.addresses]
    .flatMap(notationsOf)
    .concat("[fe80::1]", "[fc00::1]", "[::]", "inside.peer");
  const ids = hosts.flatMap((host) =>
    ["http", "https"].map((scheme) => `${scheme}://${host}:${peer.port}/client.json`),
  );
  for (const id of ids) {
    const answer = await authorize(at, id, [OWN]);
    if (!isTold(answer)) gaveWay.push(`${id}: ${answer.status}`);
  }
  for (const { url } of peer.take()) gaveWay.push(`was asked for ${url}`);
  return rowOf(
    "a client's id is a door to the inside",
    `${ids.length} ids with addresses of the inside`,
    gaveWay,
    "nobody was asked",
  );
}

/** What runs beside the Worker may be asked, as it was started: so a document of 50 MB can be offered there. */
async function endless(at: Place): Promise<Row> {
  const { peer } = at.lab;
  const gaveWay: string[] = [];
  for (const path of ["/endless", "/silent", "/round"]) {
    const answer = await authorize(at, peer.origin + path, [OWN]);
    if (!isTold(answer)) gaveWay.push(`${path}: ${answer.status}`);
    if (answer.ms > 9000) gaveWay.push(`${path}: after ${Math.round(answer.ms)} ms`);
  }
  return rowOf(
    "a client's document has no end",
    "one without an end, none at all, a circle",
    gaveWay,
    "400 within 9 s",
  );
}

async function flood(at: Place): Promise<Row> {
  const answers: number[] = [];
  for (let turn = 0; turn < 100; turn += 1)
    answers.push((await register(at, { redirect_uris: [OWN] }, "192.0.2.11")).status);
  const count = answers.filter((status) => status === 201).length;
  const other = await register(at, { redirect_uris: [OWN] }, "192.0.2.12");
  const gaveWay = [
    ...(count > 40 ? [`${count} of 100 were kept`] : []),
    ...answers.filter((status) => status !== 201 && status !== 429).map(String),
    ...(other.status === 201 ? [] : [`another address: ${other.status}`]),
  ];
  return rowOf(
    "registering has no end",
    "100 registrations of one address, one of another",
    gaveWay,
    `${count} kept, then 429`,
  );
}

/** A person lets a client in, and lets it have nothing. */
async function unticked(lab: Target): Promise<Row> {
  const prompts = { secret: { messages: [{ role: "user", content: { type: "text", text: "reached" } }] } };
  const tenant = await lab.tenant({ mode: "key+oauth", auth: { login: { via: "key" } }, prompts });
  const uri = "note://salaries";
  const init = { method: "PUT", headers: { authorization: `Bearer ${lab.adminToken}` }, body: "reached" };
  await lab.send(`/admin/v1/tenants/${tenant}/resources/content?uri=${encodeURIComponent(uri)}`, init);
  const { token } = await lab.key(tenant);
  const none = { tool: [], later: [], read: [] };
  const { access } = await authorizeClient({ issuer: `${lab.origin}/login/${tenant}` }, token, none);
  const gaveWay: string[] = [];
  for (const revision of REVISIONS) {
    for (const kind of ["tools", "prompts", "resources"]) {
      const { status, json } = await lab.call(tenant, `${kind}/list`, {}, { key: access, revision });
      const items = (json.result as Json | undefined)?.[kind];
      if (status !== 200 || !Array.isArray(items) || items.length > 0)
        gaveWay.push(`${kind}: ${JSON.stringify(items)}`);
    }
    const reads = [
      await lab.call(tenant, "resources/read", { uri }, { key: access, revision }),
      await lab.call(tenant, "prompts/get", { name: "secret" }, { key: access, revision }),
    ];
    for (const { text } of reads) if (text.includes("reached")) gaveWay.push(text.slice(0, 120));
  }
  return rowOf("31 a client that may do nothing reads", "lists and reads after an empty consent", gaveWay, "nothing");
}

/** Anybody may write the boss's address into their profile at a provider that does not look. */
async function unverified(lab: Target): Promise<Row> {
  const boss = "boss@acme.example";
  const gaveWay: string[] = [];
  let more: Json = {};
  const provider = createServer(({ url = "" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://provider");
    if (pathname === "/authorize") {
      const state = searchParams.get("state") ?? "";
      const back = `${searchParams.get("redirect_uri")}?${new URLSearchParams({ code: "c", state })}`;
      return void response.writeHead(302, { location: back }).end();
    }
    const body = pathname === "/user" ? { id: 7, email: boss, ...more } : { access_token: "t", token_type: "Bearer" };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const at = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const urls = { authorizeUrl: `${at}/authorize`, tokenUrl: `${at}/token`, userUrl: `${at}/user` };
  const login = { via: "oauth2", clientId: "us", ...urls, scopes: { claim: "email", values: { [boss]: ["boss"] } } };
  const tenant = await lab.tenant({ mode: "oauth", auth: { login }, scopes: { boss: { tools: ["*"] } } });
  const words = [{}, { verified: false }, { verified: "true" }, { confirmed_at: null }, { email_verified: false }];
  for (more of [...words, { verified: true }]) {
    const { url } = await beginLogin({ issuer: `${lab.origin}/login/${tenant}` });
    const arrived = await new LoginBrowser(CALLBACK).open(url);
    const shown = isPage(arrived) ? textOf(arrived.text) : arrived.to.href;
    if (shown.includes(boss) !== (more.verified === true))
      gaveWay.push(`${JSON.stringify(more)}: ${shown.slice(0, 120)}`);
  }
  provider.closeAllConnections();
  provider.close();
  const tried = `${words.length} people who are not shown to be who they say`;
  return rowOf("31 an unverified address is somebody's", tried, gaveWay, "theirs alone where it is verified");
}
