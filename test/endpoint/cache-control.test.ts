import { beforeAll, describe, expect, test } from "vitest";
import { TENANT_HOST } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { sendRaw, write } from "../support/raw-http.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "caches");

let keyed = "";
beforeAll(async () => {
  keyed = await admin.tenant({ mode: "key" });
});

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Its status and what it says to caches; the rest is not read, because a stream has no end. */
async function kept({
  method = "POST",
  path = "/mcp/lab",
  headers = {},
  body,
}: Sent): Promise<(string | number | null)[]> {
  const end = new AbortController();
  const init = { method, headers: { ...headers }, signal: end.signal, ...(body === undefined ? {} : { body }) };
  const answer = await fetch(origin + path, init);
  end.abort();
  return [answer.status, answer.headers.get("cache-control")];
}

const text = (value: unknown) => JSON.stringify(value);

/** Without an id. */
function announced(sent: Sent): Sent {
  const { id: _, ...body } = JSON.parse(sent.body ?? "") as Json;
  return { ...sent, body: text(body) };
}

describe.each(ERAS)("in era $era", ({ revision }) => {
  const said = (
    method: string,
    params: Json = {},
    more: Readonly<Record<string, string>> = {},
    id: unknown = 1,
  ): Sent => {
    const { headers, body } = write(revision, method, params, id);
    return { headers: { ...headers, ...more }, body: text(body) };
  };

  test.each<[string, number, () => Sent]>([
    ["a result", 200, () => said("tools/list")],
    ["a tool's result", 200, () => said("tools/call", { name: "lab_echo", arguments: {} })],
    ["a notification", 202, () => announced(said("notifications/cancelled", { requestId: 9 }))],
    // A name that nobody asked for before: what was answered for one is remembered for a moment.
    [
      "an unknown tenant beside one that wants a key",
      401,
      () => ({ ...said("tools/list"), path: `/mcp/nobody-${crypto.randomUUID().slice(0, 8)}` }),
    ],
    ["a path that is none", 404, () => ({ ...said("tools/list"), path: "/nothing" })],
    ["a tenant that wants a key", 401, () => ({ ...said("tools/list"), path: `/mcp/${keyed}` })],
    ["a body of another type", 415, () => said("tools/list", {}, { "content-type": "text/plain" })],
    ["an answer of another type", 406, () => said("tools/list", {}, { accept: "image/png" })],
    ["a foreign page", 403, () => said("tools/list", {}, { origin: "https://evil.example" })],
    ["what is no JSON", 400, () => ({ ...said("tools/list"), body: "{" })],
  ])("no cache stores the answer to %s", async (_what, status, sent) => {
    expect(await kept(sent())).toEqual([status, "no-store"]);
  });

  test("no cache stores the answer to an unknown method", async () => {
    expect((await kept(said("no/such")))[1]).toBe("no-store");
  });

  test("an answer as a stream is passed on as it is", async () => {
    expect(await kept(said("tools/list", {}, { accept: "text/event-stream" }))).toEqual([
      200,
      "no-cache, no-transform",
    ]);
  });
});

test("no cache stores the answer to a batch", async () => {
  const { headers, body } = write("2025-03-26", "ping");
  expect(await kept({ headers, body: text([body]) })).toEqual([200, "no-store"]);
});

test("a session's beginning, its stream and its end", async () => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const { headers, body } = write("2025-11-25", "initialize", params);
  const begun = await fetch(`${origin}/mcp/lab`, { method: "POST", headers, body: text(body) });
  expect([begun.status, begun.headers.get("cache-control")]).toEqual([200, "no-store"]);
  const session = { ...headers, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const stream = { method: "GET", headers: { ...session, accept: "text/event-stream" } };
  expect(await kept(stream)).toEqual([200, "no-cache, no-transform"]);
  expect(await kept({ method: "DELETE", headers: session })).toEqual([204, "no-store"]);
  expect(await kept(stream)).toEqual([404, "no-store"]);
});

test.each<[string, number, Sent]>([
  ["a preflight", 204, { method: "OPTIONS", headers: { origin: "http://localhost:6274" } }],
  ["a method that is none", 405, { method: "PUT" }],
  ["a GET for nothing", 405, { method: "GET" }],
  ["the page", 200, { method: "GET", headers: { accept: "text/html" } }],
  ["the start page of no tenant", 404, { method: "GET", path: "/" }],
  ["/healthz", 200, { method: "GET", path: "/healthz" }],
  ["/readyz", 200, { method: "GET", path: "/readyz" }],
  ["/readyz while storage fails", 503, { method: "GET", path: "/readyz?fixture=kv-fails" }],
  ["the admin API to nobody", 401, { method: "GET", path: "/admin/v1/tenants" }],
])("no cache stores the answer to %s", async (_what, status, sent) => {
  expect(await kept(sent)).toEqual([status, "no-store"]);
});

test("the stream of HTTP+SSE is passed on as it is", async () => {
  const sent = { method: "GET", headers: { accept: "text/event-stream" } };
  expect(await kept(sent)).toEqual([200, "no-cache, no-transform"]);
});

test("no cache stores an answer of the admin API on a tenant's hostname", async () => {
  const reply = await sendRaw(`${origin}/admin/v1/tenants`, { method: "GET", headers: { host: `lab.${TENANT_HOST}` } });
  expect([reply.status, reply.headers["cache-control"]]).toEqual([404, "no-store"]);
});
