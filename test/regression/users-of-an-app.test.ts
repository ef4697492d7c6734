// Every user of a mounted app was `anonymous`: one answered another's `requestState`, used their session, read their stream and
// their stored call. Now the app says who calls, and each has their own.

import { expect, test } from "vitest";
import { as, clientAs, startUsersApp, textOf } from "../support/app-users.ts";
import { openEvents } from "../support/event-reader.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, post } from "../support/mcp-client.ts";

const ADA = { tenant: "acme", id: "ada" };
const BOB = { tenant: "acme", id: "bob" };

const app = await startUsersApp();
const url = app.url("/acme");

test("a requestState is taken from who got it alone", async () => {
  const asking = { elicitation: { form: {} } };
  const [ada, bob] = await Promise.all([ADA, BOB].map((user) => clientAs(user, "2026-07-28", url, asking)));
  const begun = await ada?.request("tools/call", { name: "pay", arguments: {} });
  const { requestState } = begun?.result ?? {};
  const retry = {
    name: "pay",
    arguments: {},
    requestState,
    inputResponses: { sure: { action: "accept", content: {} } },
  };
  const stolen = await bob?.request("tools/call", retry);
  expect(stolen?.error?.message).toContain("requestState belongs to another request");
  const own = await ada?.request("tools/call", retry);
  expect(own && textOf(own)).toBe("app ada: accept");
});

test("a session is that of who began it", async () => {
  const ada = await client2025(url, "2025-11-25", {}, as(ADA));
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  for (const other of [as(BOB), {}, { "x-user": JSON.stringify({ tenant: "acme", id: "anonymous" }) }]) {
    const headers = { ...ada.headers, "x-user": "", ...other };
    if (headers["x-user"] === "") delete (headers as Record<string, string>)["x-user"];
    expect((await post(url, list, { headers })).status).toBe(404);
    expect((await fetch(url, { headers: { ...headers, accept: "text/event-stream" } })).status).toBe(404);
    expect((await fetch(url, { method: "DELETE", headers })).status).toBe(404);
  }
  expect((await ada.request("tools/list")).status).toBe(200);
});

test("a stream of HTTP+SSE takes what its own user posts", async () => {
  const stream = await openEvents(url, { headers: as(ADA) });
  const { data = "" } = (await stream.next()) ?? {};
  const endpoint = new URL(data, url).href;
  const ping = { jsonrpc: "2.0", id: 7, method: "ping" };
  expect((await post(endpoint, ping, { headers: as(BOB) })).status).toBe(404);
  expect((await post(endpoint, ping)).status).toBe(404);
  expect((await post(endpoint, ping, { headers: as(ADA) })).status).toBe(202);
  expect(await stream.message(({ id }) => id === 7)).toMatchObject({ result: {} });
  await stream.close();
  const foreign = await fetch(endpoint, { headers: { accept: "text/event-stream", ...as(BOB) } });
  expect(foreign.status).toBe(404);
});

test("a stored call is shown to its own user, and goes on as them without a request", async () => {
  const ada = await client2025(url, "2025-11-25", {}, as(ADA));
  const call = await ResumableCall.begin(url, ada, {
    id: "stored",
    params: { name: "wait", arguments: { key: "own" }, _meta: { progressToken: "p" } },
  });
  expect(await call.next()).toMatchObject({ method: "notifications/progress" });
  await call.drop();
  const bobs = await client2025(url, "2025-11-25", {}, as(BOB));
  for (const session of [bobs.headers["mcp-session-id"], ada.headers["mcp-session-id"]]) {
    const headers = { ...bobs.headers, "mcp-session-id": String(session), "last-event-id": call.lastEventId };
    expect((await fetch(url, { headers: { ...headers, accept: "text/event-stream" } })).status).toBeGreaterThanOrEqual(
      400,
    );
  }
  await bobs.request("tools/call", { name: "open", arguments: { key: "own" } });
  await call.resume(url);
  const done = (await call.next()) as { result: { content: { text: string }[] } };
  expect(JSON.parse(String(done.result.content[0]?.text))).toMatchObject({ kind: "app", id: "app ada" });
  await call.drop();
});
