// Each key that was made, shown or explained had the tenant's object, which grants all leases, read and send all keys of the
// tenant; so had each page of their list. Now what is asked is one key, or one page.

import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

let workers: WorkerPair;
beforeAll(async () => {
  workers = await startWorkerPair();
  await workers.one.admin("POST", "/tenants", { id: "many", document: { mode: "key", maxStalenessMs: 50 } });
});
afterAll(() => workers.stop());

interface Key {
  readonly id: string;
  readonly name: string;
}

const ask = (method: string, path = "", json?: unknown) => workers.one.admin(method, `/tenants/many${path}`, json);
const make = async (name: string) => (await ask("POST", "/keys", { name })) as unknown as Key;

async function page(limit: number, cursor?: string): Promise<{ items: Key[]; cursor?: string }> {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor === undefined ? {} : { cursor }) });
  return (await ask("GET", `/keys?${query}`)) as unknown as { items: Key[]; cursor?: string };
}

test("pages have each key once, oldest first, while others are made and revoked", async () => {
  const names = Array.from({ length: 25 }, (_none, at) => `key ${at}`);
  const made: Key[] = [];
  for (const name of names) made.push(await make(name));
  const first = await page(10);
  expect(first.items.map(({ name }) => name)).toEqual(names.slice(0, 10));
  // The last of the page before, and one before that: what comes is where it was.
  for (const { id } of [made[9], made[3]] as Key[]) await ask("DELETE", `/keys/${id}`);
  await make("late");
  const second = await page(10, first.cursor);
  const third = await page(10, second.cursor);
  const rest = [...second.items, ...third.items].map(({ name }) => name);
  expect(rest).toEqual([...names.slice(10), "late"]);
  expect(third.cursor).toBeUndefined();
  expect((await page(10, third.cursor)).items).toHaveLength(10);
  const { keys } = (await ask("GET", "/usage")) as { keys: number };
  expect(keys).toBe(24);
  for (const cursor of ["none", "keys~0Ahello", "keys~0A", "keys~0Aa 9999", "keys~0Aabcdefghij 9999"]) {
    await expect(page(10, cursor)).rejects.toThrow(/422.*is not one of this list/s);
  }
});

test("no key that is made, rotated, suspended, explained or counted has all of them read", async () => {
  const { id } = await make("one");
  await workers.one.reset();
  await make("another");
  await ask("POST", `/keys/${id}/rotate`, {});
  await ask("POST", "/suspensions", { kind: "principal", name: id, note: "n" });
  await ask("GET", `/explain?kind=tools&name=conformance_echo&key=${id}`);
  await ask("GET", "/usage");
  await ask("GET", "/limits");
  await page(10);
  const calls = await workers.one.calls();
  expect(calls).toContain("TenantObject policy.addKey");
});
