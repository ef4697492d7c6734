// A release is rolled out, rolled back and rolled out again over one storage, and each time the Workers of the other one are still
// there: what was stored and what clients hold goes on, whichever release made it and whichever has the objects.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEvents } from "../support/event-reader.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, client2026, post, type Client, type Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { ADMIN_TOKEN, startReleases, type Release, type TwoReleases } from "./two-releases.ts";

const ORDER: readonly Release[] = ["this", "next", "this", "next"];
const YES = { action: "accept", content: { yes: true } };
const DOCUMENT = {
  mode: "key",
  prompts: {
    hello: {
      arguments: [{ name: "name", required: true }],
      messages: [{ role: "user", content: { type: "text", text: "Hello, {{name}}." } }],
    },
  },
};

let storage: string;
let upstream: Upstream;
let releases: TwoReleases;
const notes = new Map<string, string>();
/** Tenants that a phase made. */
const tenants: string[] = [];
const keys: string[] = [];
const sessions: Client[] = [];
let parked: { readonly call: ResumableCall; readonly question: unknown; readonly client: Client } | undefined;

beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "tenantry-releases-"));
  upstream = await startUpstream({ sing: () => ({ content: [{ type: "text", text: "la" }] }) });
});
afterAll(async () => {
  upstream.close();
  await releases.stop();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

async function admin(at: number, method: string, path: string, body?: unknown): Promise<Json> {
  const text = typeof body === "string";
  const response = await fetch(`${releases.origins[at]}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body === undefined ? {} : { "content-type": text ? "text/plain" : "application/json" }),
    },
    ...(body === undefined ? {} : { body: text ? body : JSON.stringify(body) }),
  });
  const message = await response.text();
  expect(response.status, `${method} ${path}: ${message}`).toBeLessThan(300);
  return JSON.parse(message || "{}") as Json;
}

const urlAt = (at: number, tenant = "kept") => `${releases.origins[at]}/mcp/${tenant}`;
const bearer = (token = keys[0]) => ({ authorization: `Bearer ${token}` });
const contentOf = (uri: string) => `/tenants/kept/resources/content?${new URLSearchParams({ uri })}`;

async function make(): Promise<void> {
  const document = { ...DOCUMENT, upstreams: { far: { url: upstream.url } } };
  await admin(0, "POST", "/tenants", { id: "kept", document });
  await admin(1, "PUT", "/tenants/kept/secrets/TOKEN", { value: "kept-secret" });
}

/** As a client of each era asks for it, by the Worker `at`. */
async function listsAll(at: number): Promise<void> {
  for (const token of keys) {
    const client = client2026(urlAt(at), {}, {}, bearer(token));
    expect((await client.request("tools/list")).status).toBe(200);
  }
  const client = client2026(urlAt(at), {}, {}, bearer());
  for (const [uri, text] of notes) {
    expect((await client.request("resources/read", { uri })).result.contents).toMatchObject([{ text }]);
  }
  for (const tenant of tenants) {
    expect((await client2026(urlAt(at, tenant)).request("tools/list")).status, tenant).toBe(200);
  }
  const prompt = await client.request("prompts/get", { name: "hello", arguments: { name: "Ann" } });
  expect(JSON.stringify(prompt.result)).toContain("Hello, Ann.");
  for (const { headers } of sessions) {
    const pinged = await post(urlAt(at), { jsonrpc: "2.0", id: 1, method: "ping" }, { headers: { ...headers } });
    expect(pinged.status).toBe(200);
  }
  await expect
    .poll(async () => (await client.request("tools/call", { name: "far__sing", arguments: {} })).text)
    .toContain('"la"');
}

/** A change by the Worker `at` reaches the standing stream of a session that the other one holds. */
async function hears(at: number, phase: number): Promise<void> {
  const session = sessions.at(-1);
  if (!session) throw new Error("there is a session");
  const uri = `note://phase-${phase}-${at}`;
  const body = { jsonrpc: "2.0", id: 2, method: "resources/subscribe", params: { uri } };
  await admin(at, "PUT", contentOf(uri), "before");
  expect((await post(urlAt(at), body, { headers: { ...session.headers } })).status).toBe(200);
  const events = await openEvents(urlAt(1 - at), { headers: { ...session.headers, accept: "text/event-stream" } });
  expect(events.status).toBe(200);
  await admin(at, "PUT", contentOf(uri), `in phase ${phase}`);
  notes.set(uri, `in phase ${phase}`);
  const notification = await events.message(({ method }) => method === "notifications/resources/updated");
  expect(notification.params).toMatchObject({ uri });
  await events.close();
}

/** Answers the call that waits since the phase before, and leaves another one waiting. */
async function parks(phase: number): Promise<void> {
  if (parked) {
    const { call, question, client } = parked;
    const answer = { jsonrpc: "2.0", id: question, result: YES };
    expect((await post(urlAt(1, "lab"), answer, { headers: { ...client.headers } })).status).toBe(202);
    await call.resume(urlAt(0, "lab"));
    const next = await call.next();
    expect(next).toMatchObject({ method: "elicitation/create", params: { message: "Paid. Was it fine?" } });
    await call.drop();
  }
  const client = await client2025(urlAt(0, "lab"), "2025-11-25", { elicitation: {} });
  const params = { name: "lab_pay", arguments: { key: `phase-${phase}` } };
  const call = await ResumableCall.begin(urlAt(1, "lab"), client, { id: `pay-${phase}`, params });
  const question = (await call.next())?.id;
  await call.drop();
  parked = { call, question, client };
}

describe.each(ORDER.map((holder, phase) => ({ holder, phase })))(
  "phase $phase, where $holder release has the objects and the other one calls them, too",
  ({ holder, phase }) => {
    test("all that was there goes on, in both", async () => {
      if (phase > 0) await releases.stop();
      releases = await startReleases(holder, storage);
      if (phase === 0) await make();
      const made = await admin(phase % 2, "POST", "/tenants/kept/keys", { name: `phase ${phase}` });
      keys.push(String(made["token"]));
      for (const at of [0, 1]) {
        tenants.push(`made-${phase}-${at}`);
        await admin(at, "POST", "/tenants", { id: `made-${phase}-${at}`, document: { mode: "open" } });
      }
      for (const at of [0, 1]) await listsAll(at);
      sessions.push(await client2025(urlAt(0), "2025-11-25", {}, bearer()));
      for (const at of [0, 1]) await hears(at, phase);
      await parks(phase);
      for (const at of [0, 1]) expect(await admin(at, "GET", "/tenants/kept/secrets")).toMatchObject({ items: [{}] });
      for (const at of [0, 1]) await listsAll(at);
    });
  },
);
