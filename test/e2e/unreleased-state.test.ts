// Storage that an unreleased checkout made is refused, and left as it was. The fixture was recorded with commit e207355: two
// tenants, of which one is in code, with a key, a secret, a stored resource, a base, an operator, a session and a stored call.

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client2025, client2026 } from "../support/mcp-client.ts";
import { ADMIN_TOKEN, startAlone, type Alone } from "./two-releases.ts";

const ARCHIVE = join(import.meta.dirname, "../fixtures/state-e207355.tar.gz");
const KEY = "tnt_NjeR8M358d_hoEeQWgJjVJOIreV48SOo12RtWHZ42pe42Z01a";
const SENTENCE = "This storage was made by an unreleased version of tenantry, and this version cannot read it";

let storage: string;
let server: Alone;
let before: ReturnType<typeof contents>;

/** All rows of all objects, but for the platform's own notes of alarms. */
function contents(): Record<string, unknown> {
  const rows: Record<string, unknown> = {};
  for (const file of globSync("do/*/*.sqlite", { cwd: storage }).filter((name) => !name.includes("metadata"))) {
    const database = new DatabaseSync(join(storage, file), { readOnly: true });
    const tables = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
    for (const { name, sql } of tables) {
      if (String(name) === "_cf_METADATA") continue;
      rows[`${file} ${String(name)}`] = [sql, database.prepare(`SELECT * FROM "${String(name)}"`).all()];
    }
    database.close();
  }
  return rows;
}

beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "tenantry-unreleased-"));
  await promisify(execFile)("tar", ["-xzf", ARCHIVE, "-C", storage]);
  before = contents();
  server = await startAlone("this", { storage });
});
afterAll(async () => {
  await server.kill();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test("the fixture has rows of every class that keeps tables", () => {
  for (const name of ["Tenant", "Content", "Session", "Directory", "Platform"]) {
    expect(Object.keys(before).filter((key) => key.includes(`objects-${name}Object/`)).length, name).toBeGreaterThan(0);
  }
});

test.each([
  ["a tenant that was made", "kept", bearer(KEY), SENTENCE],
  ["a tenant in code", "lab", {}, SENTENCE],
  ["a name that nobody has", "nobody", {}, SENTENCE],
])("%s is refused in both eras", async (_what, tenant, headers, message) => {
  const url = `${server.origin}/mcp/${tenant}`;
  const { status, error } = await client2026(url, {}, {}, headers).request("tools/list");
  expect([status, error?.message]).toEqual([503, expect.stringContaining(message)]);
  await expect(client2025(url, "2025-11-25", {}, headers)).rejects.toThrow(message);
});

test("operators are told the same", async () => {
  const ask = (path: string) => fetch(`${server.origin}/admin/v1${path}`, { headers: bearer(ADMIN_TOKEN) });
  for (const path of ["/tenants", "/tenants/kept", "/bases/house", "/operators"]) {
    const response = await ask(path);
    expect([path, response.status, await response.text()]).toEqual([path, 503, expect.stringContaining(SENTENCE)]);
  }
});

test("the log has the sentence and no stack, and nothing was written to what there was", async () => {
  const lines = server
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  const faults = lines.map((line) => JSON.parse(line) as { readonly message: string; readonly stack?: string });
  const ours = faults.filter(({ message }) => message.includes(SENTENCE));
  expect(ours.length).toBeGreaterThan(0);
  for (const { stack } of ours) expect(stack).toBeUndefined();
  await server.kill();
  // Objects of which nothing was stored may come into being.
  const fileOf = (key: string) => key.split(" ")[0];
  const files = new Set(Object.keys(before).map(fileOf));
  const after = Object.entries(contents()).filter(([key]) => files.has(fileOf(key)));
  expect(Object.fromEntries(after)).toEqual(before);
});
