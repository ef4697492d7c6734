// Upstreams for tests inside workerd: what the Worker fetches from a host of a test's own is answered by a function of
// that test, in this isolate.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { onTestFinished, vi } from "vitest";
import type { UpstreamContext } from "../../../src/deployment/deployment.ts";
import { storageKey } from "../../../src/tenants/object/tenant-uid.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import type { createWorker } from "../../../src/tenantry.ts";
import { restoreFixtureWorker } from "./fixture-registry.ts";
import type { FreshTenant } from "./tenant.ts";

export type Answering = (request: Request) => Response | Promise<Response>;

const answering = new Map<string, Answering>();

/** The URL of an upstream that this function answers, until the test ends. */
export function upstreamAt(answer: Answering): string {
  const host = `up-${crypto.randomUUID()}.example.com`;
  answering.set(host, answer);
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = new Request(input, init);
    const asked = new URL(request.url).host;
    // Whoever asks where a name leads: to the public internet.
    if (asked === "cloudflare-dns.com") return Response.json({ Answer: [{ type: 1, TTL: 60, data: "93.184.215.14" }] });
    const found = answering.get(asked);
    if (!found) throw Object.assign(new TypeError("fetch failed"), { code: "ECONNREFUSED" });
    return found(request);
  });
  onTestFinished(() => {
    answering.delete(host);
  });
  return `https://${host}/mcp/acme`;
}

/** What an operator's requests about the upstreams of a tenant are made with. */
export function upstreamContextOf(
  { id, stub, uid: meant }: FreshTenant,
  document: TenantDocument,
  more: Partial<UpstreamContext> = {},
): UpstreamContext {
  return {
    tenant: id,
    placement: { jurisdiction: null, region: null },
    created: meant,
    revision: 1,
    document,
    sectionHashes: new Map(),
    server: { name: "t", version: "1" },
    env: { ...env },
    stub: () => stub,
    secret: async () => undefined,
    onError: () => {},
    storageKey: storageKey(id, meant),
    bodies: env.BODIES,
    actor: { name: "ann" },
    ...more,
  };
}

/**
 * Another Worker of this project as an upstream: the tenant `acme` of it, whose leases are to last longer than the test. The test
 * is a Durable Object: shared with the invocations that read the upstream, the next lease would now and then be lost to it.
 * `heard` gets the bodies that it was sent.
 */
export function workerAt(worker: Pick<ReturnType<typeof createWorker>, "fetch">, requests: string[] = []): string {
  restoreFixtureWorker();
  return upstreamAt(async (request) => {
    requests.push(await request.clone().text());
    return worker.fetch(request, env, createExecutionContext());
  });
}
