// Every route that writes is tried: a new one, too.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import type { Route } from "../../src/admin/route.ts";
import { LIMITS } from "../../src/limits/limit-definitions.ts";
import { ask, newTenant, operator, send } from "../support/workerd/admin.ts";
import { callOn, keeperOf } from "../support/workerd/object-calls.ts";

const LIMIT = { name: Object.keys(LIMITS)[0] ?? "" };
const PLACES: Readonly<Record<string, string>> = { key: "0123456789", name: "add", kind: "profile", version: "7" };

/** Does something as soon as the operator was known for the first time, before whoever asked hears of it. */
function onceKnown(work: () => Promise<unknown>): {
  readonly platform: typeof exports.PlatformObject;
  readonly done: Promise<void>;
} {
  const end = Promise.withResolvers<void>();
  let isKnown = false;
  const keeper = keeperOf(async (method, args) => {
    const ran = await callOn(exports.PlatformObject.getByName("platform"), method, ...args);
    if (method === "operators.operatorByHash" && !isKnown) {
      isKnown = true;
      await work();
      end.resolve();
    }
    return ran;
  });
  const platform = new Proxy(exports.PlatformObject, {
    get: (objects, member) => (member === "getByName" ? () => keeper : (Reflect.get(objects, member) as unknown)),
  });
  return { platform, done: end.promise };
}

/** Its end is sent when that is done. */
function halfSent(done: Promise<void>): ReadableStream<Uint8Array> {
  const parts = ['{"title"', ': "late"}'].map((part) => new TextEncoder().encode(part));
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(parts[0]);
    },
    pull: async (controller) => {
      await done;
      controller.enqueue(parts[1]);
      controller.close();
    },
  });
}

async function auditOf(tenant: string): Promise<string> {
  const paths = ["/audit?limit=50", `/tenants/${tenant}/audit`];
  return JSON.stringify(await Promise.all(paths.map(async (path) => (await ask("GET", path)).body)));
}

function pathOf({ path }: Route, tenant: string): string {
  const places: Readonly<Record<string, string>> = {
    ...PLACES,
    id: tenant,
    ...(path.includes("/limits/") ? LIMIT : {}),
  };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, place: string) => places[place] ?? "x");
  return path.endsWith("/content") ? `${filled}?uri=note:late` : filled;
}

// What a key alone may use has a test of its own: own-keys.test.ts.
const writes = ROUTES.filter(({ method, isForKeys }) => method !== "GET" && !isForKeys);

describe("an operator who was removed meanwhile", () => {
  it.each(writes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "is refused at the end of %s",
    async (_title, route) => {
      const tenant = await newTenant({ maxStalenessMs: 50, profiles: { profile: {} } });
      const { name, token } = await operator("owner");
      const { platform, done } = onceKnown(async () => {
        expect((await ask("DELETE", `/operators/${name}`)).status).toBe(204);
      });
      const { method } = route;
      const answer = await send(method, pathOf(route, tenant), {
        token,
        env: { PlatformObject: platform },
        ...(route.body === undefined ? {} : { body: halfSent(done) }),
        headers: { "content-type": route.body === "stream" ? "text/plain" : "application/json" },
      });
      expect([answer.status, await answer.json()]).toMatchObject([401, { detail: "The token is not known" }]);
      expect(await auditOf(tenant)).not.toContain(`"actor":"${name}"`);
      expect((await ask("GET", `/tenants/${tenant}`)).body).toMatchObject({ revision: 1, state: "active" });
    },
  );
});

describe("a tenant's administrator", () => {
  const reads = ROUTES.filter(
    ({ method, path, roles }) => method === "GET" && path.startsWith("/tenants/{id}") && roles.includes("tenant-admin"),
  );

  it.each(reads.map((route) => [route.path, route] as const))(
    "whose tenant was deleted meanwhile sees nothing of the next one of its name at %s",
    async (_path, route) => {
      const tenant = await newTenant({ maxStalenessMs: 50 });
      const { token } = await operator("tenant-admin", { tenants: [tenant] });
      const { platform } = onceKnown(async () => {
        expect((await ask("DELETE", `/tenants/${tenant}`)).status).toBe(204);
        expect((await ask("POST", "/tenants", { json: { id: tenant, document: { mode: "open" } } })).status).toBe(201);
      });
      const answer = await send("GET", pathOf(route, tenant), { token, env: { PlatformObject: platform } });
      expect([answer.status, await answer.json()]).toMatchObject([403, { detail: "This tenant is not one of yours" }]);
    },
  );
});
