// An operator gave a tenant another hostname of the Worker, one that `HOSTS` lists: the admin API and all other tenants were
// gone there. Tenants' hostnames have to be listed there, too, so an owner gives them.

import { expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startGatewayWorker } from "../support/gateway-tenant.ts";

const CONSOLE = "console.acme-host.example";
const origin = await startGatewayWorker({ HOSTS: `localhost,127.0.0.1, Console.acme-host.example` });
const admin = fixtureAdmin(origin, "hosts");

const { token } = await admin.ask("POST", "/operators", { name: "ann", role: "operator" });

async function asking(by: unknown, method: string, path: string, json: unknown) {
  const headers = { ...bearer(String(by)), "content-type": "application/json" };
  const response = await fetch(`${origin}/admin/v1${path}`, { method, headers, body: JSON.stringify(json) });
  return { status: response.status, body: (await response.json()) as { errors?: { field: string; rule: string }[] } };
}

const named = (hostname: string) => ({ mode: "open", hostnames: [hostname] });

test.each(["", "?dryRun=1"])("an operator gives no tenant a hostname that HOSTS lists %s", async (query) => {
  const id = await admin.tenant();
  const refused = {
    status: 422,
    body: { errors: [{ field: "hostnames.0", rule: `HOSTS lists ${CONSOLE}: only an owner may give it to a tenant` }] },
  };
  expect(await asking(token, "PUT", `/tenants/${id}/document${query}`, named(CONSOLE))).toMatchObject(refused);
  const made = { id: "hosts-made", document: named(CONSOLE) };
  expect(await asking(token, "POST", `/tenants${query}`, made)).toMatchObject(refused);
  expect((await asking(token, "PUT", `/tenants/${id}/document${query}`, named(`mcp.${id}.example`))).status).toBe(200);
});

test("an owner does, and operators write the tenant's document as before", async () => {
  const id = await admin.tenant();
  expect((await asking(ADMIN_TOKEN, "PUT", `/tenants/${id}/document`, named(CONSOLE))).status).toBe(200);
  const next = { ...named(CONSOLE), title: "Console" };
  expect((await asking(token, "PUT", `/tenants/${id}/document`, next)).status).toBe(200);
});
