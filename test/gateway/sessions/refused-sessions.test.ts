// An upstream that was restarted refuses its old sessions, in the words of its framework. Other refusals begin no new
// session.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import { sessionObjectName } from "../../../src/gateway/sessions/stored-session.ts";
import { createWorker, gateway } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });

const error = (code: number, message: string) => ({ jsonrpc: "2.0", id: null, error: { code, message } });
const BAD = { status: 400 };

/** How servers refuse a session that they do not know. */
const GONE = [
  "as the specification says",
  () => Response.json(error(-32001, "Session not found"), { status: 404 }),
] as const;
/** A call may have run where a server answers so. */
const UNSURE: readonly (readonly [string, () => Response])[] = [
  [
    "as most that follow the official examples",
    () => Response.json(error(-32000, "No valid session ID provided"), BAD),
  ],
  ["as an invalid request", () => Response.json(error(-32600, "Session not found"), BAD)],
  ["as a text", () => new Response("Invalid session ID", { ...BAD, headers: { "content-type": "text/plain" } })],
  ["without a word", () => new Response(null, BAD)],
];

const TOOLS = [
  { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "write", inputSchema: { type: "object" } },
  { name: "bad", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
];

interface UpstreamRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

const HELLO = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };

/** A server of era 2025 that keeps sessions. */
function server(refusal: () => Response) {
  const known = new Set<string>();
  const begun: string[] = [];
  const begin = (id: number | undefined) => {
    const session = crypto.randomUUID();
    known.add(session);
    begun.push(session);
    return Response.json({ jsonrpc: "2.0", id, result: HELLO }, { headers: { "mcp-session-id": session } });
  };
  const url = upstreamAt(async (request) => {
    const session = request.headers.get("mcp-session-id") ?? "";
    if (request.method === "DELETE") return new Response(null, { status: known.delete(session) ? 204 : 404 });
    const { id, method, params } = await request.json<UpstreamRequest>();
    if (method === "initialize") return begin(id);
    if (!known.has(session)) return refusal();
    if (id === undefined) return new Response(null, { status: 202 });
    if (params?.name === "bad") return Response.json({ ...error(-32000, "bad"), id }, BAD);
    const result = method === "tools/list" ? { tools: TOOLS } : { content: [{ type: "text", text: `in ${session}` }] };
    return Response.json({ jsonrpc: "2.0", id, result });
  });
  return { url, known, begun };
}

/** The same, and a caller of it with a key. */
async function scene(refusal: () => Response) {
  const { url, known, begun } = server(refusal);
  const tenant = await servedTenant({
    mode: "open",
    maxStalenessMs: 300,
    upstreams: { up: { url, era: "2025" } },
  });
  const key = await createKey();
  const grant = { id: key.id, hash: key.hash, name: "k", scopes: null, profile: null, expires: null };
  await createRpcClient(tenant.stub, policyStore).addKey(grant, { name: "ann" });
  const headers = { authorization: `Bearer ${key.token}`, "mcp-protocol-version": "2025-06-18" };
  const ask = async (method: string, params: object) => {
    const message = { jsonrpc: "2.0", id: 1, method, params };
    return (await sendTo(worker, tenant.id, { message, headers })).text();
  };
  await expect.poll(() => ask("tools/list", {}), { timeout: 15_000 }).toContain("up__read");
  // Reading lists has had a session of its own.
  begun.length = 0;
  const incarnation = (await createRpcClient(tenant.stub, policyStore).tenantUid(false)) ?? "";
  const meant = { id: tenant.id, placement: DEFAULT_PLACEMENT, uid: incarnation };
  const object = exports.UpstreamObject.getByName(sessionObjectName(meant, "up"));
  return {
    call: async (name: string) => ask("tools/call", { name: `up__${name}`, arguments: {} }),
    restart: () => known.clear(),
    known,
    begun,
    /** Some minutes pass in which nobody calls. */
    idle: async () => {
      await runInDurableObject(object, (_instance, { storage: { sql } }) => {
        sql.exec("UPDATE sessions SET expires = 0");
      });
      await runDurableObjectAlarm(object);
    },
  };
}

describe.each([GONE, ...UNSURE])("a session that an upstream refuses %s", (_title, refusal) => {
  it("is replaced for requests that may be repeated, and the new one used from then on", async () => {
    const { call, restart, begun, idle, known } = await scene(refusal);
    for (let restarts = 1; restarts <= 3; restarts += 1) {
      for (let calls = 0; calls < 3; calls += 1) expect(await call("read")).toContain(`in ${begun.at(-1)}`);
      expect(begun).toHaveLength(restarts);
      if (restarts < 3) restart();
    }
    await idle();
    expect([...known]).toEqual([]);
  });
});

it("a call in a lost session has not run: it is sent again in a new one, and its result says so", async () => {
  const { call, restart, begun } = await scene(GONE[1]);
  expect(await call("write")).not.toContain("tenantry/session");
  restart();
  const again = await call("write");
  expect(again).toContain(`in ${begun[1]}`);
  expect(again).toContain('"_meta":{"tenantry/session":"new"}');
  expect(await call("write")).not.toContain("tenantry/session");
  expect(begun).toHaveLength(2);
});

describe.each(UNSURE)("a session that an upstream refuses %s", (_title, refusal) => {
  it("fails a call that may have run, once, and is another one for the next", async () => {
    const { call, restart, begun } = await scene(refusal);
    expect(await call("write")).toContain(`in ${begun[0]}`);
    restart();
    expect(await call("write")).toContain('"error"');
    expect(await call("write")).toContain(`in ${begun[1]}`);
    expect(begun).toHaveLength(2);
  });
});

it("a server that refuses a call in every session gets no new session for each call, and each session is ended", async () => {
  const { call, begun, idle, known } = await scene(() => new Response(null, BAD));
  for (let calls = 0; calls < 3; calls += 1) expect(await call("read")).toContain("in ");
  for (let calls = 0; calls < 10; calls += 1) expect(await call("bad")).toContain('"bad"');
  expect(begun.length).toBeLessThanOrEqual(2);
  await idle();
  await expect.poll(() => [...known]).toEqual([]);
});
