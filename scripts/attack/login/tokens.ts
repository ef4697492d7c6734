// What only some may call, where everybody may call the rest: by other spellings, in batches, by the other endpoint. And tokens
// of other tenants, profiles and servers, or of nobody. A Worker of its own, which takes servers of this machine.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readModules, startWorker, writeBundle } from "../../../test/support/start-worker.ts";
import { rowOf, type Attack, type Row } from "../report.ts";
import { didIt, REVISIONS, Target, toolsOf, written, type Answer, type CallOptions, type Json } from "../target.ts";
import { startIssuer, type Issuer } from "./issuer.ts";

export const tokens: Attack = {
  name: "tokens",
  classes: ["a rule with an exception for comfort", "hidden things that influence visible answers"],
  run: async ({ adminToken, peer, seed }) => {
    const folder = await mkdtemp(join(tmpdir(), "tenantry-attack-login-"));
    await writeBundle("login-worker", "production", folder);
    const modules = await readModules(folder, "login-worker.js");
    await rm(folder, { recursive: true });
    const vars = { ADMIN_TOKEN: adminToken, OUTBOUND_LOCAL: "http://127.0.0.1" };
    const [worker, issuer, other] = await Promise.all([startWorker(modules, { vars }), startIssuer(), startIssuer()]);
    const target = new Target({ origin: worker.origin, adminToken, peer, seed });
    try {
      return [
        await anonymous(target, issuer),
        await elsewhere(target, issuer),
        await forged(target, issuer, other),
        await stepUp(target, issuer),
        await plain(target, issuer),
      ];
    } finally {
      await Promise.all([worker.stop(), issuer.stop(), other.stop()]);
    }
  },
};

/** Of the Worker's tools one is everybody's. */
const OPEN = "whoami";
const CLOSED = "whoami_later";
const SCOPES = { everybody: { tools: [OPEN] }, all: { tools: ["*"], prompts: ["*"], resources: ["*"] } };
const PROMPTS = { secret: { messages: [{ role: "user", content: { type: "text", text: "reached" } }] } };

function document({ name }: Issuer, more: Json = {}): Json {
  const scopes = { claim: "scope", values: { everybody: ["everybody"], all: ["all"] } };
  const auth = { issuers: [{ issuer: name, scopes }], anonymous: { scopes: ["everybody"] } };
  const renamed = { tools: { rename: { [CLOSED]: { name: OPEN }, [OPEN]: { name: "who" } } } };
  const profiles = { renamed, small: { tools: { allow: [OPEN] } } };
  return { mode: "mixed", auth, scopes: SCOPES, prompts: PROMPTS, profiles, ...more };
}

const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => `${name} `,
  (name) => ` ${name}`,
  (name) => `${name}\0`,
  (name) => `\u200b${name}`,
  (name) => `code__${name}`,
  (name) => `__${name}`,
  (name) => `${name}__`,
  (name) => `${OPEN}\n${name}`,
];

/** Who brings nothing, or an empty word for it. */
async function anonymous(target: Target, issuer: Issuer): Promise<Row> {
  const tenant = await target.tenant(document(issuer));
  const gaveWay: string[] = [];
  const held = (what: string, { status, text }: Pick<Answer, "status" | "text">) => {
    if (status !== 401 || /kind|reached/.test(text)) gaveWay.push(`${what}: ${status}`);
  };
  let tried = 0;
  for (const revision of REVISIONS) {
    const known = await target.tool(tenant, CLOSED, {}, { revision });
    for (const spelled of SPELLINGS) {
      tried += 2;
      held(`${spelled(CLOSED)} in ${revision}`, await target.tool(tenant, spelled(CLOSED), {}, { revision }));
      // The names of headers are not looked at before the body is.
      const headers = { "mcp-name": OPEN };
      held(`${spelled(CLOSED)} as ${OPEN}`, await target.tool(tenant, spelled(CLOSED), {}, { revision, headers }));
    }
    const absent = await target.tool(tenant, "nowhere_at_all", {}, { revision });
    if (absent.text !== known.text || absent.headers.get("www-authenticate") !== known.headers.get("www-authenticate"))
      gaveWay.push("what is not there reads otherwise than what is");
    for (const profile of ["renamed", "small"])
      held(profile, await target.tool(tenant, CLOSED, {}, { profile, revision }));
    held("what has the other's name", await target.tool(tenant, OPEN, {}, { profile: "renamed", revision }));
    held("a prompt", await target.call(tenant, "prompts/get", { name: "secret" }, { revision }));
    held("a resource", await target.call(tenant, "resources/read", { uri: "note://secret" }, { revision }));
    const message = written("tools/call", { name: CLOSED }, { revision });
    for (const server_id of ["code", "stored", "", tenant]) {
      const body = JSON.stringify({ server_id, ...(JSON.parse(message.body) as Json) });
      const init = { method: "POST", headers: message.headers, body };
      held(`/gateway at "${server_id}"`, await target.send(`/gateway/${tenant}`, init));
    }
    tried += 9;
  }
  const call = (name: string, id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
  for (const batch of [
    [call(OPEN, 1), call(CLOSED, 2)],
    [call(CLOSED, 1), call(OPEN, 2)],
    [[call(CLOSED, 1)], call(CLOSED, 2)],
  ]) {
    const { headers } = written("tools/call", { name: OPEN }, { revision: "2025-11-25" });
    const init = {
      method: "POST",
      headers: { ...headers, "mcp-protocol-version": "2025-03-26" },
      body: JSON.stringify(batch),
    };
    held("a batch", await target.send(`/mcp/${tenant}`, init));
    tried += 1;
  }
  const open = await target.tool(tenant, OPEN, {});
  if (!didIt(open)) gaveWay.push(`what is everybody's answers ${open.status}`);
  return rowOf(
    "who brings nothing reaches the rest",
    `${tried} calls of a mixed tenant`,
    gaveWay,
    "401 each, of one text",
  );
}

/** A token is for one endpoint. */
async function elsewhere(target: Target, issuer: Issuer): Promise<Row> {
  const [one, two] = [await target.tenant(document(issuer)), await target.tenant(document(issuer, { mode: "oauth" }))];
  const gaveWay: string[] = [];
  const at = (tenant: string, profile?: string) =>
    `${target.origin}/mcp/${tenant}${profile === undefined ? "" : `/${profile}`}`;
  const places = [one, two].flatMap((tenant) => [
    { tenant },
    { tenant, profile: "small" },
    { tenant, profile: "renamed" },
  ]);
  let tried = 0;
  for (const made of places) {
    const aud = at(made.tenant, "profile" in made ? made.profile : undefined);
    const key = await issuer.token({ aud, scope: "all" });
    const own = await toolsOf(target, made.tenant, { ...("profile" in made && { profile: made.profile }), key });
    if (own.length === 0) gaveWay.push(`${aud} does not take its own`);
    for (const place of places.filter((other) => other !== made)) {
      tried += 1;
      const options: CallOptions = { ...("profile" in place && { profile: place.profile }), key };
      const { status } = await target.call(place.tenant, "tools/list", {}, options);
      if (status !== 401) gaveWay.push(`one for ${aud} at ${place.tenant}/${options.profile ?? ""}: ${status}`);
    }
    for (const aud2 of [`${aud}/`, `${aud}?x`, aud.toUpperCase(), target.origin, `${aud}/x`]) {
      tried += 1;
      const { status } = await target.call(
        made.tenant,
        "tools/list",
        {},
        {
          ...("profile" in made && { profile: made.profile }),
          key: await issuer.token({ aud: aud2, scope: "all" }),
        },
      );
      if (status !== 401) gaveWay.push(`${aud2} at ${aud}: ${status}`);
    }
  }
  return rowOf(
    "a token of another tenant or profile",
    `${tried} tokens that are for somewhere else`,
    gaveWay,
    "401 each",
  );
}

async function forged(target: Target, issuer: Issuer, other: Issuer): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant(document(issuer));
  const aud = `${target.origin}/mcp/${tenant}`;
  const right = { aud, scope: "all" };
  const now = Math.floor(Date.now() / 1000);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const good = await issuer.token(right);
  const [head = "", body = "", signature = ""] = good.split(".");
  const changed = Buffer.from(
    JSON.stringify({ ...(JSON.parse(Buffer.from(body, "base64url").toString()) as Json), sub: "root" }),
  );
  const none = issuer.unsigned(right).split(".");
  const bad: Readonly<Record<string, string>> = {
    none: issuer.unsigned(right),
    "none, with a signature": `${none[0]}.${none[1]}.${signature}`,
    "a public key as a secret": await issuer.token(right, { alg: "HS256" }, bytes(issuer.pem)),
    "a JWK as a secret": await issuer.token(right, { alg: "HS512" }, bytes(JSON.stringify(issuer.publicKey))),
    "an own key in the header": await other.token({ ...right, iss: issuer.name }, { jwk: other.publicKey }),
    "keys elsewhere": await other.token({ ...right, iss: issuer.name }, { jku: `${other.name}/keys` }),
    expired: await issuer.token({ ...right, exp: now - 60 }),
    "without an end": await issuer.token({ ...right, exp: undefined }),
    "not yet valid": await issuer.token({ ...right, nbf: now + 600 }),
    "another issuer": await other.token(right),
    "another issuer's name": await issuer.token({ ...right, iss: other.name }),
    "another's key, the right name": await other.token({ ...right, iss: issuer.name }),
    "an issuer with a slash": await issuer.token({ ...right, iss: `${issuer.name}/` }),
    nobody: await issuer.token({ ...right, sub: undefined }),
    "another kind": await issuer.token(right, { typ: "logout+jwt" }),
    "bound to a key": await issuer.token({ ...right, cnf: { jkt: "x" } }),
    "another body": `${head}.${changed.toString("base64url")}.${signature}`,
    "no signature": `${head}.${body}.`,
  };
  for (const revision of REVISIONS) {
    for (const [what, key] of Object.entries(bad)) {
      const { status, text } = await target.tool(tenant, OPEN, {}, { key, revision });
      if (status !== 401 || /kind/.test(text)) gaveWay.push(`${what}: ${status}`);
    }
  }
  const { status } = await target.call(tenant, "tools/list", {}, { key: good });
  if (status !== 200) gaveWay.push(`the good one: ${status}`);
  return rowOf("a forged or worn-out token", `${Object.keys(bad).length} tokens in both eras`, gaveWay, "401 each");
}

/** The challenge of a step-up names what metadata does, and nothing else. */
async function stepUp(target: Target, issuer: Issuer): Promise<Row> {
  const gaveWay: string[] = [];
  const groups = { claim: "groups", values: { staff: ["everybody"], admins: ["all"] } };
  const auth = { issuers: [{ issuer: issuer.name, scopes: groups }] };
  const tenant = await target.tenant(document(issuer, { mode: "oauth", auth }));
  const key = await issuer.token({ aud: `${target.origin}/mcp/${tenant}`, groups: ["staff"], scope: "all" });
  for (const revision of REVISIONS) {
    const known = await target.tool(tenant, CLOSED, {}, { key, revision });
    const absent = await target.tool(tenant, "nowhere_at_all", {}, { key, revision });
    const told = (text: string) => text.replaceAll(/whoami_later|nowhere_at_all/g, "NAME");
    if (known.status !== 200 || told(known.text) !== told(absent.text))
      gaveWay.push(`told of ${CLOSED}: ${known.text}`);
    if (known.headers.has("www-authenticate")) gaveWay.push("a challenge");
  }
  return rowOf("what groups hide is told of", "a tool that is there and one that is not", gaveWay, "-32602, the same");
}

async function plain(target: Target, issuer: Issuer): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant(document(issuer));
  const { host: own } = new URL(target.origin);
  const ask = (path: string, host: string, more: string) =>
    target.bytes(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
        `Accept: application/json\r\n${more}Content-Length: 2\r\n\r\n{}`,
    );
  const bearer = `Authorization: Bearer ${target.adminToken}\r\n`;
  const paths = [`/mcp/${tenant}`, `/gateway/${tenant}`, "/mcp/nobodys", "/admin/v1/tenants"];
  const hosts = ["mcp.example.com", "MCP.example.com.", "localhost.example.com", "127.0.0.1.example.com"];
  for (const path of paths) {
    for (const host of hosts) {
      const text = await ask(path, host, bearer);
      if (!text.startsWith("HTTP/1.1 403 ") || !text.includes("Use https"))
        gaveWay.push(`${host}${path}: ${text.slice(0, 12)}`);
    }
    if (/Use https/.test(await ask(path, own, bearer))) gaveWay.push(`${path} refuses this machine`);
  }
  return rowOf(
    "a credential by plain http",
    `${paths.length * hosts.length} requests to public names`,
    gaveWay,
    "403 each, unread",
  );
}
