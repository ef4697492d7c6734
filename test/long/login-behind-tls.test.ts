// Login behind a proxy that ends TLS, set up as nginx would be: official clients and mcp-remote log in by nothing but an https
// URL. Its host has a public name, because `X-Forwarded-Proto` is not read at `localhost`. The name leads to this machine.

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as ask, type IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import "./resolve-to-localhost.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { installForeign } from "../support/foreign-servers.ts";
import { byKey } from "../support/login-browser.ts";
import { LOGIN_CLIENTS } from "../support/official-login-clients.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { remoteAt } from "./mcp-remote.ts";

const INSTALLED_WITHIN_MS = 180_000;
beforeAll(() => installForeign(), INSTALLED_WITHIN_MS);

const HOST = "mcp.example.com";
const FORGED = "evil.example";
const TOOLS = ["whoami", "whoami_later"];

const folder = mkdtempSync(join(tmpdir(), "tenantry-tls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const KEY = join(folder, "key.pem");
const CERTIFICATE = join(folder, "certificate.pem");
const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", KEY, "-out", CERTIFICATE];
const about = ["-subj", `/CN=${HOST}`, "-addext", `subjectAltName=DNS:${HOST}`];
execFileSync("openssl", ["req", "-x509", ...made, ...about], { stdio: "pipe" });
const cert = readFileSync(CERTIFICATE, "utf8");
setDefaultCACertificates([cert]);

const worker = await startLoginWorker({ HOSTS: `${HOST},127.0.0.1` });
const admin = fixtureAdmin(worker.origin, "tls");

interface Exchange {
  readonly path: string;
  /** What the client or its browser sent. */
  readonly sent: string;
  readonly headers: IncomingHttpHeaders;
  body: string;
}

/** Of the test that runs. */
let exchanges: Exchange[] = [];
beforeEach(() => void (exchanges = []));

const proxy = createServer({ key: readFileSync(KEY), cert }, (request, response) => {
  // A client forges the last two. nginx hands them on.
  const told = {
    "x-forwarded-proto": "https",
    "x-forwarded-for": request.socket.remoteAddress,
    "x-forwarded-host": FORGED,
    forwarded: `host=${FORGED}`,
  };
  const { method = "", url = "" } = request;
  let sent = "";
  request.on("data", (part: Buffer) => (sent += part.toString()));
  const onward = ask(`${worker.origin}${url}`, { method, headers: { ...request.headers, ...told } }, (answer) => {
    const exchange = { path: new URL(url, origin).pathname, sent, headers: answer.headers, body: "" };
    exchanges.push(exchange);
    answer.on("data", (part: Buffer) => (exchange.body += part.toString()));
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, response, () => {});
  });
  pipeline(request, onward, () => {});
});
proxy.listen(0, "127.0.0.1");
await once(proxy, "listening");
afterAll(() => {
  proxy.closeAllConnections();
  proxy.close();
});
const origin = `https://${HOST}:${(proxy.address() as AddressInfo).port}`;

async function tenantByKey() {
  const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
  const { token, id: key } = await admin.key(id);
  return { id, url: `${origin}/mcp/${id}`, token, key };
}

function originsIn(text: string): Set<string> {
  const plain = text.replaceAll(/%3A/gi, ":").replaceAll(/%2F/gi, "/");
  return new Set(plain.match(/https?:\/\/[\w.:[\]-]+/g));
}

/** The client went through all of login, and met no URL and no cookie but of the origin that it knows. */
function expectOneOrigin(id: string): void {
  const login = ["register", "authorize", "sign-in", "consent", "token"].map((step) => `/login/${id}/${step}`);
  const metadata = ["oauth-protected-resource/mcp", "oauth-authorization-server/login"];
  const wellKnown = metadata.map((name) => `/.well-known/${name}/${id}`);
  expect(new Set(exchanges.map(({ path }) => path))).toEqual(new Set([`/mcp/${id}`, ...wellKnown, ...login]));
  const text = exchanges.map(({ headers, body }) => JSON.stringify(headers) + body).join("\n");
  // Pages and redirects name the client's own, too.
  const registered = exchanges.find(({ path }) => path.endsWith("/register"))?.sent ?? "";
  expect(originsIn(text)).toEqual(new Set([origin, ...originsIn(registered)]));
  expect(text).not.toContain(FORGED);
  const cookies = exchanges.flatMap(({ headers }) => headers["set-cookie"] ?? []);
  expect(cookies).not.toEqual([]);
  for (const cookie of cookies) expect(cookie).toMatch(/^__Host-.*; Secure/);
}

test.each(LOGIN_CLIENTS)(
  "$title logs in by the https URL, lists tools and calls one as the person",
  async (official) => {
    const { id, url, token, key } = await tenantByKey();
    const client = await official.logIn(url, byKey(token));
    expect(await client.tools()).toEqual(TOOLS);
    expect(JSON.parse(await client.call("whoami"))).toMatchObject({ id: `key ${key}` });
    expectOneOrigin(id);
  },
);

test("mcp-remote logs in by the https URL, lists tools and calls one as the person", async () => {
  const { id, url, token, key } = await tenantByKey();
  const nodeArgs = ["--import", join(import.meta.dirname, "./resolve-to-localhost.ts")];
  const remote = remoteAt(url, token, { nodeArgs, env: { NODE_EXTRA_CA_CERTS: CERTIFICATE } });
  const client = await remote.start();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
  const { content } = await client.callTool({ name: "whoami", arguments: {} });
  expect(JSON.parse((content as { text: string }[])[0]?.text ?? "")).toMatchObject({ id: `key ${key}` });
  expectOneOrigin(id);
});
