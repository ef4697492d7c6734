import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { mapConcurrent } from "../../../src/admin/services/map-concurrent.ts";
import { rolloutsOf } from "../../../src/admin/services/platform-blocks.ts";
import type { Infer, Rollout } from "../../../src/admin/contract.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { ask, newTenant, waitForRollout } from "../../support/workerd/admin.ts";
import { spoil } from "../platform-faults.ts";
import { anyTenant } from "../../support/workerd/tenant.ts";

type Shown = Infer<typeof Rollout>;

const PLATFORM = exports.PlatformObject.getByName("platform");
const NEXT = { title: "new", description: "x".repeat(1999) };
const put = (base: string, json: unknown) => ask("PUT", `/bases/${base}`, { json });
const begin = (base: string, json = {}) => ask("POST", `/bases/${base}/rollout`, { json });
const shown = async (version: number) => (await ask("GET", `/rollouts/${version}`)).body as Shown;
const versionOf = ({ body }: Awaited<ReturnType<typeof begin>>) => (body as { rollout: number }).rollout;

async function rollOut(base: string, json = {}): Promise<Shown> {
  return shown(versionOf(await waitForRollout(begin(base, json))));
}

const titleOf = async (id: string) =>
  ((await ask("GET", `/tenants/${id}`)).body as { effective: { title?: string } }).effective.title;
const titlesOf = (ids: readonly string[]) => Promise.all(ids.map(titleOf));

/** As when the time has come for the next step, and for those that could not be reached. */
const due = (version: number) =>
  runInDurableObject(PLATFORM, (_object, { storage }) => {
    storage.sql.exec("UPDATE rollout_outcomes SET due_at = 0 WHERE version = ? AND state = 'unreached'", version);
    storage.sql.exec("UPDATE rollouts SET due_at = 0 WHERE version = ?", version);
    return storage.setAlarm(Date.now());
  });

let bases = 0;
let base = "";
let tenants: readonly string[] = [];

beforeEach(async () => {
  bases += 1;
  base = `rolled-base-${bases}`;
  await put(base, { title: "old" });
  tenants = (await mapConcurrent([1, 2, 3, 4], () => newTenant({ extends: [base], maxStalenessMs: 300 }))).toSorted();
});

describe("the rollout of a base", () => {
  it("changes every tenant that extends it, and no other, and is done when that is in force", async () => {
    const other = await newTenant({ title: "mine" });
    const policy = createRpcClient(anyTenant(tenants[0] ?? ""), policyStore);
    await put(base, NEXT);
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "old"));
    await policy.lease({ version: null, maxStalenessMs: 1500, inCode: false, keyHash: null });
    const began = Date.now();
    expect((await begin(base)).status).toBe(202);
    const done = await rollOut(base);
    expect(done).toMatchObject({ about: `base ${base}`, state: "done", tenants: 4, missing: [], refused: [] });
    expect(Date.now() - began).toBeGreaterThanOrEqual(300);
    expect(await titlesOf([...tenants, other])).toEqual(["new", "new", "new", "new", "mine"]);
    const { items } = (await ask("GET", `/tenants/${tenants[0]}/audit?limit=1`)).body as { items: unknown[] };
    expect(items).toMatchObject([{ actor: "root", action: `rollout of base ${base}` }]);
  });

  it("only looks in a dry run, and says what would change in each tenant", async () => {
    await put(base, { title: "new" });
    const run = await rollOut(base, { dryRun: true });
    expect(run).toMatchObject({ state: "done", tenants: 4 });
    expect(run.changes?.map(({ tenant }) => tenant)).toEqual(tenants);
    for (const { changes } of run.changes ?? []) {
      expect(changes).toEqual([{ path: "title", before: "old", after: "new" }]);
    }
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "old"));
  });

  it("names a tenant that the new base does not fit, which keeps the old one; all others have it", async () => {
    const bad = tenants[2] ?? "";
    const filler = { messages: [{ role: "user", content: { type: "text", text: "x".repeat(99_800) } }] };
    const prompts = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`p${at}`, filler]));
    const json = { extends: [base], mode: "open", prompts };
    expect((await ask("PUT", `/tenants/${bad}/document`, { json })).status).toBe(200);
    await put(base, NEXT);
    const done = await rollOut(base);
    expect(done).toMatchObject({ state: "incomplete", tenants: 4, missing: [], refused: [{ tenant: bad }] });
    expect(done.refused[0]?.error).toContain("the document must have at most 900000 bytes");
    expect(await titlesOf(tenants)).toEqual(["new", "new", "old", "new"]);
  });

  it("reaches an unreachable tenant once it is back", async () => {
    const away = tenants[1] ?? "";
    const lost = () => Promise.reject(new Error("Network connection lost."));
    const back = await spoil(exports.TenantObject.getByName(away), lost);
    await put(base, NEXT);
    const version = versionOf(await begin(base));
    await expect.poll(() => shown(version)).toMatchObject({ state: "running", missing: [away], tenants: 4 });
    await due(version);
    await expect.poll(() => shown(version)).toMatchObject({ state: "incomplete", missing: [away] });
    back();
    await due(version);
    await expect.poll(() => shown(version)).toMatchObject({ state: "done", missing: [], tenants: 4 });
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "new"));
  });

  it("continues after the caller and the platform's object are gone", async () => {
    await put(base, NEXT);
    const version = versionOf(await begin(base));
    await rolloutsOf(env).nextPage(version);
    await evictDurableObject(PLATFORM);
    await due(version);
    await expect.poll(() => shown(version)).toMatchObject({ state: "done" });
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "new"));
  });

  it("stays stopped when it is stopped, also by a newer one of its base", async () => {
    const first = await rolloutsOf(env).startRollout(base, false, { name: "root" });
    const second = versionOf(await begin(base));
    expect((await shown(first ?? 0)).state).toBe("stopped");
    await expect.poll(() => shown(second)).toMatchObject({ state: "done" });
    expect((await ask("POST", `/rollouts/${second}/stop`)).status).toBe(409);
    const third = (await rolloutsOf(env).startRollout(base, false, { name: "root" })) ?? 0;
    expect((await ask("POST", `/rollouts/${third}/stop`)).body).toMatchObject({ state: "stopped" });
    await due(third);
    expect(await rolloutsOf(env).nextPage(third)).toBeUndefined();
  });

  it("passes over tenants that were deleted or extend it no more", async () => {
    const [gone = "", left = ""] = tenants;
    await ask("DELETE", `/tenants/${gone}`);
    await ask("PUT", `/tenants/${left}/document`, { json: { mode: "open" } });
    await put(base, NEXT);
    expect(await rollOut(base)).toMatchObject({ state: "done", refused: [], missing: [] });
    expect(await titleOf(left)).toBeUndefined();
  });

  it("needs a base that exists", async () => {
    expect((await begin("no-such-base")).status).toBe(404);
    expect((await ask("GET", "/rollouts/7")).status).toBe(404);
    expect((await ask("POST", "/rollouts/7/stop")).status).toBe(404);
  });

  it("is found in the list, the newest first", async () => {
    const [first, second] = [await rollOut(base), await rollOut(base)];
    const page = (await ask("GET", "/rollouts?limit=1")).body as { items: Shown[]; cursor: string };
    expect(page.items).toMatchObject([{ version: second.version }]);
    const next = await ask("GET", `/rollouts?limit=1&cursor=${encodeURIComponent(page.cursor)}`);
    expect(next.body).toMatchObject({ items: [{ version: first.version }] });
  });
});
