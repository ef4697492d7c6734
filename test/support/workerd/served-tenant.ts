// A Worker of a test's own inside workerd: a tenant that it serves, requests to it, and a tenant's authority that
// cannot be reached for a while.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { onTestFinished } from "vitest";
import type { createWorker, Env } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { freshTenant, type FreshTenant } from "./tenant.ts";
import { aroundCalls } from "./object-calls.ts";

/** One that was made by the admin API, as far as a Worker can tell. */
export async function servedTenant(
  document: TenantDocument = { mode: "open" },
): Promise<FreshTenant & { readonly created: string }> {
  const tenant = freshTenant();
  const { created } = await directoryOf(env, tenant.id).add(tenant.id, { jurisdiction: null, region: null });
  const actor = { name: "ann" };
  await createRpcClient(tenant.stub, policyStore).create({
    created,
    own: document,
    effective: document,
    actor,
    action: "create",
  });
  return { ...tenant, created };
}

export interface Sent {
  readonly method?: "GET" | "POST";
  readonly message?: object;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: Env;
}

type Worker = Pick<ReturnType<typeof createWorker>, "fetch">;

/** In era 2025, accepting streams, unless the headers say otherwise. */
export async function sendTo(worker: Worker, path: string, sent: Sent): Promise<Response> {
  const { method = "POST", message, headers = {}, at = env } = sent;
  const body = message === undefined ? sent.body : JSON.stringify(message);
  const request = new Request(`https://mcp.example.com/mcp/${path}`, {
    method,
    headers: {
      accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2025-11-25",
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  return worker.fetch(request, at, createExecutionContext());
}

/** The headers of a new session of 2025-11-25. */
export async function sessionAt(
  worker: Worker,
  path: string,
  capabilities: object = {},
  headers: Sent["headers"] = {},
): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
  const message = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const begun = await sendTo(worker, path, { message, headers });
  await begun.body?.cancel();
  return { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
}

/** Text of a stream as it comes. */
export function readerOf({ body }: Response) {
  const reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  /** Everything up to now, once this is in it so many times; or all, when the stream ends before. */
  const times = async (wanted: string, least: number): Promise<string> => {
    while (text.split(wanted).length <= least) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    return text;
  };
  return {
    times,
    until: (wanted: string) => times(wanted, 1),
    cancel: () => reader.cancel(),
  };
}

/** The authority answers no lease until `back` is called, as in a deployment of it or where its place fails. */
export async function authorityAway({
  object,
}: FreshTenant): Promise<{ back: () => void; requestCount: () => number }> {
  let requestCount = 0;
  const back = await aroundCalls(object, (method, call) => {
    if (method !== "policy.lease") return call();
    requestCount += 1;
    throw new Error("Network connection lost.");
  });
  onTestFinished(back);
  return { back, requestCount: () => requestCount };
}
