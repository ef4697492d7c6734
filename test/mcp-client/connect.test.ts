// Finding out how a server speaks: newest first, and what is told of a server that speaks in no way.

import { expect, test } from "vitest";
import { connect } from "../../src/mcp-client/connect.ts";
import { ABOUT, bench, done, expectNothingLeft, faultOf } from "./client-setup.ts";
import { sessionScript, type Exchange, type Json } from "../support/scripted-server.ts";

expectNothingLeft();

async function connecting(script?: (exchange: Exchange) => void) {
  const made = await bench(script);
  let id = 0;
  return { ...made, work: connect(made.endpoint, ABOUT, { ...made.options, nextId: () => (id += 1) }) };
}

const DISCOVERED = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };

test("a server that speaks 2026 is asked nothing more", async () => {
  const { work, server } = await connecting((one) => one.result(DISCOVERED));
  const connected = await work;
  expect(connected).toMatchObject({ transport: "2026", discovered: { result: JSON.stringify(DISCOVERED) } });
  expect(server.names).toEqual(["server/discover"]);
  expect(server.exchanges[0]?.headers).toMatchObject({ "mcp-protocol-version": "2026-07-28" });
});

const initialized = sessionScript("s-4");
const CHALLENGE = { "www-authenticate": 'Bearer resource_metadata="https://a.example/m"' };

function refused(id: string): Json {
  return { jsonrpc: "2.0", id, error: { code: -32600, message: "Missing session ID" } };
}

test.each<{ what: string; answer: (one: Exchange) => void }>([
  { what: "400 with an error about sessions", answer: (one) => one.error(-32000, "Server not initialized", 400) },
  { what: "an unknown method", answer: (one) => one.error(-32601, "Method not found") },
  { what: "404 and a page", answer: (one) => one.json("<h1>", 404, { "content-type": "text/html" }) },
  { what: "400 with an id of its own", answer: (one) => one.json(refused("server-error"), 400) },
  { what: "400 with an empty id", answer: (one) => one.json(refused(""), 400) },
  { what: "401", answer: (one) => one.refuse(401, CHALLENGE) },
  { what: "403 in JSON-RPC", answer: (one) => one.error(-32600, "No", 403) },
  { what: "429", answer: (one) => one.refuse(429) },
  { what: "500 in JSON-RPC", answer: (one) => one.error(-32603, "Oops", 500) },
  { what: "503", answer: (one) => one.refuse(503) },
  { what: "200 and JSON that is no JSON-RPC", answer: (one) => one.json({ error: "unknown method" }) },
  { what: "JSON that is no JSON-RPC", answer: (one) => one.json({ detail: "Unprocessable" }, 422) },
  { what: "a page", answer: (one) => one.json("<h1>", 200, { "content-type": "text/html" }) },
  { what: "nothing", answer: (one) => one.refuse(202) },
  { what: "a result to whatever it is asked", answer: (one) => one.result({ tools: [] }) },
  { what: "that it supports others only", answer: (one) => unsupported(one, ["2025-06-18", "2025-11-25"]) },
])("a server that answers $what is asked for a session", async ({ answer }) => {
  const { work, server } = await connecting((one) =>
    one.method === "server/discover" ? answer(one) : initialized(one),
  );
  expect(await work).toMatchObject({ transport: "2025", session: { id: "s-4", revision: "2025-11-25" } });
  expect(server.names).toEqual(["server/discover", "initialize", "notifications/initialized"]);
});

test("a session that a server begins with what it refuses is ended", async () => {
  const { work, server } = await connecting((one) => {
    if (one.verb === "DELETE") one.refuse(204);
    else if (one.method === "server/discover") one.json(refused("server-error"), 400, { "mcp-session-id": "s-0" });
    else initialized(one);
  });
  expect(await work).toMatchObject({ transport: "2025", session: { id: "s-4" } });
  const ended = server.exchanges.filter(({ verb }) => verb === "DELETE");
  expect(ended.map(({ headers }) => headers["mcp-session-id"])).toEqual(["s-0"]);
});

test.each([400, 404, 405, 500])(
  "a server that answers %i in the session that it has begun is not asked for a stream, and the session is ended",
  async (status) => {
    const { work, server } = await connecting((one) => {
      if (one.verb === "DELETE") one.refuse(204);
      else if (one.method === "initialize") initialized(one);
      else one.refuse(one.method === "server/discover" ? 400 : status);
    });
    expect(await faultOf(work)).toMatchObject({ http: { status } });
    expect(server.names).toEqual(["server/discover", "initialize", "notifications/initialized", "DELETE"]);
    expect(server.exchanges.at(-1)?.headers).toMatchObject({ "mcp-session-id": "s-4" });
  },
);

test.each([400, 404, 405])("a server that answers both with %i is asked for a stream", async (status) => {
  const { work, server } = await connecting((one) => {
    if (one.path === "/post") one.refuse(202);
    else if (one.verb === "GET") one.stream().raw("event: endpoint\ndata: /post\n\n");
    else one.refuse(status);
  });
  const stream = await server.next("GET");
  while (!server.exchanges.some(({ path }) => path === "/post")) await server.next("initialize");
  stream.event(done(2, { protocolVersion: "2024-11-05", capabilities: {}, serverInfo: {} }));
  const connected = await work;
  expect(connected).toMatchObject({ transport: "http-sse", session: { revision: "2024-11-05" } });
  expect(server.names).toEqual(["server/discover", "initialize", "GET", "initialize", "notifications/initialized"]);
  if (connected.transport === "http-sse") connected.connection.close();
});

test("a server that speaks no way at all is left, and its stream closed", async () => {
  const { work, server } = await connecting((one) => {
    if (one.path === "/post") one.refuse(500);
    else if (one.verb === "GET") one.stream().raw("event: endpoint\ndata: /post\n\n");
    else one.refuse(404);
  });
  expect(await faultOf(work)).toMatchObject({ kind: "status", http: { status: 500 } });
  await server.exchanges.find(({ verb }) => verb === "GET")?.closed;
});

test.each<{ what: string; answer: (one: Exchange) => void; fault: Json }>([
  {
    what: "a redirect to another host",
    answer: (one) => one.refuse(308, { location: "http://127.0.0.2/new" }),
    fault: { kind: "redirect" },
  },
  { what: "a broken connection", answer: (one) => one.drop(), fault: { kind: "lost" } },
  { what: "a mismatch of headers", answer: (one) => one.error(-32020, "No", 400), fault: { kind: "refused" } },
  { what: "a capability that it wants", answer: (one) => one.error(-32021, "No", 400), fault: { kind: "refused" } },
  {
    what: "versions that nobody here speaks",
    answer: (one) => unsupported(one, ["2031-01-01"]),
    fault: { kind: "refused" },
  },
])("a server that answers $what is not taken for an older one", async ({ answer, fault }) => {
  const { work, server } = await connecting(answer);
  expect(await faultOf(work)).toMatchObject(fault);
  expect(server.names).toEqual(["server/discover"]);
});

const HELLO = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} };

/** As an older server, but for its answer to `server/discover`. */
const older = (probed: (one: Exchange) => void) => (one: Exchange) => {
  if (one.name === "server/discover") probed(one);
  else if (one.name === "initialize") one.result(HELLO);
  else one.refuse(202);
};

test("a server that does not answer the probe in time is asked as an older one", async () => {
  const { work, server, clock } = await connecting(older(() => {}));
  await clock.untilWaitsFor(10_000);
  clock.advance(10_000);
  expect(await work).toMatchObject({ transport: "2025" });
  expect(server.names).toContain("initialize");
});

test.each<{ what: string; probed: (one: Exchange) => void; later: (one: Exchange) => void; fault: Json }>([
  {
    what: "a challenge that only the probe was answered with",
    probed: (one) => one.refuse(401, CHALLENGE),
    later: (one) => one.refuse(401),
    fault: { kind: "status", http: { status: 401, wwwAuthenticate: CHALLENGE["www-authenticate"] } },
  },
  {
    what: "the failure of the probe, where `initialize` is not understood",
    probed: (one) => one.refuse(503, { "retry-after": "9" }),
    later: (one) => one.error(-32600, "No", 400),
    fault: { kind: "status", http: { status: 503, retryAfter: "9" } },
  },
  {
    what: "the failure of `initialize`, where that says more",
    probed: (one) => one.error(-32603, "Oops", 500),
    later: (one) => one.error(-32001, "Unauthorized", 401),
    fault: { kind: "refused", http: { status: 401 } },
  },
])("a server that speaks no way is left with $what", async ({ probed, later, fault }) => {
  const { work } = await connecting((one) => (one.name === "server/discover" ? probed(one) : later(one)));
  expect(await faultOf(work)).toMatchObject(fault);
});

test("a redirect within the origin is followed by every request", async () => {
  const { work, server } = await connecting((one) => {
    if (one.path !== "/there/") one.refuse(307, { location: "/there/" });
    else older((probed) => probed.refuse(404))(one);
  });
  expect(await work).toMatchObject({ transport: "2025" });
  expect(server.exchanges.filter(({ path }) => path === "/there/")).toHaveLength(3);
});

test("a server that refuses the revision and names it among its own is asked once more", async () => {
  let requestCount = 0;
  const { work, server } = await connecting((one) => {
    requestCount += 1;
    if (requestCount === 1) unsupported(one, ["2026-07-28"]);
    else one.result(DISCOVERED);
  });
  expect(await work).toMatchObject({ transport: "2026" });
  expect(server.names).toEqual(["server/discover", "server/discover"]);
});

test("a server that refuses the revision a second time is left", async () => {
  const { work, server } = await connecting((one) => unsupported(one, ["2026-07-28"]));
  expect(await faultOf(work)).toMatchObject({ kind: "refused" });
  expect(server.names).toEqual(["server/discover", "server/discover"]);
});

test.each([401, 503])("a server that refuses the session with %i is not asked for a stream", async (status) => {
  const { work, server } = await connecting((one) => one.refuse(one.method === "server/discover" ? 400 : status));
  expect(await faultOf(work)).toMatchObject({ kind: "status", http: { status } });
  expect(server.names).toEqual(["server/discover", "initialize"]);
});

function unsupported(one: Exchange, supported: string[]): void {
  const error = { code: -32022, message: "Unsupported protocol version", data: { supported, requested: "2026-07-28" } };
  one.json({ jsonrpc: "2.0", id: one.message["id"], error }, 400);
}
