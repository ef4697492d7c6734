// A stolen key outlived its revocation: it had made another one of itself with `own/rotate`, and revoking the stolen one left
// that one working. What an operator rotates is somebody's new key, and stays.

import { expect, test } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { post } from "../support/mcp-client.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "made-by-a-key");
const DAY_MS = 86_400_000;
const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

interface Made {
  readonly id: string;
  readonly token: string;
}

/** Made so many days ago, at most by the key of this id. */
async function oldKey(tenant: string, days = 2, parent?: string): Promise<Made> {
  const { id, token, hash } = await createKey();
  const created = new Date(Date.now() - days * DAY_MS).toISOString();
  const key = { id, hash, name: "laptop", created, ...(parent === undefined ? {} : { parent }) };
  await admin.ask("PUT", `/tenants/${tenant}/backup`, { keys: [key], suspensions: [], secrets: [] });
  return { id, token };
}

async function rotatedByItself(tenant: string, token: string, overlapSeconds: number): Promise<Made> {
  const response = await fetch(`${origin}/admin/v1/tenants/${tenant}/keys/self/rotate`, {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json" },
    body: JSON.stringify({ overlapSeconds }),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Made;
}

const pings = async (tenant: string, keys: readonly Made[]) =>
  Promise.all(
    keys.map(async ({ token }) => (await post(`${origin}/mcp/${tenant}`, PING, { headers: bearer(token) })).status),
  );
const idsOf = async (tenant: string) =>
  ((await admin.ask("GET", `/tenants/${tenant}/keys`))["items"] as Made[]).map(({ id }) => id);

test("revoking a key revokes what it made of itself, and nothing else", async () => {
  const tenant = await admin.tenant({ mode: "key" });
  const [stolen, other] = [await oldKey(tenant), await oldKey(tenant)];
  const thiefs = await rotatedByItself(tenant, stolen.token, 2_592_000);
  const others = await rotatedByItself(tenant, other.token, 60);
  expect(await pings(tenant, [stolen, thiefs, other, others])).toEqual([200, 200, 200, 200]);
  await admin.ask("DELETE", `/tenants/${tenant}/keys/${stolen.id}`);
  expect(await pings(tenant, [stolen, thiefs, other, others])).toEqual([401, 401, 200, 200]);
  const { items } = await admin.ask("GET", `/tenants/${tenant}/audit?limit=2`);
  const revoked = (items as { action: string; target: string }[]).map(({ action, target }) => `${action} ${target}`);
  expect(revoked.toSorted()).toEqual([stolen, thiefs].map(({ id }) => `key.revoke key ${id}`).toSorted());
});

test("a chain of keys ends from the one that is revoked on, also where it was brought back from a backup", async () => {
  const tenant = await admin.tenant({ mode: "key" });
  const first = await oldKey(tenant, 4);
  const second = await oldKey(tenant, 3, first.id);
  const third = await oldKey(tenant, 2, second.id);
  const fourth = await rotatedByItself(tenant, third.token, 60);
  const { keys } = await admin.ask("GET", `/tenants/${tenant}/backup`);
  expect((keys as { parent?: string }[]).map(({ parent }) => parent ?? null)).toEqual(
    expect.arrayContaining([null, first.id, second.id, third.id]),
  );
  await admin.ask("DELETE", `/tenants/${tenant}/keys/${second.id}`);
  expect(await pings(tenant, [first, second, third, fourth])).toEqual([200, 401, 401, 401]);
  expect(await idsOf(tenant)).toEqual([first.id]);
});

test("a key that an operator rotated is revoked alone: its successor is the customer's", async () => {
  const tenant = await admin.tenant({ mode: "key" });
  const old = await oldKey(tenant);
  const made = (await admin.ask("POST", `/tenants/${tenant}/keys/${old.id}/rotate`, {})) as unknown as Made;
  await admin.ask("DELETE", `/tenants/${tenant}/keys/${old.id}`);
  expect(await pings(tenant, [old, made])).toEqual([401, 200]);
});
