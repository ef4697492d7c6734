import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { listEntries } from "../../../src/admin/services/list-tenants.ts";
import { findPlacement, lookupPlacedTenant } from "../../../src/tenants/directory/directory.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { SHARD_COUNT } from "../../../src/tenants/directory/shards.ts";
import { placementKey } from "../../../src/tenants/directory/placement.ts";

const ANYWHERE = { jurisdiction: null, region: null };
const nameOf = (shard: DurableObjectStub) => String(shard.name);

describe("a placement", () => {
  it("is in KV soon after its tenant was entered, and is read in the place of the directory", async () => {
    const { created } = await directoryOf(env, "placed-one").add("placed-one", { jurisdiction: null, region: "apac" });
    const placement = { created, jurisdiction: null, region: "apac" };
    await expect.poll(() => findPlacement(env, "placed-one")).toEqual(placement);
    const nobody = { getByName: () => ({ lookup: () => Promise.reject(new Error("asked")) }) } as never;
    expect((await lookupPlacedTenant({ ...env, DirectoryObject: nobody }, "placed-one")).entry).toEqual(placement);
  });

  it("is looked up in the directory if KV has none, fails, or does not answer", async () => {
    const entry = await directoryOf(env, "unplaced").add("unplaced", ANYWHERE);
    const getters = [async () => null, async () => Promise.reject(new Error("KV")), () => new Promise<null>(() => {})];
    for (const get of getters) {
      const BODIES = { get } as unknown as KVNamespace;
      expect(entry).toMatchObject({ ...(await lookupPlacedTenant({ ...env, BODIES }, "unplaced")).entry });
    }
  });

  it("goes with its tenant", async () => {
    const named = await directoryOf(env, "leaves").add("leaves", ANYWHERE);
    await expect.poll(() => findPlacement(env, "leaves")).not.toBeNull();
    await directoryOf(env, "leaves").remove(named);
    expect(await env.BODIES.get(placementKey("leaves"))).toBeNull();
  });

  it("is written again where KV failed", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const shard = directoryOf(env, "written-again");
    await runInDurableObject(shard, async (object) => {
      const bound = Reflect.get(object, "env") as typeof env;
      const BODIES = { put: () => Promise.reject(new Error("429")) };
      Object.defineProperty(object, "env", { value: { ...bound, BODIES }, configurable: true });
      await object.add("written-again", ANYWHERE);
      await object.alarm();
      Object.defineProperty(object, "env", { value: bound, configurable: true });
    });
    expect(logged).toHaveBeenCalled();
    logged.mockRestore();
    expect(await runDurableObjectAlarm(shard)).toBe(true);
    await expect.poll(() => findPlacement(env, "written-again")).not.toBeNull();
  });
});

it("lists all tenants in the order of ids, whichever shard has them", async () => {
  const ids = Array.from({ length: 40 }, (_, at) => `paged-${String(at).padStart(2, "0")}`);
  for (const id of ids.toReversed()) await directoryOf(env, id).add(id, ANYWHERE);
  const found: string[] = [];
  for (let after = "paged-"; ; after = found.at(-1) ?? "") {
    const page = (await listEntries(env, { after, limit: 7 })).map(({ id }) => id);
    const own = page.filter((id) => id.startsWith("paged-"));
    found.push(...own);
    if (own.length < 7) break;
  }
  expect(found).toEqual(ids);
  expect(new Set(ids.map((id) => nameOf(directoryOf(env, id)))).size).toBeGreaterThan(SHARD_COUNT / 2);
});

it("refuses a hostname to a tenant that ended while it was claimed, and gives it to another", async () => {
  const first = await directoryOf(env, "claims").add("claims", ANYWHERE);
  await directoryOf(env, "claims").markDeleting(first);
  const shard = directoryOf(env, "claims.example");
  expect(await shard.claimHostname("claims.example", first)).toBe("gone");
  expect(await shard.lookupHostname("claims.example")).toBeNull();
  expect(await shard.claimHostname("claims.example", { id: "other", created: null })).toBe("claimed");
  await directoryOf(env, "claims").remove(first);
});
