// The Workers in docs/mounting.md, docs/api-*.md, docs/gateway.md, docs/login*.md and docs/features.md as a reader copies them: built
// against the packed package, started, and asked for what the page says of them. test/pages-blocks.test.ts type-checks them.

import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { startAuthorizationServer } from "../support/authorization-server.ts";
import { bearer } from "../support/fixture-admin.ts";
import { mcpClient, ERAS } from "../support/mcp-client.ts";
import { startUpstream } from "../support/upstream.ts";
import { packedPackage } from "../support/packed-package.ts";
import { readModules, startWorker, type OneWorker } from "../support/start-worker.ts";

const ROOT = join(import.meta.dirname, "../..");
const MODULES = join(ROOT, "node_modules");

/** A reader's project, with the package as it would be installed. */
let project: string;
let workers = 0;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "tenantry-documents-"));
  const { folder } = await packedPackage();
  // A copy, because imports of a linked package would be looked for where the link leads.
  await cp(folder, join(project, "node_modules/tenantry"), { recursive: true });
  for (const name of ["eventsource-parser", "hono", "jose", "zod"]) {
    await symlink(join(MODULES, name), join(project, "node_modules", name), "dir");
  }
});
afterAll(() => rm(project, { recursive: true, force: true }));

/** The code that a page of docs/ shows, block by block. */
async function blocksOf(page: string, language = "ts"): Promise<string[]> {
  const text = await readFile(join(ROOT, "docs", page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map((match) => match[1] ?? "");
}

/** The origin of a Worker that has this as its only file. Stops after the test. */
async function started(
  source: string,
  vars: Readonly<Record<string, string>> = {},
  prepare?: (worker: OneWorker) => Promise<void>,
): Promise<string> {
  const folder = join(project, `worker-${(workers += 1)}`);
  await mkdir(folder);
  await writeFile(join(folder, "worker.ts"), source);
  await build({
    entryPoints: [join(folder, "worker.ts")],
    outfile: join(folder, "built/worker.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
  const worker = await startWorker(await readModules(join(folder, "built"), "worker.js"), {
    vars,
    hasDatabase: prepare !== undefined,
  });
  onTestFinished(() => worker.stop());
  await prepare?.(worker);
  return worker.origin;
}

test("docs/mounting.md: tenantry under a path of an app, whose middleware sees the answers", async () => {
  const [source = ""] = await blocksOf("mounting.md");
  const origin = await started(source);
  for (const { revision } of ERAS) {
    const client = await mcpClient(revision, `${origin}/ai/mcp/acme`);
    const { result, headers } = await client.request("tools/call", { name: "greet", arguments: { name: "Ada" } });
    expect(result).toMatchObject({ content: [{ type: "text", text: "Hello, Ada!" }] });
    expect(headers.get("x-powered-by")).toBe("my app");
  }
  const page = await fetch(origin);
  expect([await page.text(), page.headers.get("x-powered-by")]).toEqual(["My own page", "my app"]);
});

test("docs/api-identity.md: the users of an app, each in their own tenant", async () => {
  const [source = ""] = await blocksOf("api-identity.md");
  const APP_SECRET = "the app's own secret";
  const origin = await started(source, { APP_SECRET });
  const tokenOf = (org: string, sub: string, seconds = 60) =>
    new SignJWT({ org, sub, exp: Math.floor(Date.now() / 1000) + seconds })
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode(APP_SECRET));
  for (const { revision } of ERAS) {
    for (const [org, sub] of [
      ["acme", "ada"],
      ["globex", "bob"],
    ] as const) {
      const headers = bearer(await tokenOf(org, sub));
      expect(await (await fetch(`${origin}/me`, { headers })).json()).toMatchObject({ tenant: org, id: sub });
      for (const path of ["/ai/mcp", `/ai/mcp/${org}`]) {
        const client = await mcpClient(revision, origin + path, {}, headers);
        const { result } = await client.request("tools/call", { name: "whoami", arguments: {} });
        expect(result["content"]).toEqual([{ type: "text", text: `${sub} of ${org}` }]);
      }
    }
  }
  const ask = async (path: string, headers: Record<string, string>) => {
    const reply = await fetch(`${origin}/ai/mcp${path}`, { headers: { accept: "text/html", ...headers } });
    return [reply.status, await reply.text()];
  };
  expect(await ask("/globex", bearer(await tokenOf("acme", "ada")))).toEqual([404, expect.any(String)]);
  const told = [401, "Make a token in the app's settings"];
  for (const headers of [{}, bearer("none"), bearer(await tokenOf("acme", "ada", -60))]) {
    expect(await ask("/acme", headers)).toEqual(told);
  }
});

test("docs/api-outside.md: a webhook announces, calls a tool and stores what it says", async () => {
  const [source = ""] = await blocksOf("api-outside.md");
  const origin = await started(source);
  expect(await (await fetch(`${origin}/hooks/prices`, { method: "POST" })).text()).toBe("told");
  for (const { revision } of ERAS) {
    const client = await mcpClient(revision, `${origin}/mcp/acme`);
    const { result } = await client.request("resources/read", { uri: "report:today" });
    expect(result).toMatchObject({ contents: [{ text: '[{"type":"text","text":"0 notes"}]' }] });
  }
});

test("docs/api-tenants.md: tenants of a database, until their row goes", async () => {
  const [source = ""] = await blocksOf("api-tenants.md");
  const origin = await started(source, {}, async (worker) => {
    await worker.database("CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL, plan TEXT NOT NULL)");
    await worker.database(
      "INSERT INTO customers (id, name, plan) VALUES ('acme', 'Acme', 'paid'), ('tiny', 'Tiny', 'free')",
    );
  });
  for (const { revision } of ERAS) {
    for (const [path, tools] of [
      ["acme", ["look", "change"]],
      ["acme/reading", ["look"]],
      ["tiny", ["look"]],
    ] as const) {
      const { result } = await (await mcpClient(revision, `${origin}/mcp/${path}`)).request("tools/list");
      expect(result).toMatchObject({ tools: tools.map((name) => ({ name })) });
    }
  }
  expect(await (await fetch(`${origin}/cancelled/acme`, { method: "POST" })).text()).toBe("gone everywhere");
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const headers = { "content-type": "application/json" };
  expect((await fetch(`${origin}/mcp/acme`, { method: "POST", headers, body })).status).toBe(401);
  expect((await fetch(`${origin}/mcp/tiny`, { method: "POST", headers, body })).status).toBe(200);
});

test.each(ERAS)(
  "docs/api-context.md: errors that are shown, middleware and what is visible, in era $era",
  async (era) => {
    const [source = "", faked = ""] = await blocksOf("api-context.md");
    const origin = await started(`${source}\n${faked.replaceAll("export const", "const")}`);
    const client = await mcpClient(era.revision, `${origin}/mcp/acme`);
    const call = async (args: object) =>
      (await client.request("tools/call", { name: "ticket", arguments: args })).result;
    expect(await call({ id: "1" })).toMatchObject({
      content: [{ text: expect.stringMatching(/^The printer is on fire/) }],
    });
    expect(await call({ id: "7" })).toMatchObject({ isError: true, structuredContent: { message: "no ticket 7" } });
    expect(await call({ id: "1", month: 8 })).toMatchObject({
      isError: true,
      content: [{ text: "closed in August" }, {}],
    });
    const { tools } = (await client.request("tools/list")).result;
    expect((tools as { name: string }[]).map(({ name }) => name)).toEqual(["ticket"]);
  },
);

test("docs/gateway.md: a tool of another server under the name of its upstream", async () => {
  const upstream = await startUpstream({ search: () => ({ content: [{ type: "text", text: "found" }] }) });
  onTestFinished(() => upstream.close());
  const [source = ""] = await blocksOf("gateway.md");
  const origin = await started(source.replace("https://mcp.example.com/mcp", upstream.url), {
    OUTBOUND_LOCAL: "http://127.0.0.1",
  });
  for (const { revision } of ERAS) {
    const client = await mcpClient(revision, `${origin}/mcp/acme`);
    const names = async () =>
      ((await client.request("tools/list")).result["tools"] as { name: string }[]).map(({ name }) => name);
    await expect.poll(names, { timeout: 20_000 }).toEqual(["tracker__search"]);
    const { result } = await client.request("tools/call", { name: "tracker__search", arguments: {} });
    expect(result["content"]).toEqual([{ type: "text", text: "found" }]);
  }
});

test("docs/login.md: a tenant that takes tokens says where they come from", async () => {
  const [source = ""] = await blocksOf("login.md");
  const [text = ""] = await blocksOf("login.md", "json");
  const origin = await started(source, { ADMIN_TOKEN });
  const headers = { "content-type": "application/json", authorization: `Bearer ${ADMIN_TOKEN}` };
  const body = JSON.stringify({ id: "acme", document: JSON.parse(text) as unknown });
  expect((await fetch(`${origin}/admin/v1/tenants`, { method: "POST", headers, body })).status).toBe(201);
  const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const refused = await fetch(`${origin}/mcp/acme`, { method: "POST", headers: json, body: "{}" });
  const place = `${origin}/.well-known/oauth-protected-resource/mcp/acme`;
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    401,
    expect.stringContaining(`resource_metadata="${place}"`),
  ]);
  expect(await (await fetch(place)).json()).toMatchObject({
    resource: `${origin}/mcp/acme`,
    authorization_servers: ["https://login.example.com/realms/acme"],
  });
});

test("docs/login-identity.md: a tool calls an API as the person who calls, and the API knows who that is", async () => {
  const server = await startAuthorizationServer();
  const [source = ""] = await blocksOf("login.md");
  const blocks = await blocksOf("login-identity.md");
  const [tool = "", verifying = ""] = ["ctx.identity", "createRemoteJWKSet"].map((word) =>
    blocks.find((block) => block.includes(word)),
  );
  const text = (await blocksOf("login-identity.md", "json")).find((block) => block.includes('"via": "signed"')) ?? "";
  let answer: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 });
  const api = await startFetchServer((request) => answer(request));
  const AUDIENCE = "https://api.example.com";
  const written = source
    .replace(/^import .*$/m, `$&\n${tool.replaceAll(AUDIENCE, api)}`)
    .replace("tenants: {}", "tools: [orders], tenants: {}");
  const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
  const origin = await started(written, { ADMIN_TOKEN, SECRETS_KEY, OUTBOUND_LOCAL: "http://127.0.0.1" });
  const folder = await mkdtemp(join(tmpdir(), "tenantry-api-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await symlink(MODULES, join(folder, "node_modules"), "dir");
  const file = join(folder, "api.ts");
  await writeFile(file, verifying.replace("https://mcp.example.com", origin).replaceAll(AUDIENCE, api));
  const { default: handler } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    default: { fetch: typeof answer };
  };
  answer = (request) => handler.fetch(request);
  const document = JSON.parse(
    text.replace("https://login.example.com/realms/acme", server.issuer).replaceAll(AUDIENCE, api),
  ) as unknown;
  const headers = { "content-type": "application/json", authorization: `Bearer ${ADMIN_TOKEN}` };
  const body = JSON.stringify({ id: "acme", document });
  expect((await fetch(`${origin}/admin/v1/tenants`, { method: "POST", headers, body })).status).toBe(201);
  expect((await fetch(`${api}/orders`)).status).toBe(401);
  const url = `${origin}/mcp/acme`;
  for (const { revision } of ERAS) {
    for (const sub of ["alice", "bob"]) {
      const client = await mcpClient(revision, url, {}, bearer(await server.token({ aud: url, sub })));
      const { result } = await client.request("tools/call", { name: "orders", arguments: {} });
      expect(result["content"]).toEqual([{ type: "text", text: `{"ordersOf":"${sub}"}` }]);
    }
  }
});

/** The origin of a server on this machine that answers as a handler of the web's own does. Stops after the test. */
async function startFetchServer(answer: (request: Request) => Promise<Response>): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const headers = new Headers(request.headers as Record<string, string>);
      const answered = await answer(new Request(`http://127.0.0.1${request.url}`, { headers }));
      response.writeHead(answered.status).end(await answered.text());
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("docs/features.md", () => {
  const counts = async (origin: string) => (await fetch(`${origin}/count`)).text();

  test("a feature with a page that counts the calls of its tool", async () => {
    const [, source = ""] = await blocksOf("features.md");
    const origin = await started(source);
    expect(await counts(origin)).toBe("0\n");
    for (const [at, { revision }] of ERAS.entries()) {
      const client = await mcpClient(revision, `${origin}/mcp/acme`);
      const { result } = await client.request("tools/call", { name: "count", arguments: {} });
      expect(result).toMatchObject({ content: [{ type: "text", text: `${at + 1}` }] });
      expect(await counts(origin)).toBe(`${at + 1}\n`);
    }
  });

  test("a tool by hand in its place, which checks its arguments itself", async () => {
    const [, source = "", byHand = ""] = await blocksOf("features.md");
    const replaced = source
      .replace(/^let asked.*?^\}\);$/ms, byHand.replace(/^import .*\n/, "").replace("export const", "const"))
      .replace("defineTool, type Feature", "type Feature, type SourceTool");
    const origin = await started(replaced);
    const client = await mcpClient("2026-07-28", `${origin}/mcp/acme`);
    const ask = async (by: unknown) =>
      (await client.request("tools/call", { name: "count", arguments: { by } })).result;
    expect(await ask(2)).toMatchObject({ content: [{ text: "2" }] });
    expect(await ask("two")).toMatchObject({ isError: true, content: [{ text: "by: must be a number" }] });
    expect(await counts(origin)).toBe("2\n");
  });
});
