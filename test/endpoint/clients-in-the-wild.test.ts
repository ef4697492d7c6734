// What clients that people use were seen to send, and what each gets.

import { beforeAll, expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2025, post, REVISIONS_2025, type Json } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";
import { expectOfficial } from "../support/official-schema.ts";
import type { Place } from "./clients-in-the-wild/row.ts";
import { WILD_CLIENTS } from "./clients-in-the-wild/rows.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "wild");
const lab = `${origin}/mcp/lab`;
let keyed = "";
let place: Place = { session: "", key: "", ended: "" };

beforeAll(async () => {
  keyed = await admin.tenant({ mode: "key" });
  const [key, ended] = [await admin.key(keyed), await admin.key(keyed)];
  await admin.ask("DELETE", `/tenants/${keyed}/keys/${ended.id}`);
  const { headers } = await client2025(lab);
  place = { session: String(headers["mcp-session-id"]), key: key.token, ended: ended.token };
});

const named = WILD_CLIENTS.map((one) => ({ ...one, name: `${one.client} (${one.seen}): ${one.sends}` }));

test.each(named)("$name", async ({ to, path = "", method = "POST", headers = {}, body, status, says = "" }) => {
  const base = to === "origin" ? origin : to === "keyed" ? `${origin}/mcp/${keyed}` : lab;
  const sent = typeof body === "object" && !Array.isArray(body) ? JSON.stringify(body) : body;
  const reply = await sendRaw(base + path, {
    method,
    headers: typeof headers === "function" ? headers(place) : headers,
    ...(sent === undefined ? {} : { body: sent as string }),
    standing: true,
  });
  expect({ status: reply.status, text: reply.text }).toMatchObject({ status });
  const { "www-authenticate": challenge } = reply.headers;
  expect(`${reply.text}\n${JSON.stringify(reply.headers)}\n${challenge ?? ""}`).toContain(says);
});

test("the challenge tells a wrong key from a missing one", async () => {
  const challengeOf = async (headers: Record<string, string>) =>
    (await post(`${origin}/mcp/${keyed}`, { jsonrpc: "2.0", id: 1, method: "ping" }, { headers })).headers.get(
      "www-authenticate",
    );
  expect(await challengeOf({})).toBe('Bearer realm="tenantry"');
  expect(await challengeOf(bearer(place.ended))).toBe('Bearer realm="tenantry", error="invalid_token"');
});

test.each(REVISIONS_2025)("in %s a member of null counts as absent, in a session too", async (revision) => {
  const client = await client2025(lab, revision);
  const send = (body: Json) => post(lab, { jsonrpc: "2.0", ...body }, { headers: { ...client.headers }, revision });
  const params = { name: "lab_echo", arguments: null };
  const [list, called, again] = await Promise.all([
    send({ id: 1, method: "tools/list", params: null }),
    send({ id: 2, method: "tools/call", params }),
    send({ id: 3, method: "resources/list", params: { cursor: null } }),
  ]);
  expect([list.error, called.error, again.error]).toEqual([undefined, undefined, undefined]);
  expect(list.result.tools).toEqual((await client.request("tools/list")).result.tools);
  expect((await send({ id: null, method: "notifications/initialized", params: null })).status).toBe(202);
});

test("a batch of 2025-03-26 gets its progress, and each of its answers as an event", async () => {
  const steps = (id: number, progressToken: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "lab_steps", arguments: { steps: 2 }, _meta: { progressToken } },
  });
  const batch = [steps(1, "one"), steps(2, "two"), { jsonrpc: "2.0", method: "notifications/initialized" }, 5];
  const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26" };
  const streamed = await post(lab, batch, { headers });
  expect(streamed.headers.get("content-type")).toBe("text/event-stream");
  for (const message of streamed.messages) expectOfficial("2025-03-26", message, { direction: "server" });
  const notifications = streamed.messages.filter(({ method }) => method === "notifications/progress");
  const tokens = notifications.map(({ params }) => String((params as Json)["progressToken"]));
  expect(tokens.toSorted((one, other) => one.localeCompare(other))).toEqual(["one", "one", "two", "two"]);
  expect(streamed.messages.filter((one) => "id" in one).map(({ id }) => id)).toEqual([1, 2, null]);
  const plain = await post(lab, batch, { headers: { ...headers, accept: "application/json" } });
  expect(plain.messages.map(({ id }) => id)).toEqual([1, 2, null]);
});
