// What an operator suspended or blocked, a tenant-admin had under another name: the profile, or the upstream of the tool, as
// another one in the document. While it is stopped only operators change the profiles, or the upstreams and `tools`.

import { expect, onTestFinished, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { OneToolUpstream } from "./one-tool-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "stopped");
const BOUNDS = { upstreamBounds: { hosts: ["127.0.0.1"], most: 5 } };

/** What a tenant's own administrator is answered. */
async function administrator(id: string) {
  const about = { name: `admin-of-${id}`, role: "tenant-admin", tenants: [id] };
  const { token } = await admin.ask("POST", "/operators", about);
  return async (method: string, path: string, json?: unknown) => {
    const response = await fetch(`${origin}/admin/v1/tenants/${id}${path}`, {
      method,
      headers: { ...bearer(String(token)), "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const { errors = [] } = (await response.json()) as { errors?: { field: string; rule: string }[] };
    return [response.status, ...errors.map(({ field, rule }) => `${field}: ${rule}`)];
  };
}

async function twoUpstreams() {
  const { entry } = await OneToolUpstream.start("2026", (exchange) => exchange.result({ content: [] }));
  const upstreams = { crm: entry, wiki: entry };
  const { id } = await gatewayTenant(origin, admin, upstreams, { document: BOUNDS });
  const document: Json = { mode: "open", maxStalenessMs: 50, ...BOUNDS };
  return { id, document, ...upstreams, ask: await administrator(id) };
}

test("a profile that an operator suspended comes back under no other name", async () => {
  const document: Json = { mode: "open", maxStalenessMs: 50 };
  const id = await admin.tenant({ profiles: { inner: {} } });
  const ask = await administrator(id);
  expect(await ask("PUT", "/document", { ...document, profiles: { inner: {}, other: {} } })).toEqual([200]);
  await admin.suspend(id, "profile", "inner", "by us");
  const refused = [
    403,
    "profiles: an operator suspended the profile inner: only an operator may change this until the suspension ends",
  ];
  for (const profiles of [{ again: {} }, { inner: {}, other: {}, again: {} }, { inner: {}, other: { title: "I" } }]) {
    expect(await ask("PUT", "/document", { ...document, profiles })).toEqual(refused);
  }
  expect(await ask("PUT", "/document", document)).toEqual(refused);
  expect(await ask("PUT", "/document", { ...document, title: "T", profiles: { other: {}, inner: {} } })).toEqual([200]);
  await admin.ask("DELETE", `/tenants/${id}/suspensions/profile/inner`);
  expect(await ask("PUT", "/document", { ...document, profiles: { again: {} } })).toEqual([200]);
});

test("nor does the tool of an upstream, suspended in the tenant", async () => {
  const { id, document, crm, wiki, ask } = await twoUpstreams();
  await admin.suspend(id, "tool", "crm__go", "by us");
  const refused = [
    403,
    "upstreams: an operator stopped the tool crm__go: only an operator may change this until the suspension ends",
  ];
  for (const upstreams of [
    { crm2: crm, wiki },
    { crm, wiki, crm2: crm },
    { crm: { ...crm, url: "http://127.0.0.1:1" }, wiki },
  ]) {
    expect(await ask("PUT", "/document", { ...document, upstreams })).toEqual(refused);
  }
  expect(await ask("PUT", "/upstreams/crm2", crm)).toEqual(refused);
  expect(await ask("DELETE", "/upstreams/crm")).toEqual(refused);
  // Switched off is less.
  const upstreams = { crm: { ...crm, enabled: false }, wiki };
  expect(await ask("PUT", "/document", { ...document, upstreams })).toEqual([200]);
});

test("nor from under a setting of tools that switched its other name off before", async () => {
  const { id, document, crm, wiki, ask } = await twoUpstreams();
  const prepared = { ...document, upstreams: { crm, wiki, crm2: crm }, tools: { crm2__go: { enabled: false } } };
  expect(await ask("PUT", "/document?unknownNames=1", prepared)).toEqual([200]);
  await admin.suspend(id, "tool", "crm__go", "by us");
  const refused = [
    403,
    "tools: an operator stopped the tool crm__go: only an operator may change this until the suspension ends",
  ];
  for (const tools of [{}, { crm2__go: { enabled: true } }, { crm2__go: { enabled: false }, wiki__go: {} }]) {
    expect(await ask("PUT", "/document", { ...prepared, tools })).toEqual(refused);
  }
  expect(await ask("PUT", "/document", { ...prepared, title: "T" })).toEqual([200]);
  await admin.ask("DELETE", `/tenants/${id}/suspensions/tool/crm__go`);
  expect(await ask("PUT", "/document", { ...prepared, tools: {} })).toEqual([200]);
});

test("nor by resuming another name of it that the tenant suspended itself", async () => {
  const { id, crm, ask } = await twoUpstreams();
  expect(await ask("PUT", "/upstreams/crm2", crm)).toEqual([200]);
  expect(await ask("POST", "/suspensions", { kind: "tool", name: "wiki__go", note: "mine" })).toEqual([200]);
  await admin.suspend(id, "tool", "crm__go", "by us");
  const resume = () => ask("DELETE", "/suspensions/tool/wiki__go");
  const rule = "an operator stopped the tool crm__go: only an operator may change this until the suspension ends";
  expect(await resume()).toEqual([403, `name: ${rule}`]);
  await admin.ask("DELETE", `/tenants/${id}/suspensions/tool/crm__go`);
  expect(await resume()).toEqual([200]);
});

test("nor one that is blocked in every tenant, while others and what they suspended themselves are free", async () => {
  const { crm, ask } = await twoUpstreams();
  expect(await ask("POST", "/suspensions", { kind: "tool", name: "wiki__go", note: "mine" })).toEqual([200]);
  await admin.ask("POST", "/tools/elsewhere__go/block", { note: "by us" });
  // Every tenant of the Worker shows the block, also those of other files.
  onTestFinished(async () => void (await admin.ask("DELETE", "/tools/elsewhere__go/block")));
  expect(await ask("PUT", "/upstreams/crm2", crm)).toEqual([200]);
  await admin.ask("POST", "/tools/crm__go/block", { note: "by us" });
  expect(await ask("PUT", "/upstreams/crm3", crm)).toEqual([
    403,
    "upstreams: an operator stopped the tool crm__go: only an operator may change this until the suspension ends",
  ]);
  await admin.ask("DELETE", "/tools/crm__go/block");
  expect(await ask("PUT", "/upstreams/crm3", crm)).toEqual([200]);
});
