// A server that is out to harm whoever prints what it says: an admin API and an MCP endpoint whose every text, whatever
// member it stands in, is changed by the test.

import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { FakeAdmin } from "../support/fake-admin.ts";
import { ANY_URI, ANY_VALUE } from "./command-forms.ts";

type Json = Record<string, unknown>;

/** Of MCP: what must stay as it is so that a client reads the rest. */
const PROTOCOL = new Set([
  "jsonrpc",
  "method",
  "resultType",
  "type",
  "mode",
  "requestState",
  "role",
  "protocolVersion",
]);

/** Every text in it, and every name of a member that is no name of the API's own. */
export function changedTexts(value: unknown, change: (text: string, member: string) => string, member = ""): unknown {
  if (typeof value === "string") return change(value, member);
  if (Array.isArray(value)) return value.map((one) => changedTexts(one, change, member));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => {
    return [name.startsWith("free-") ? change(name, member) : name, changedTexts(one, change, name)] as const;
  });
  return Object.fromEntries(entries);
}

/** With one of everything, so that no list is empty. */
export function fill(admin: FakeAdmin): void {
  const prompts = { "free-prompt": { description: "d", messages: [] } };
  const free = { "free-name": {} };
  const document = { extends: ["standard"], title: "T", hostnames: ["h"], profiles: free, scopes: free, tools: free };
  const tenant = admin.addTenant(ANY_VALUE, {
    ...document,
    prompts: { ...prompts, [ANY_VALUE]: { messages: [] } },
    upstreams: { [ANY_VALUE]: { url: "https://mcp.example.com", headers: { "x-free": "f" } } },
  });
  const created = "2026-11-21T10:00:00.000Z";
  const key = { id: "key0000001", name: ANY_VALUE, scopes: ["s"], profile: "p", created, expires: created };
  const about = { title: "t", description: "d", tags: ["x"] };
  admin.bases.set("standard", { title: "base" });
  admin.bases.set(ANY_VALUE, { title: "base" });
  admin.addResource(ANY_VALUE, ANY_URI, "body", about);
  admin.addResource(ANY_VALUE, `${ANY_URI}/one.md`, "body", about);
  admin.operators.set("o", { name: "o", role: "tenant-admin", tenants: ["t"], created, expires: created });
  tenant.keys.set(key.id, { ...key, lastUsed: created, retires: created });
  tenant.suspensions.set("tool x", { kind: "tool", name: "x", note: "n", since: created });
  tenant.secrets.set("S", "value");
  tenant.audit.push({
    sequence: 1,
    at: created,
    actor: "a",
    action: "b",
    target: "t",
    before: { a: "1" },
    after: { a: "2" },
  });
  const changes = [{ tenant: "t", changes: [{ path: "p", before: "1", after: "2" }] }];
  Object.assign(admin.rollout, { missing: ["t"], refused: [{ tenant: "t", error: "e" }], changes });
}

export interface HostileServer {
  readonly admin: FakeAdmin;
  readonly url: string;
  /** Since it was last emptied: which requests of MCP came. */
  readonly asked: string[];
}

/** An admin API with everything in it, and in front of it an endpoint for every tenant. */
export async function hostileServer(change: (text: string, member: string) => string): Promise<HostileServer> {
  const admin = new FakeAdmin();
  await admin.start();
  fill(admin);
  admin.rewrite = (json) => changedTexts(json, change);
  const requests: string[] = [];
  let asksBefore = 0;
  const server = createServer((request, response) => {
    void (async () => {
      if (!request.url?.startsWith("/mcp")) {
        response.writeHead(307, { location: "https://elsewhere.example/\u009b2J" }).end();
        return;
      }
      const message = JSON.parse((await text(request)) || "{}") as Json;
      const method = String(message["method"]);
      requests.push(method);
      asksBefore += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("retry: 1\n");
      for (const one of answers(message, asksBefore)) {
        const changed = changedTexts(one, (word, member) => (PROTOCOL.has(member) ? word : change(word, member)));
        response.write(`data: ${JSON.stringify(changed)}\n\n`);
      }
      response.end();
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await admin.stop();
  });
  return { admin, asked: requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

function answers({ id, method, params }: Json, number: number): Json[] {
  const base = { jsonrpc: "2.0", id };
  const ok = (result: Json) => [{ ...base, result: { resultType: "complete", ...result } }];
  const said = (name: string, more: Json) => ({ jsonrpc: "2.0", method: `notifications/${name}`, params: more });
  if (method === "tools/list") {
    const inputSchema = { type: "object", properties: { "free-argument": { type: "string" } } };
    return ok({ tools: [{ name: "n", title: "t", description: "d", inputSchema }], ttlMs: 0, cacheScope: "private" });
  }
  if (method === "tools/call") {
    const progress = said("progress", { progressToken: id, progress: 1, total: 2, message: "half" });
    if (number % 3 === 0 && !("requestState" in (params as Json))) return [progress, ...questions(base)];
    return [progress, ...ok({ content: CONTENT, structuredContent: { a: "b" }, isError: number % 2 === 0 })];
  }
  if (method === "subscriptions/listen" && number % 2 === 1) {
    const _meta = { [SUBSCRIPTION]: id };
    const changes = [said("resources/updated", { _meta, uri: "u" }), said("tools/list_changed", { _meta, free: "f" })];
    return [said("subscriptions/acknowledged", { _meta, notifications: { resourceSubscriptions: ["u"] } }), ...changes];
  }
  return [{ ...base, error: { code: -32601, message: "refused", data: { why: "w" } } }];
}

const CONTENT = [
  { type: "text", text: "said" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
  { type: "resource_link", uri: "u", name: "n" },
  { type: "resource", resource: { uri: "u", text: "inside" } },
  { type: "resource", resource: { uri: "u", blob: "AAAA" } },
];

function questions(base: Json): Json[] {
  const field = { type: "string", title: "t", description: "d", enum: ["one"], default: "x" };
  const requestedSchema = { type: "object", properties: { "free-field": field }, required: ["free-field"] };
  const ask = (params: Json) => ({ method: "elicitation/create", params });
  const inputRequests = {
    form: ask({ mode: "form", message: "m", requestedSchema }),
    url: ask({ mode: "url", message: "m", url: "https://example.com/", elicitationId: "e" }),
  };
  return [{ ...base, result: { resultType: "input_required", requestState: "s", inputRequests } }];
}
