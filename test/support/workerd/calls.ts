// Requests as the protocol hands them to its handlers, for a tenant on real bindings.

import { resolveLimits } from "../../../src/limits/limit-definitions.ts";
import { env } from "cloudflare:workers";
import { ANONYMOUS } from "../../../src/auth/principal.ts";
import type { RequestScope, CatalogAccess } from "../../../src/handlers/request-scope.ts";
import type { McpRequest, EventSink } from "../../../src/protocol/mcp-request.ts";
import { createViewStore } from "../../../src/resources/view-store.ts";
import { REVISION_2026 } from "../../../src/protocol/revisions.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import type { FreshTenant } from "./tenant.ts";

/** Keeps what was sent, and can cancel. */
export class RecordingSink implements EventSink {
  readonly sent: { method: string; params: JsonObject }[] = [];
  readonly #cancel = new AbortController();

  notify(method: string, params: JsonObject): void {
    this.sent.push({ method, params });
  }

  get cancelled(): AbortSignal {
    return this.#cancel.signal;
  }

  cancel(): void {
    this.#cancel.abort();
  }
}

/** A request of era 2026 by a client that can be asked everything. */
export function callOf(about: Partial<McpRequest> = {}): McpRequest {
  return {
    revision: REVISION_2026,
    id: 1,
    method: "tools/call",
    params: {},
    capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
    progressToken: undefined,
    logLevel: undefined,
    session: undefined,
    sink: new RecordingSink(),
    header: () => null,
    now: Date.now,
    ...about,
  };
}

export function requestScopeOf(
  { id, uid: meant, stub, content }: FreshTenant,
  about: Partial<RequestScope> = {},
): RequestScope {
  const access: CatalogAccess = about.access ?? {
    cacheScope: "public",
    sees: () => true,
    configOf: () => undefined,
    settings: () => ({}),
  };
  return {
    tenant: id,
    tenantRef: { id, placement: DEFAULT_PLACEMENT, uid: meant },
    access,
    limits: resolveLimits(),
    profile: null,
    principal: ANONYMOUS,
    owner: async () => (about.principal ?? ANONYMOUS).id,
    env,
    hops: 0,
    requestId: "request-1",
    headers: new Headers(),
    clientHeader: () => null,
    sentText: undefined,
    ring: [{ id: "test", secret: new Uint8Array(32).fill(7) }],
    hooks: {},
    recheck: async () => undefined,
    resources: () => createViewStore({ storageKey: id, access, limits: resolveLimits(), bodies: env.BODIES }, content),
    secret: () => Promise.resolve(undefined),
    stub: () => stub,
    contentStub: () => content,
    refreshBy: () => {},
    waitUntil: () => {},
    ...about,
  };
}
