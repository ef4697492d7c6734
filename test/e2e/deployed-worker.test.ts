// What `wrangler deploy` would upload, running: it does what its source does, in both eras, for operators and through an
// upstream; and its map leads from a place in it to the line of the source. It has no tenant of its own, so what is asked of
// code is asked of the demo.

import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { BUILD_MS, deployedFolder } from "./deployed-worker.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant } from "../support/gateway-tenant.ts";
import { mcpClient } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";
import { readModules, sharedWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

const ROOT = join(import.meta.dirname, "../..");
const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

let folder: string;
let worker: OneWorker;
const demo = await sharedWorker("demo-worker");

beforeAll(async () => {
  folder = await deployedFolder();
  const vars = { ADMIN_TOKEN, SECRETS_KEY, OUTBOUND_LOCAL: "http://127.0.0.1" };
  worker = await startWorker(await readModules(folder, "worker.js"), { vars });
}, BUILD_MS);

afterAll(() => worker.stop());

test("it starts with no tenant, serves nobody, and says what a URL looks like", async () => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const headers = { "content-type": "application/json" };
  const ask = async (path: string) => fetch(`${worker.origin}${path}`, { method: "POST", headers, body });
  expect((await ask("/mcp/demo")).status).toBe(401);
  const bare = await ask("/mcp");
  expect(bare.status).toBe(404);
  expect(await bare.text()).toContain("/mcp/{tenant}");
  const listed = await fixtureAdmin(worker.origin, "none").ask("GET", "/tenants");
  expect(listed).toMatchObject({ items: [] });
});

describe.each(["2025-11-25", "2026-07-28"])("as deployed, in %s", (revision) => {
  test("tools are listed and called, and what arguments break is said", async () => {
    const client = await mcpClient(revision, `${demo.origin}/mcp/demo`);
    const { tools } = (await client.request("tools/list")).result as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain("note_write");
    const note = { title: `Of ${revision}`, text: "kept" };
    const written = await client.request("tools/call", { name: "note_write", arguments: note });
    expect(written.result).toMatchObject({ structuredContent: { title: note.title } });
    const refused = await client.request("tools/call", { name: "note_write", arguments: { title: 1 } });
    expect(refused.result).toMatchObject({ isError: true });
  });

  test("a tenant that an operator makes, whose upstream is another one, has its tools", async () => {
    const admin = fixtureAdmin(worker.origin, `front-${revision.slice(0, 4)}`);
    const tenant = await gatewayTenant(worker.origin, admin, { notes: { url: `${demo.origin}/mcp/demo` } });
    const client = await tenant.client(revision);
    const { tools } = (await client.request("tools/list")).result as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain("notes__note_list");
    const called = await client.request("tools/call", { name: "notes__note_list", arguments: {} });
    expect(called.result).toMatchObject({ structuredContent: { notes: expect.any(Array) } });
  });

  test("a tenant that an operator makes has the resources, the prompts and the search that are stored for it", async () => {
    const admin = fixtureAdmin(worker.origin, `stored-${revision.slice(0, 4)}`);
    const greet = {
      arguments: [{ name: "who", required: true }],
      messages: [{ role: "user", content: { type: "text", text: "Hello {{who}}" } }],
    };
    const id = await admin.tenant({ search: true, prompts: { greet } });
    await admin.store(id, "docs://guide", "# Guide\n\nHow to begin");
    const client = await mcpClient(revision, `${worker.origin}/mcp/${id}`);
    const read = await client.request("resources/read", { uri: "docs://guide" });
    expect(read.result).toMatchObject({ contents: [{ text: "# Guide\n\nHow to begin" }] });
    const found = await client.request("tools/call", { name: "search", arguments: { query: "begin" } });
    expect(JSON.stringify(found.result)).toContain("docs://guide");
    const got = await client.request("prompts/get", { name: "greet", arguments: { who: "Ada" } });
    expect(JSON.stringify(got.result)).toContain("Hello Ada");
  });
});

test(
  "a bundle that was built in a shell with NODE_ENV=development has no demo for the public",
  async () => {
    const developed = await startWorker(await readModules(await deployedFolder("development"), "worker.js"), {
      vars: { ADMIN_TOKEN },
    });
    onTestFinished(() => developed.stop());
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const ask = (host: string) =>
      sendRaw(`${developed.origin}/mcp/demo`, { headers: { host, "content-type": "application/json" }, body });
    expect((await ask("mcp.example.com")).status).toBe(401);
    expect(await ask("localhost:8362")).toMatchObject({ status: 200, text: expect.stringContaining("note_write") });
  },
  BUILD_MS,
);

test("it has nothing of the demo in it", () => {
  expect(readFileSync(join(folder, "worker.js"), "utf8")).not.toContain("note_write");
});

test("its source map leads from what it says to the line of the source that says it", () => {
  const said = "This needs a session: send initialize first";
  const file = join(folder, "worker.js");
  const before = readFileSync(file, "utf8").split(said)[0]?.split("\n") ?? [];
  const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")) as SourceMapPayload);
  const entry = map.findEntry(before.length - 1, before.at(-1)?.length ?? 0);
  if (!("originalSource" in entry)) throw new Error("no line of the source");
  const at = entry.originalSource.replace(/^.*?src\//, "src/");
  const source = readFileSync(join(ROOT, at), "utf8").split("\n");
  expect(source[entry.originalLine]).toContain(said);
});
