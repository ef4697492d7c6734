import { expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import type { CreatedKeyShape, Infer } from "../../src/admin/contract.ts";
import { login } from "../../src/tenantry.ts";
import {
  adminEnv,
  adminOptions,
  appOf,
  ask,
  newTenant,
  ORIGIN,
  ROOT,
  type Answered,
} from "../support/workerd/admin.ts";

type Made = Infer<typeof CreatedKeyShape>;

const DAY_MS = 86_400_000;
const rotate = (id: string, token: string | null, json: unknown = {}) =>
  ask("POST", `/tenants/${id}/keys/self/rotate`, { token, json });
const madeBy = ({ body }: Answered) => body as Made;
const detailOf = ({ body }: Answered) => (body as { detail?: string }).detail;

/** A key that was made a day and more ago. */
async function oldKey(id: string, about: Readonly<Record<string, unknown>> = {}) {
  const { id: key, token, hash } = await createKey();
  const created = new Date(Date.now() - DAY_MS - 1000).toISOString();
  const keys = [{ id: key, hash, name: "laptop", created, ...about }];
  const put = await ask("PUT", `/tenants/${id}/backup`, { json: { keys, suspensions: [], secrets: [] } });
  expect(put.body).toEqual({ rows: 1 });
  return { key, token };
}

it("a key rotated with itself gives another with the same rights, beside which the old one works for the overlap", async () => {
  const id = await newTenant({ mode: "key", scopes: { s: { tools: ["add"] } } });
  const { key, token } = await oldKey(id, { scopes: '["s"]' });
  const answered = await rotate(id, token);
  expect([answered.status, madeBy(answered)]).toMatchObject([201, { name: "laptop", scopes: ["s"], retires: null }]);
  const { items } = (await ask("GET", `/tenants/${id}/audit?limit=1`)).body as { items: unknown[] };
  expect(items).toMatchObject([{ actor: `key ${key}`, action: "key.rotate", target: `key ${key}` }]);
  // Neither of the two again: one was, and the other is too young.
  expect(detailOf(await rotate(id, token))).toMatch(
    new RegExp(`^The key ${key} was rotated already. If you did not get the new key`),
  );
  expect((await rotate(id, madeBy(answered).token)).status).toBe(409);
});

it("a key rotated with itself ends at once where there is to be no overlap", async () => {
  const id = await newTenant({ mode: "key", maxStalenessMs: 300 });
  const { token } = await oldKey(id);
  expect((await rotate(id, token, { overlapSeconds: 0 })).status).toBe(201);
  expect((await rotate(id, token)).status).toBe(401);
});

it("rotating is refused in the same words for what is no key of the tenant, and where there is no tenant", async () => {
  const id = await newTenant({ mode: "key" });
  const other = await oldKey(await newTenant({ mode: "key" }));
  const { token: unknown } = await createKey();
  const refusals = await Promise.all([
    ...[null, "tnt_x", ROOT, unknown, other.token].map((token) => rotate(id, token)),
    rotate("nobody-has-this-name", other.token),
  ]);
  for (const { status, body } of refusals) {
    expect([status, detailOf({ body } as Answered)]).toEqual([401, "The key is unknown, expired or revoked"]);
  }
  const ended = await oldKey(id, { expires: Date.now() - 1000 });
  expect((await rotate(id, ended.token)).status).toBe(401);
});

it("a key opens nothing else of the admin API", async () => {
  const id = await newTenant({ mode: "key" });
  const { key, token } = await oldKey(id);
  expect((await ask("GET", `/tenants/${id}/keys`, { token })).status).toBe(401);
  expect((await ask("POST", `/tenants/${id}/keys/${key}/rotate`, { token, json: {} })).status).toBe(401);
});

it.each([
  ["the tenant", {}, () => ({ kind: "tenant" })],
  ["the key", {}, (key: string) => ({ kind: "principal", name: `key ${key}` })],
  ["the profile that it is for", { profile: "p" }, () => ({ kind: "profile", name: "p" })],
])("rotating is refused while %s is suspended", async (_what, about, suspension) => {
  const id = await newTenant({ mode: "key", maxStalenessMs: 300, profiles: { p: {} } });
  const { key, token } = await oldKey(id, about);
  const json = { ...suspension(key), note: "Unpaid" };
  expect((await ask("POST", `/tenants/${id}/suspensions`, { json })).status).toBeLessThan(300);
  const answered = await rotate(id, token);
  expect([answered.status, detailOf(answered)]).toEqual([403, "Suspended: Unpaid"]);
});

it("rotation is refused if the key is revoked while the body is read", async () => {
  const id = await newTenant({ mode: "key", maxStalenessMs: 300 });
  const { key, token } = await oldKey(id);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode("{"));
    },
    pull: async (controller) => {
      expect((await ask("DELETE", `/tenants/${id}/keys/${key}`)).body).toMatchObject({ changed: true });
      controller.enqueue(new TextEncoder().encode("}"));
      controller.close();
    },
  });
  const headers = { "content-type": "application/json" };
  expect((await ask("POST", `/tenants/${id}/keys/self/rotate`, { token, body, headers })).status).toBe(401);
  expect((await ask("GET", `/tenants/${id}/keys`)).body).toEqual({ items: [] });
});

it("rotating is refused where the tenant takes no keys any more", async () => {
  const id = await newTenant({ mode: "key", maxStalenessMs: 300 });
  const { token } = await oldKey(id);
  const app = appOf({ ...adminOptions, features: [login()] });
  const auth = { issuers: [{ issuer: "https://login.example.com" }] };
  const put = new Request(`${ORIGIN}/admin/v1/tenants/${id}/document`, {
    method: "PUT",
    headers: { authorization: `Bearer ${ROOT}`, "content-type": "application/json" },
    body: JSON.stringify({ mode: "oauth", auth }),
  });
  expect((await app.fetch(put, adminEnv)).status).toBe(200);
  const answered = await rotate(id, token);
  expect([answered.status, detailOf(answered)]).toEqual([403, "This tenant takes no keys"]);
});

it("rotating makes one key, however many ask at once", async () => {
  const id = await newTenant({ mode: "key" });
  const { token } = await oldKey(id);
  const answered = await Promise.all(Array.from({ length: 12 }, () => rotate(id, token)));
  const statuses = answered.map(({ status }) => status).toSorted((one, other) => one - other);
  expect(statuses).toEqual([201, ...Array.from({ length: 11 }, () => 409)]);
  const { items } = (await ask("GET", `/tenants/${id}/keys`)).body as { items: unknown[] };
  expect(items).toHaveLength(2);
});

it("an address that tries to rotate too often has to wait", async () => {
  const id = await newTenant({ mode: "key" });
  const headers = { "cf-connecting-ip": "203.0.113.77", "content-type": "application/json" };
  const tried = async () => {
    const { token } = await createKey();
    return ask("POST", `/tenants/${id}/keys/self/rotate`, { token, headers, body: "{}" });
  };
  const statuses = new Set<number>();
  // On a machine that is busy there is room again meanwhile.
  for (let tries = 0; tries < 1000 && !statuses.has(429); tries += 1) statuses.add((await tried()).status);
  expect([...statuses]).toEqual([401, 429]);
});
