// What a brake says of isolates that are cut off, and what it leaves in KV of a tenant that is served in an outage.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { directoryOf } from "../../../src/tenants/directory/directory.ts";
import { outageKey } from "../../../src/tenants/isolate/outage.ts";
import { adminOptions, appOf, adminEnv, ask, newTenant, ORIGIN, ROOT, rules } from "../../support/worker/admin.ts";
import { anyTenant } from "../../support/worker/tenant.ts";

const LONG = { mode: "open", outage: "stale", outageSeconds: 3600, maxStalenessMs: 50 } as const;
const NOTE = { note: "n" };

interface Acknowledgement {
  readonly effectiveAt: string;
  readonly staleUntil?: string;
}

const keyFor = async (id: string) => outageKey(id, (await directoryOf(env, id).lookup(id)).entry?.created);
const copyOf = async (id: string) => env.BODIES.get(await keyFor(id));
/** A tenant of which some isolate wrote a copy. */
async function copied(document: Readonly<Record<string, unknown>>): Promise<string> {
  const id = await newTenant(document);
  await env.BODIES.put(await keyFor(id), "a copy");
  return id;
}

async function keyOf(id: string): Promise<string> {
  const made = await ask("POST", `/tenants/${id}/keys`, { json: { name: "k" } });
  return (made.body as { id: string }).id;
}

/** How long after it is in force a brake may not reach all, in seconds; undefined: the answer does not say. */
function lagOf({ effectiveAt, staleUntil }: Acknowledgement): number | undefined {
  return staleUntil === undefined ? undefined : Math.round((Date.parse(staleUntil) - Date.parse(effectiveAt)) / 1000);
}

const brakes: [string, (id: string) => Promise<{ readonly body: Acknowledgement }>][] = [
  ["a suspension", (id) => ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", ...NOTE } })],
  ["a revoked key", async (id) => ask("DELETE", `/tenants/${id}/keys/${await keyOf(id)}`)],
  ["a document that takes keys", (id) => ask("PUT", `/tenants/${id}/document`, { json: { mode: "key" } })],
];

it.each(brakes)(
  "%s says until when a tenant of a longer outage may be served, and leaves no copy",
  async (_what, brake) => {
    const id = await copied(LONG);
    expect(lagOf((await brake(id)).body)).toBe(3600);
    expect(await copyOf(id)).toBeNull();
  },
);

it.each(brakes)("%s says nothing of a tenant with the usual outage, and leaves no copy", async (_what, brake) => {
  const id = await copied({ ...LONG, outageSeconds: undefined });
  expect(lagOf((await brake(id)).body)).toBeUndefined();
  expect(await copyOf(id)).toBeNull();
});

it("a tenant that is never served in an outage costs KV nothing", async () => {
  const id = await copied({ mode: "open", maxStalenessMs: 50 });
  await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", ...NOTE } });
  expect(await copyOf(id)).not.toBeNull();
});

it("a brake still says so when the document has just chosen otherwise", async () => {
  const id = await newTenant(LONG);
  await ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", maxStalenessMs: 50 } });
  const done = await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", ...NOTE } });
  expect(lagOf(done.body)).toBeGreaterThan(3590);
});

it("a brake is acknowledged though KV fails, and says how long the copy may be served", async () => {
  const id = await copied({ ...LONG, outageSeconds: 10 });
  const BODIES = { delete: () => Promise.reject(new Error("KV 500")) } as unknown as KVNamespace;
  const quiet = appOf({ ...adminOptions, onError: () => {} });
  const response = await quiet.fetch(
    new Request(`${ORIGIN}/admin/v1/tenants/${id}/suspensions`, {
      method: "POST",
      headers: { authorization: `Bearer ${ROOT}`, "content-type": "application/json" },
      body: JSON.stringify({ kind: "tenant", ...NOTE }),
    }),
    { ...adminEnv, BODIES },
  );
  expect([response.status, lagOf(await response.json())]).toEqual([200, 10]);
});

it("what is resumed says nothing of outages", async () => {
  const id = await newTenant(LONG);
  await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", ...NOTE } });
  const done = await ask("DELETE", `/tenants/${id}/suspensions/tenant`);
  expect(lagOf(done.body)).toBeUndefined();
});

it("how long an outage may be is for operators to say, within a day", async () => {
  const id = await newTenant(LONG);
  await ask("POST", "/operators", { json: { name: `admin-${id}`, role: "tenant-admin", tenants: [id] } });
  const { token } = (
    await ask("POST", "/operators", { json: { name: `b-${id}`, role: "tenant-admin", tenants: [id] } })
  ).body as { token: string };
  const json = { ...LONG, outageSeconds: 86_400 };
  expect(rules(await ask("PUT", `/tenants/${id}/document`, { token, json }))).toEqual([
    403,
    ["outageSeconds", "only an operator may change it"],
  ]);
  expect((await ask("PUT", `/tenants/${id}/document`, { json })).status).toBe(200);
  for (const outageSeconds of [9, 86_401, 10.5]) {
    expect((await ask("PUT", `/tenants/${id}/document`, { json: { ...LONG, outageSeconds } })).status).toBe(422);
  }
  expect(await remote(anyTenant(id), policyTables).staleMs()).toBeGreaterThan(0);
});

it("a base that binds how long an outage may be holds for the tenants under it", async () => {
  const base = { outageSeconds: 10, bind: ["outageSeconds"] };
  expect((await ask("PUT", "/bases/brief", { json: base })).status).toBe(201);
  const id = await newTenant({ mode: "open", outage: "stale", extends: ["brief"] });
  const longer = await ask("PUT", `/tenants/${id}/document`, { json: { ...LONG, extends: ["brief"] } });
  expect([longer.status, rules(longer)[1]?.[0]]).toEqual([422, "outageSeconds"]);
});
