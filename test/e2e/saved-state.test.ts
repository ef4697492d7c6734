// A deployment of release 0.1.0 was stopped in the middle of its day, and its storage kept: this Worker opens it. Made by
// that release, with session ids that live a hundred years; `state-0.1.0.json` says what clients and operators held then.

import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_TOKEN, startFixtureServer, type FixtureServer } from "../../scripts/fixture-server.ts";
import saved from "../fixtures/state-0.1.0.json" with { type: "json" };
import { openEvents } from "../support/event-reader.ts";
import { client2026, post, type Json } from "../support/mcp.ts";

const ARCHIVE = join(import.meta.dirname, "../fixtures/state-0.1.0.tar.gz");
const SECRETS_KEY = "c2VjcmV0LWtleS1vZi10aGUtc2F2ZWQtc3RhdGUtMDE";
const REVISION = { "mcp-protocol-version": "2025-11-25", accept: "application/json, text/event-stream" };

let server: FixtureServer;
beforeAll(async () => {
  const storage = await mkdtemp(join(tmpdir(), "tenantry-saved-"));
  await promisify(execFile)("tar", ["-xzf", ARCHIVE, "-C", storage]);
  server = await startFixtureServer({ storage, vars: { SECRETS_KEY } });
});
afterAll(() => server.stop());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const kept = (path = "", token = saved.key.token) => client2026(`${server.url}/mcp/kept${path}`, {}, {}, bearer(token));

async function admin(method: string, path: string, body?: string): Promise<Json> {
  const response = await fetch(`${server.url}/admin/v1${path}`, {
    method,
    headers: { ...bearer(ADMIN_TOKEN), "content-type": "text/plain" },
    ...(body === undefined ? {} : { body }),
  });
  expect(response.status, path).toBeLessThan(300);
  return (await response.json()) as Json;
}

async function textOf(client: ReturnType<typeof kept>, name: string, args: Json): Promise<string> {
  const { result } = await client.request("tools/call", { name, arguments: args });
  return String((result.content as Json[])[0]?.text);
}

/** Every page. */
async function listed(client: ReturnType<typeof kept>, cursor?: unknown): Promise<string[]> {
  const { result } = await client.request("resources/list", cursor === undefined ? {} : { cursor });
  const uris = (result.resources as Json[]).map(({ uri }) => String(uri));
  return result.nextCursor === undefined ? uris : [...uris, ...(await listed(client, result.nextCursor))];
}

describe("what operators wrote", () => {
  test("a tenant has its document, with its base under it", async () => {
    const { result } = await kept().request("server/discover");
    expect(result).toMatchObject({ instructions: "From the base." });
    expect(await admin("GET", "/tenants/kept")).toMatchObject({ id: "kept" });
  });

  test("a profile shows the names it gave", async () => {
    const { result } = await kept("/readers").request("tools/list");
    expect((result.tools as Json[]).map(({ name }) => name)).toEqual(["find", "fetch"]);
  });

  test("a tool that was suspended or blocked is", async () => {
    for (const name of ["lab_pay", "lab_hoard"]) {
      const { error } = await kept().request("tools/call", { name, arguments: {} });
      expect(error?.message).toContain("suspended");
    }
  });

  test("a secret opens", async () => {
    expect(await textOf(kept(), "lab_secret", { name: "API_TOKEN" })).toBe("kept-secret");
  });

  test("an operator's token is one", async () => {
    const response = await fetch(`${server.url}/admin/v1/tenants`, { headers: bearer(saved.operator.token) });
    expect(response.status).toBe(200);
  });
});

describe("keys", () => {
  test("a key works, one with a scope within it, and a revoked one does not", async () => {
    expect((await kept().request("tools/list")).status).toBe(200);
    const { result } = await kept("", saved.scoped.token).request("tools/list");
    expect((result.tools as Json[]).map(({ name }) => name)).toEqual(["search", "fetch"]);
    expect((await kept("", saved.gone.token).request("tools/list")).status).toBe(401);
  });
});

describe("notes", () => {
  test("each is listed and read", async () => {
    const uris = (await listed(kept())).filter((uri) => uri.startsWith("note://"));
    expect(uris).toHaveLength(32);
    const bodies = await Promise.all(uris.map((uri) => kept().request("resources/read", { uri })));
    expect(bodies.every(({ status }) => status === 200)).toBe(true);
    expect(bodies[0]?.result.contents).toMatchObject([{ uri: "note://a", text: "Alpha was written before the move." }]);
  });

  test("search finds what was written", async () => {
    expect(await textOf(kept(), "search", { query: "alpha" })).toContain("note://a");
  });
});

describe("sessions", () => {
  const url = () => `${server.url}/mcp/kept`;
  const headers = { ...bearer(saved.key.token), ...REVISION };

  test("a session goes on, and one that was ended stays ended", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const going = await post(url(), body, { headers: { ...headers, "mcp-session-id": saved.keyedSession } });
    expect(going.status).toBe(200);
    const ended = await post(url(), body, { headers: { ...headers, "mcp-session-id": saved.endedSession } });
    expect(ended.status).toBe(404);
  });

  test("a subscription tells of a change, on a stream that goes on from where it was", async () => {
    const session = { ...headers, "mcp-session-id": saved.keyedSession };
    const events = await openEvents(url(), {
      headers: { ...session, accept: "text/event-stream", "last-event-id": saved.streamEventId },
    });
    expect(events.status).toBe(200);
    await admin("PUT", `/tenants/kept/resources/content?${new URLSearchParams({ uri: "note://a" })}`, "Changed.");
    const told = await events.message(({ method }) => method === "notifications/resources/updated");
    expect(told.params).toMatchObject({ uri: "note://a" });
    await events.close();
  });
});

describe("a stored call that waits for its client", () => {
  test("ends with the answer, and what was done once is not done again", async () => {
    const url = `${server.url}/mcp/lab`;
    const headers = { ...REVISION, "mcp-session-id": saved.askingSession };
    const events = await openEvents(url, { headers: { ...headers, "last-event-id": saved.callEventId } });
    expect(events.status).toBe(200);
    const result = { action: "accept", content: { yes: true } };
    expect((await post(url, { jsonrpc: "2.0", id: saved.question, result }, { headers })).status).toBe(202);
    const answered = await events.message(({ id }) => id === saved.call);
    await events.close();
    expect(answered).toMatchObject({ result: { content: [{ type: "text" }] } });
    const [block] = (answered.result as Json).content as Json[];
    const { receipt, thanks } = JSON.parse(String(block?.text)) as { receipt: string; thanks: string };
    expect(thanks).toBe('{"yes":true}');
    const paid = await textOf(client2026(url), "lab_list", { prefix: "lab://payments/kept/" });
    expect(JSON.parse(paid)).toEqual([`lab://payments/kept/${receipt}`]);
  });
});
