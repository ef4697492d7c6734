// Statements of the founding documents about who may call what: without a credential, with a key that lacks a scope, and
// with one that belongs elsewhere.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient, ERAS, post, type Json } from "../support/mcp-client.ts";
import { messageOf } from "./vectors.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "founding-keys");
const denied = messageOf("000:277 permission denied (document: -32003)") as { method: string; params: Json };

const DOCUMENT = {
  mode: "key",
  scopes: { others: { tools: ["flow_logs"] } },
  profiles: { inside: {} },
};

test.each(ERAS)(
  "nobody without a credential is let in or sees a tool's name in era $era",
  async ({ era, revision }) => {
    const id = await admin.tenant(DOCUMENT);
    const headers = era === "2026" ? { "mcp-protocol-version": revision } : {};
    const message = messageOf("002:375 authorization error (document: -32003)");
    const { status, headers: answered, error, text } = await post(`${origin}/mcp/${id}`, message, { headers });
    expect(status).toBe(401);
    expect(answered.get("www-authenticate")).toMatch(/^Bearer /);
    expect(error).toMatchObject({ code: era === "2025" ? -32003 : -32600, message: "Authorization required" });
    expect(text).not.toContain("flow_");
  },
);

test.each(ERAS)("a tool out of a key's scope is unknown to it in era $era", async ({ revision }) => {
  const id = await admin.tenant(DOCUMENT);
  const { token } = await admin.key(id, { scopes: ["others"] });
  const client = await mcpClient(revision, `${origin}/mcp/${id}`, {}, { authorization: `Bearer ${token}` });
  const { error } = await client.request(denied.method, denied.params);
  expect(error).toMatchObject({ code: -32602, message: "Unknown tool: query" });
});

test.each(ERAS)("a key of another profile is refused with HTTP 403 in era $era", async ({ era, revision }) => {
  const id = await admin.tenant(DOCUMENT);
  const { token } = await admin.key(id, { profile: "inside" });
  const headers = {
    authorization: `Bearer ${token}`,
    ...(era === "2026" ? { "mcp-protocol-version": revision } : {}),
  };
  const { status, error } = await post(`${origin}/mcp/${id}`, { jsonrpc: "2.0", id: 8, ...denied }, { headers });
  expect(status).toBe(403);
  expect(error).toMatchObject({ code: era === "2025" ? -32003 : -32600 });
});
