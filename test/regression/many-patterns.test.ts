// A document of 135 KB, with a key that has all of its scopes, held an isolate for 8 s, for all tenants: every pattern was
// compiled for every name, and nothing bounded how many there are together.

import { expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient, type Json } from "../support/mcp-client.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "patterns");

/** 50 scopes, each with as many patterns. */
function scopesOf(each: number, patternOf: (at: number) => string): Json {
  const patterns = (scope: number) => Array.from({ length: each }, (_none, at) => patternOf(scope * each + at));
  return Object.fromEntries(
    Array.from({ length: 50 }, (_none, scope) => [`s${scope}`, { prompts: patterns(scope), tools: [] }]),
  );
}

const PROMPT = { messages: [{ role: "user", content: { type: "text", text: "x" } }] };

test.each([
  ["? inside", (at: number) => `a?pattern-${at}`],
  ["* inside", (at: number) => `a*pattern-${at}`],
])("so many patterns with %s that they hold an isolate are refused, with the limit", async (_what, patternOf) => {
  const id = await admin.tenant();
  const writing = admin.apply(id, { mode: "key", scopes: scopesOf(40, patternOf) });
  await expect(writing).rejects.toThrow("20000 characters of patterns with * or ? inside");
});

test("so many patterns are refused before they are held against the names that there are", async () => {
  const id = await admin.tenant();
  const patterns = scopesOf(40, (at) => `a?pattern-${at}`);
  const writing = admin.apply(id, { mode: "key", scopes: { ...patterns, none: { tools: ["no_such_tool"] } } });
  await expect(writing).rejects.toThrow("20000 characters of patterns");
  await expect(writing).rejects.not.toThrow("there is no tool of this name");
});

test("a tenant whose patterns are all that it may have takes a base with patterns, which may have as many", async () => {
  const base = "many-patterns";
  const tools = { "who?mi": { enabled: false }, [`*?${"z".repeat(298)}`]: {} };
  await admin.ask("PUT", `/bases/${base}`, { tools });
  const full = Array.from({ length: 66 }, () => `*?${"z".repeat(298)}`);
  const id = await admin.tenant({ extends: [base], scopes: { full: { tools: full } } });
  const client = await mcpClient("2026-07-28", `${origin}/mcp/${id}`);
  const { result } = await client.request("tools/list");
  expect((result["tools"] as Json[]).map(({ name }) => name)).not.toContain("whoami");
  const more = Object.fromEntries(Array.from({ length: 68 }, (_none, at) => [`*?${"z".repeat(295)}${at}`, {}]));
  await expect(admin.ask("PUT", `/bases/${base}`, { tools: more })).rejects.toThrow("20000 characters of patterns");
  await admin.apply(id, {});
  await admin.ask("DELETE", `/bases/${base}`);
});

test("as many names and beginnings of names are taken, and hold", async () => {
  const prompts = Object.fromEntries(Array.from({ length: 100 }, (_none, at) => [`a${at}`, PROMPT]));
  const scopes = scopesOf(200, (at) => (at % 2 === 0 ? `a${at}` : `b${at}*`));
  const id = await admin.tenant();
  await admin.ask("PUT", `/tenants/${id}/document?unknownNames=1`, { mode: "key", prompts, scopes });
  const { token } = await admin.key(id, { scopes: Object.keys(scopes) });
  const client = await mcpClient("2026-07-28", `${origin}/mcp/${id}`, {}, bearer(token));
  const { result } = await client.request("prompts/list");
  const names = (result["prompts"] as Json[]).map(({ name }) => name);
  const even = Object.keys(prompts).filter((name) => Number(name.slice(1)) % 2 === 0);
  expect(new Set(names)).toEqual(new Set(even));
  expect(names).toHaveLength(even.length);
});

test("a list of stored resources whose long URIs are too many for the patterns is refused", async () => {
  const resources = Array.from({ length: 200 }, (_none, at) => `*?ab${String(at).padStart(3, "0")}${"c".repeat(80)}*`);
  const id = await admin.tenant({ mode: "key", scopes: { s: { resources } } });
  const { token } = await admin.key(id, { scopes: ["s"] });
  const uris = Array.from({ length: 20 }, (_none, at) => `note:${"a".repeat(1900)}${at}`);
  await Promise.all(uris.map((uri) => admin.store(id, uri, "x")));
  const client = await mcpClient("2026-07-28", `${origin}/mcp/${id}`, {}, bearer(token));
  const { error } = await client.request("resources/list");
  expect(error?.message).toContain("too many patterns with * or ? inside");
});
