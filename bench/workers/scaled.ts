// The Worker of the scaling table: tenants that store much, each row put there by the method that a tool's write ends in.
// Only the way to it is short: many rows in one call, because a call and a body in KV for each take minutes here. Sessions
// are ended by the method that DELETE ends in.
import * as z from "zod";
import { storageKey, createTenantStub, ANY_UID } from "../../src/tenants/object/tenant-uid.ts";
import { endedSessionStore } from "../../src/tenants/object/ended-session-store.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { namespaceOf } from "../../src/tenants/directory/namespaces.ts";
import { SESSION_LIFETIME_MS } from "../../src/sessions/session-id.ts";
import { bodyKey } from "../../src/resources/resource-row.ts";
import { digestOf } from "../../src/resources/tenant-resource-store.ts";
import { contentStore, type PutResource } from "../../src/resources/content-store.ts";
import { ContentObject, TenantObject } from "../../src/objects.ts";
import { admin, createWorker, defineTool } from "../../src/tenantry.ts";
import type { Env } from "../../src/tenantry.ts";
import { isRead, TENANTS, textOf, uriOf } from "../corpus.ts";
import type { Endings, Part } from "../corpus.ts";
import { WIDE_LIMITS } from "../../test/fixtures/wide-limits.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  handler: ({ a, b }) => String(a + b),
});

const worker = createWorker({
  limits: WIDE_LIMITS,
  name: "bench",
  version: "1.0.0",
  tools: [add],
  tenants: Object.fromEntries(TENANTS.map((name) => [name, { search: true }])),
  features: [admin()],
});

class FillableContent extends ContentObject {
  async store(resources: PutResource[], incarnation: string): Promise<void> {
    const content = createRpcClient(
      createTenantStub(() => this, incarnation),
      contentStore,
    );
    for (const resource of resources) await content.put(resource);
  }
}

class FillableTenant extends TenantObject {
  async madeAt(): Promise<string> {
    return String(
      await createRpcClient(
        createTenantStub(() => this, ANY_UID),
        policyStore,
      ).tenantUid(true),
    );
  }

  async endSessions(count: number): Promise<void> {
    const expires = Date.now() + SESSION_LIFETIME_MS;
    const incarnation = await this.madeAt();
    const ended = createRpcClient(
      createTenantStub(() => this, incarnation),
      endedSessionStore,
    );
    for (let at = 0; at < count; at += 1) await ended.endSession(crypto.randomUUID(), expires);
  }
}

export default {
  fetch: async (request: Request, env: Env, ctx: ExecutionContext): Promise<Response> => {
    switch (new URL(request.url).pathname) {
      case "/fill":
        await fill(await request.json<Part>(), env);
        return new Response("filled");
      case "/end":
        await end(await request.json<Endings>(), env);
        return new Response("ended");
      default:
        return worker.fetch(request, env, ctx);
    }
  },
};

function tenantOf(tenant: string, env: Env): DurableObjectStub<FillableTenant> {
  const object: unknown = namespaceOf(env, "TenantObject").getByName(tenant);
  return object as DurableObjectStub<FillableTenant>;
}

function contentOf(kept: string, env: Env): DurableObjectStub<FillableContent> {
  const object: unknown = namespaceOf(env, "ContentObject").getByName(kept);
  return object as DurableObjectStub<FillableContent>;
}

async function end({ tenant, count }: Endings, env: Env): Promise<void> {
  await tenantOf(tenant, env).endSessions(count);
}

async function fill({ tenant, size, from, to }: Part, env: Env): Promise<void> {
  const incarnation = await tenantOf(tenant, env).madeAt();
  const key = storageKey(tenant, incarnation);
  const resources: PutResource[] = [];
  for (let number = from; number < to; number += 1) {
    const text = textOf(number);
    const bytes = new TextEncoder().encode(text);
    const hash = await digestOf(bytes);
    if (isRead(number, size)) await env.BODIES.put(bodyKey(key, hash), bytes);
    resources.push(putOf(number, { text, hash, size: bytes.byteLength }));
  }
  await contentOf(key, env).store(resources, incarnation);
}

function putOf(number: number, { text, hash, size }: { text: string; hash: string; size: number }): PutResource {
  const about = { title: null, description: null, audience: null, priority: null, tags: [] };
  const row = {
    ...about,
    uri: uriOf(number),
    name: `Text ${number}`,
    mimeType: "text/plain",
    binary: false,
    size,
    hash,
  };
  // Without a copy, whose removal by alarm would fall into a measurement.
  return { row, searchText: text, copy: null, ifAbsent: false, resendToken: null, maxResources: null };
}

export * from "../../src/objects.ts";

export { FillableContent as ContentObject, FillableTenant as TenantObject };
