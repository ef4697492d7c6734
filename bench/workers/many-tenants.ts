// The Worker of the table of many tenants: its bindings count what is called, and its directory and its tenants can be filled
// without the admin API, which would take hours. It runs twice, as in production: the objects live in another isolate.
import * as z from "zod";
import { instrumentBindings } from "../../src/telemetry/instrument-bindings.ts";
import { createTenantStub, ANY_UID } from "../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { namespaceOf, withNamespaces } from "../../src/tenants/directory/namespaces.ts";
import { placementKey } from "../../src/tenants/directory/placement.ts";
import { shardOf, SHARD_COUNT } from "../../src/tenants/directory/shards.ts";
import { getFreshPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { DirectoryObject, TenantObject } from "../../src/objects.ts";
import { admin, createWorker, defineTool } from "../../src/tenantry.ts";
import type { Env } from "../../src/tenantry.ts";
import type { Calls, Entering, Making } from "../crowd-figures.ts";
import { WIDE_LIMITS } from "../../test/fixtures/wide-limits.ts";

/** When all of them were made, as the directory and each of them knows it. */
const CREATED = "2026-11-23T12:00:00.000123Z";

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
  features: [admin()],
});

class FillableDirectory extends DirectoryObject {
  /** Enters those of this shard. */
  async enter(names: readonly string[]): Promise<void> {
    this.sql.exec(
      "INSERT INTO tenants (id, created, state, placement_in_kv) SELECT value, ?, 'active', 1 FROM json_each(?)",
      CREATED,
      JSON.stringify(names),
    );
  }
}

class FillableTenant extends TenantObject {
  async make(maxStalenessMs: number): Promise<void> {
    const document = { mode: "open", maxStalenessMs } as const;
    const birth = { created: CREATED, own: document, effective: document, actor: { name: "bench" }, action: "create" };
    await createRpcClient(
      createTenantStub(() => this, ANY_UID),
      policyStore,
    ).create(birth);
  }
}

/** Since it was asked last. */
let calls: Calls = noCalls();

function noCalls(): Calls {
  return { held: 0, asked: 0, reads: 0, objects: {} };
}

let counted: Env | undefined;

function countedOnce(env: Env): Env {
  return (counted ??= instrumentBindings(withNamespaces(env), {
    onObjectCall: (method) => {
      calls.objects[method] = (calls.objects[method] ?? 0) + 1;
    },
    onOverload: () => {},
    onKvRead: () => {
      calls.reads += 1;
    },
  }));
}

export default {
  fetch: async (request: Request, env: Env, ctx: ExecutionContext): Promise<Response> => {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/enter":
        await enter(await request.json<Entering>(), env);
        return new Response("entered");
      case "/make":
        await make(await request.json<Making>(), env);
        return new Response("made");
      case "/calls": {
        const taken = calls;
        calls = noCalls();
        return Response.json(taken);
      }
      default:
        calls[getFreshPolicy(pathname.slice("/mcp/".length)) ? "held" : "asked"] += 1;
        return worker.fetch(request, countedOnce(env), ctx);
    }
  },
};

async function enter({ names }: Entering, env: Env): Promise<void> {
  const shards = Map.groupBy(names, (name) => shardOf(name, SHARD_COUNT));
  const entering = Array.from(shards, ([shard, own]) => {
    const object: unknown = namespaceOf(env, "DirectoryObject").getByName(`names-${shard}`);
    return (object as DurableObjectStub<FillableDirectory>).enter(own);
  });
  await Promise.all(entering);
}

/** With its placement in KV, as the directory's alarm would have written it. */
async function make({ names, maxStalenessMs }: Making, env: Env): Promise<void> {
  const placement = JSON.stringify({ created: CREATED, jurisdiction: null, region: null });
  for (const name of names) {
    const object: unknown = namespaceOf(env, "TenantObject").getByName(name);
    await (object as DurableObjectStub<FillableTenant>).make(maxStalenessMs);
    await env.BODIES.put(placementKey(name), placement);
  }
}

export * from "../../src/objects.ts";

export { FillableDirectory as DirectoryObject, FillableTenant as TenantObject };
