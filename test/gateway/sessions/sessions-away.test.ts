// Every call to an object in a session with an upstream fails in every way. The caller gets an answer in time, and the
// upstream gets the call once.

import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import { createWorker, gateway, type Env } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { OBJECT_FAULTS, withFault, type ObjectFault } from "../../support/workerd/object-faults.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });

type Method = (...args: unknown[]) => Promise<unknown>;
const AWAY_CLASSES = ["UpstreamObject", "SessionObject"] as const;

/** `steps` gets the names of all calls to the objects; `at`: those that fail. */
function faulty(steps: string[], at?: string, fault: ObjectFault = "hangs"): Env {
  const namespaces = AWAY_CLASSES.map((className) => {
    const getByName = (name: string) =>
      new Proxy(exports[className].getByName(name) as object, {
        get:
          (stub, method: string) =>
          async (...args: unknown[]) => {
            const step = `${className}.${method}`;
            steps.push(step);
            const work = async () => (stub as Record<string, Method>)[method]?.(...args);
            return step === at ? withFault(fault, work) : work();
          },
      });
    return [className, { getByName }] as const;
  });
  return { ...env, ...Object.fromEntries(namespaces) };
}

/** A server of era 2025 with sessions. */
function sessionServer() {
  const known = new Set<string>();
  const called: string[] = [];
  const ended: string[] = [];
  const url = upstreamAt(async (request) => {
    const session = request.headers.get("mcp-session-id") ?? "";
    if (request.method === "DELETE") {
      known.delete(session);
      ended.push(session);
      return new Response(null, { status: 204 });
    }
    const { id, method } = await request.json<{ readonly id?: number; readonly method: string }>();
    if (method !== "initialize" && !known.has(session)) return new Response(null, { status: 404 });
    if (id === undefined) return new Response(null, { status: 202 });
    const begun = method === "initialize" ? crypto.randomUUID() : undefined;
    if (begun !== undefined) known.add(begun);
    if (method === "tools/call") called.push(session);
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }] },
      "tools/call": { content: [{ type: "text", text: "gone there" }] },
    };
    const headers = begun === undefined ? {} : { "mcp-session-id": begun };
    return Response.json({ jsonrpc: "2.0", id, result: results[method] ?? {} }, { headers });
  });
  return { url, known, called, ended };
}

const CALLED = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "up__go", arguments: {} } };

async function scene(what: "first" | "forgotten") {
  const server = sessionServer();
  const { id, stub } = await servedTenant({
    mode: "open",
    maxStalenessMs: 300,
    upstreams: { up: { url: server.url, era: "2025", timeoutMs: 6000 } },
  });
  const key = await createKey();
  await createRpcClient(stub, policyStore).addKey(
    { id: key.id, hash: key.hash, name: "k", scopes: null, profile: null, expires: null },
    { name: "ann" },
  );
  const authorization = `Bearer ${key.token}`;
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const hello = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const begun = await sendTo(worker, id, { message: hello, headers: { authorization } });
  await begun.text();
  const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", authorization };
  const ask = async (message: object, at?: Env) => {
    const response = await sendTo(worker, id, { message, headers, ...(at && { at }) });
    return response.text();
  };
  await expect
    .poll(() => ask({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }), { timeout: 15_000 })
    .toContain("up__go");
  await ask({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "info" } });
  if (what === "forgotten") {
    await ask(CALLED);
    server.known.clear();
    server.called.length = 0;
  }
  return { server, call: (at: Env) => ask(CALLED, at) };
}

const SCENES = [
  ["that nobody has begun", "first", ["SessionObject.logLevel", "UpstreamObject.claim", "UpstreamObject.store"]],
  [
    "that the upstream has forgotten",
    "forgotten",
    ["UpstreamObject.invalidate", "UpstreamObject.claim", "UpstreamObject.store"],
  ],
] as const;
const PATIENT = { timeout: 90_000 };

it.each(SCENES)("a call in a session %s is answered in time, and sent once", PATIENT, async (_title, what, wanted) => {
  const steps: string[] = [];
  const { call } = await scene(what);
  expect(await call(faulty(steps))).toContain("gone there");
  expect(steps).toEqual(expect.arrayContaining([...wanted]));
  const cases = [...new Set(steps)].flatMap((step) => OBJECT_FAULTS.map((fault) => ({ step, fault })));
  const told = await Promise.all(
    cases.map(async ({ step, fault }) => {
      const { call: ask, server } = await scene(what);
      const late = scheduler.wait(20_000).then(() => "nothing in 20 s");
      const text = await Promise.race([ask(faulty([], step, fault)), late]);
      const message = text.includes("gone there") ? "the answer" : text.slice(0, 200);
      return { step, fault, said: message, sent: server.called.length };
    }),
  );
  expect(told).toEqual(cases.map((one) => ({ ...one, said: "the answer", sent: 1 })));
});
