import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DirectoryRef } from "../../../src/tenants/directory/directory-object.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { forgetName, lookupTenant, NAME_TTL_MS, tenantOfHostname } from "../../../src/tenants/directory/directory.ts";
import { listEntries } from "../../../src/admin/services/list-tenants.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const ANYWHERE = { jurisdiction: null, region: null };
const inCode = (id: string): DirectoryRef => ({ id, created: null });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the directory", () => {
  it("gives an id to one of many who want it", async () => {
    const added = await Promise.all(
      Array.from({ length: 5 }, () => directoryOf(env, "wanted").add("wanted", ANYWHERE)),
    );
    expect(new Set(added.map(({ created }) => created)).size).toBe(1);
    const first = added[0] as DirectoryRef;
    expect(await directoryOf(env, "wanted").lookup("wanted")).toMatchObject({
      entry: { created: first.created, id: "wanted", state: "active", ...ANYWHERE },
    });
    await directoryOf(env, first.id).remove(first);
    expect((await directoryOf(env, "wanted").lookup("wanted")).entry).toBeNull();
    const second = await directoryOf(env, "wanted").add("wanted", { jurisdiction: "eu", region: "weur" });
    expect(second.created).not.toBe(first.created);
    expect((await directoryOf(env, "wanted").lookup("wanted")).entry).toMatchObject({
      jurisdiction: "eu",
      region: "weur",
    });
  });

  it("ignores updates of an earlier tenant of the same name", async () => {
    const first = await directoryOf(env, "again").add("again", ANYWHERE);
    await directoryOf(env, "again.example").claimHostname("again.example", first);
    await directoryOf(env, first.id).remove(first);
    const second = await directoryOf(env, "again").add("again", ANYWHERE);
    expect(await directoryOf(env, "late.example").claimHostname("late.example", first)).toBe("gone");
    expect(await directoryOf(env, "again.example").claimHostname("again.example", second)).toBe("claimed");
    expect(await directoryOf(env, "again.example").claimHostname("again.example", second)).toBe("unchanged");
    await directoryOf(env, "again.example").releaseHostname("again.example", first);
    await directoryOf(env, first.id).markDeleting(first);
    await directoryOf(env, first.id).remove(first);
    expect(second).toMatchObject({ ...(await directoryOf(env, "again").lookup("again")).entry });
    expect(await directoryOf(env, "again.example").lookupHostname("again.example")).toBe("again");
    expect(await directoryOf(env, "late.example").lookupHostname("late.example")).toBeNull();
  });

  it("gives a hostname back by no revision that a write may replace which wants it", async () => {
    const one = await directoryOf(env, "resting").add("resting", ANYWHERE);
    const shard = directoryOf(env, "resting.example");
    const owner = () => shard.lookupHostname("resting.example");
    expect(await shard.claimHostname("resting.example", one, 3)).toBe("claimed");
    expect(await shard.claimHostname("resting.example", one, 3)).toBe("unchanged");
    await shard.releaseHostname("resting.example", one, 3);
    // One of the two is withdrawn.
    await shard.releaseHostname("resting.example", one, 3, 3);
    expect(await owner()).toBe("resting");
    expect(await shard.getHostnameClaim("resting.example")).toMatchObject({
      tenant: "resting",
      created: one.created,
      tenantRevision: 3,
    });
    await shard.releaseHostname("resting.example", one, 3, 3);
    expect(await owner()).toBeNull();
    // What rests on a revision that is replaced rests on nothing.
    await shard.claimHostname("resting.example", one, 4);
    await shard.releaseHostname("resting.example", one, 5);
    expect(await owner()).toBeNull();
    // What a later write wants, an earlier one does not withdraw.
    await shard.claimHostname("resting.example", one, 5);
    await shard.claimHostname("resting.example", one, 6);
    await shard.releaseHostname("resting.example", one, 6, 5);
    expect(await owner()).toBe("resting");
    await directoryOf(env, one.id).remove(one);
  });

  it("gives a hostname to one tenant, and takes it back from that one only", async () => {
    const [one, two] = ["one", "two"].map(inCode) as [DirectoryRef, DirectoryRef];
    expect(await directoryOf(env, "a.example").claimHostname("a.example", one)).toBe("claimed");
    expect(await directoryOf(env, "a.example").claimHostname("a.example", one)).toBe("unchanged");
    expect(await directoryOf(env, "a.example").claimHostname("a.example", two)).toBe("taken");
    await directoryOf(env, "a.example").releaseHostname("a.example", two);
    expect(await directoryOf(env, "a.example").lookupHostname("a.example")).toBe("one");
    await directoryOf(env, "a.example").releaseHostname("a.example", one);
    expect(await directoryOf(env, "a.example").claimHostname("a.example", two)).toBe("claimed");
  });

  it("lists tenants by id, a page at a time", async () => {
    for (const id of ["list-c", "list-a", "list-b"]) await directoryOf(env, id).add(id, ANYWHERE);
    const page = async (after: string | null, limit: number) =>
      (await listEntries(env, { after, limit })).map(({ id }) => id);
    expect(await page("list-", 2)).toEqual(["list-a", "list-b"]);
    expect(await page("list-b", 1)).toEqual(["list-c"]);
    expect(await page("list-a", 1)).toEqual(["list-b"]);
  });
});

describe("an isolate", () => {
  it("remembers an unknown name for a moment, and no longer", async () => {
    expect((await lookupTenant(env, "late")).entry).toBeNull();
    await directoryOf(env, "late").add("late", ANYWHERE);
    vi.setSystemTime(NOW + NAME_TTL_MS - 1);
    expect((await lookupTenant(env, "late")).entry).toBeNull();
    vi.setSystemTime(NOW + NAME_TTL_MS);
    expect((await lookupTenant(env, "late")).entry).toMatchObject({ id: "late" });
  });

  it("asks again at once for a name that was made or removed here", async () => {
    await lookupTenant(env, "here");
    await directoryOf(env, "here").add("here", ANYWHERE);
    forgetName("here");
    expect((await lookupTenant(env, "here")).entry).toMatchObject({ id: "here" });
  });

  it("treats a tenant during its deletion as unknown", async () => {
    const leaving = await directoryOf(env, "leaving").add("leaving", ANYWHERE);
    expect((await lookupTenant(env, "leaving")).entry).not.toBeNull();
    await directoryOf(env, leaving.id).markDeleting(leaving);
    expect((await lookupTenant(env, "leaving")).entry).toBeNull();
  });

  it("caches the tenant of a hostname, or that it has none, for a moment", async () => {
    expect(await tenantOfHostname(env, "b.example")).toBeNull();
    await directoryOf(env, "b.example").claimHostname("b.example", inCode("one"));
    expect(await tenantOfHostname(env, "b.example")).toBeNull();
    vi.setSystemTime(NOW + NAME_TTL_MS);
    expect(await tenantOfHostname(env, "b.example")).toBe("one");
    await directoryOf(env, "b.example").releaseHostname("b.example", inCode("one"));
    expect(await tenantOfHostname(env, "b.example")).toBe("one");
    forgetName("b.example");
    expect(await tenantOfHostname(env, "b.example")).toBeNull();
  });
});
