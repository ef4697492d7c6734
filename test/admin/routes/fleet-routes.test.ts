// Rolling a base out: in waves, stopped by a tenant that fails or not, gone on with by anybody, and fast.

import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { baseTables } from "../../../src/admin/platform/base-tables.ts";
import type { FleetRun, Infer } from "../../../src/admin/contract.ts";
import { fleetTables } from "../../../src/admin/platform/fleet-tables.ts";
import { inLanes } from "../../../src/admin/apply/lanes.ts";
import { platformOf } from "../../../src/admin/platform/platform-door.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { ask, newTenant, rules } from "../../support/worker/admin.ts";
import { anyTenant } from "../../support/worker/tenant.ts";

type Run = Infer<typeof FleetRun>;

const NEXT = { title: "new", description: "x".repeat(1999) };
const apply = async (json: unknown) => (await ask("POST", "/fleet/apply", { json })).body as Run;
const resume = (id: string) => ask("POST", `/fleet/runs/${id}/resume`);
const titleOf = async (id: string) =>
  ((await ask("GET", `/tenants/${id}`)).body as { effective: { title?: string } }).effective.title;
const titlesOf = (ids: readonly string[]) => Promise.all(ids.map(titleOf));
const document = (id: string, json: unknown) => ask("PUT", `/tenants/${id}/document`, { json });

let bases = 0;
let base = "";
/** In the order in which a run takes them. */
let tenants: readonly string[] = [];

beforeEach(async () => {
  bases += 1;
  base = `base-${bases}`;
  await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
  const made: string[] = [];
  for (let n = 0; n < 4; n += 1) made.push(await newTenant({ extends: [base] }));
  tenants = made.toSorted();
});

describe("a fleet run", () => {
  it("changes every tenant that extends the base, and no other", async () => {
    const other = await newTenant({ title: "mine" });
    const run = await apply({ base, document: NEXT });
    expect(run).toMatchObject({ base, state: "done", dryRun: false, total: 4, done: 4, failed: [] });
    expect(await titlesOf([...tenants, other])).toEqual(["new", "new", "new", "new", "mine"]);
    expect((await ask("GET", `/fleet/runs/${run.id}`)).body).toEqual(run);
    expect((await ask("GET", `/bases/${base}`)).body).toEqual(NEXT);
    const { items } = (await ask("GET", `/tenants/${tenants[0]}/audit?limit=1`)).body as { items: unknown[] };
    expect(items).toMatchObject([{ actor: "root", action: `fleet ${run.id}` }]);
  });

  it("is a no-op the second time", async () => {
    await apply({ base, document: NEXT });
    const shown = () => Promise.all(tenants.map(async (id) => (await ask("GET", `/tenants/${id}`)).body));
    const before = await shown();
    expect(await apply({ base, document: NEXT })).toMatchObject({ state: "done", done: 4 });
    expect(await shown()).toEqual(before);
  });

  it("only looks in a dry run, and says what would change in each tenant", async () => {
    const run = await apply({ base, document: { title: "new" }, dryRun: true });
    expect(run).toMatchObject({ state: "done", dryRun: true, total: 4, done: 4, effectiveAt: null });
    expect(run.changes?.map(({ tenant }) => tenant)).toEqual(tenants);
    for (const { changes } of run.changes ?? []) {
      expect(changes).toEqual([{ path: "title", before: "old", after: "new" }]);
    }
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "old"));
    expect((await ask("GET", `/bases/${base}`)).body).toMatchObject({ title: "old" });
  });

  it("is acknowledged when it is in force", async () => {
    const policy = remote(anyTenant(tenants[0] ?? ""), policyTables);
    await policy.lease({ version: null, maxStalenessMs: 300, inCode: false, keyHash: null });
    const before = Date.now();
    const { effectiveAt } = await apply({ base, document: NEXT });
    expect(Date.now() - before).toBeGreaterThanOrEqual(300);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(effectiveAt ?? ""));
  });

  it("of a base that nobody extends is done at once", async () => {
    expect(await apply({ base: "lonely", document: NEXT })).toMatchObject({ state: "done", total: 0 });
    expect((await ask("GET", "/bases/lonely")).body).toEqual(NEXT);
  });

  it.each<[string, unknown, string, string]>([
    ["no base", { document: {} }, "base", "is required"],
    ["a document that is none", { base: "b", document: { title: 1 } }, "title", "expected string"],
    ["a base that extends", { base: "b", document: { extends: ["x"] } }, "extends", "is not known here"],
    ["a wave of nobody", { base: "b", document: {}, wave: 0 }, "wave", "at least 1"],
  ])("with %s is refused, and changes nothing", async (_what, json, field, rule) => {
    const refused = await ask("POST", "/fleet/apply", { json });
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect((await ask("GET", "/bases/b")).status).toBe(404);
  });
});

describe("a tenant that fails", () => {
  let bad = "";

  /** So large that the new base's few bytes are too many. */
  beforeEach(async () => {
    bad = tenants[2] ?? "";
    const filler = { messages: [{ role: "user", content: { type: "text", text: "x".repeat(99_800) } }] };
    const prompts = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`p${at}`, filler]));
    expect((await document(bad, { extends: [base], mode: "open", prompts })).status).toBe(200);
  });

  it("stops the run after its wave, and is named with the reason", async () => {
    const run = await apply({ base, document: NEXT, wave: 1 });
    expect(run).toMatchObject({ state: "stopped", total: 4, done: 2, failed: [{ tenant: bad }] });
    expect(run.failed[0]?.error).toContain("has at most 900000 bytes");
    expect(await titlesOf(tenants)).toEqual(["new", "new", "old", "old"]);
  });

  it("does not keep the others of its wave", async () => {
    expect(await apply({ base, document: NEXT, wave: 4 })).toMatchObject({ state: "stopped", done: 3 });
    expect(await titlesOf(tenants)).toEqual(["new", "new", "old", "new"]);
  });

  it("stops only itself where the run goes on", async () => {
    const run = await apply({ base, document: NEXT, wave: 1, continueOnError: true });
    expect(run).toMatchObject({ state: "stopped", total: 4, done: 3, failed: [{ tenant: bad }] });
    expect(await titlesOf(tenants)).toEqual(["new", "new", "old", "new"]);
  });

  it("is tried again by resume, which finishes the rest", async () => {
    const { id } = await apply({ base, document: NEXT, wave: 1 });
    expect((await resume(id)).body).toMatchObject({ state: "stopped", done: 2, failed: [{ tenant: bad }] });
    await document(bad, { extends: [base], mode: "open" });
    expect((await resume(id)).body).toMatchObject({ state: "done", total: 4, done: 4, failed: [] });
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "new"));
    expect((await resume(id)).body).toMatchObject({ state: "done" });
  });

  it("is also found by a dry run", async () => {
    const run = await apply({ base, document: NEXT, dryRun: true, continueOnError: true });
    expect(run).toMatchObject({ state: "stopped", done: 3, failed: [{ tenant: bad }] });
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "old"));
  });
});

describe("going on with a run", () => {
  /** As an invocation leaves it that dies right away. */
  const begin = async (next: unknown) => {
    const run = { base, document: next as { title: string }, dryRun: false, wave: 2, continueOnError: false };
    return `run-${(await remote(platformOf(env), fleetTables).startRun(run, { name: "root" })).id}`;
  };

  it("is possible for anybody after its invocation died", async () => {
    const id = await begin(NEXT);
    expect((await ask("GET", `/fleet/runs/${id}`)).body).toMatchObject({ state: "running", total: 4, done: 0 });
    expect((await resume(id)).body).toMatchObject({ state: "done", done: 4 });
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "new"));
  });

  it("is refused when a later run took its place", async () => {
    const old = await begin({ title: "older" });
    await apply({ base, document: NEXT });
    expect((await resume(old)).status).toBe(409);
    expect((await ask("GET", `/fleet/runs/${old}`)).body).toMatchObject({ state: "stopped" });
    expect(await titlesOf(tenants)).toEqual(tenants.map(() => "new"));
  });

  it("passes over tenants that were deleted or extend it no more", async () => {
    const id = await begin(NEXT);
    const [gone = "", left = ""] = tenants;
    await ask("DELETE", `/tenants/${gone}`);
    await document(left, { mode: "open" });
    expect((await resume(id)).body).toMatchObject({ state: "done", total: 4, done: 4, failed: [] });
    expect(await titleOf(left)).toBeUndefined();
  });

  it("needs one that exists", async () => {
    expect((await resume("run-999999")).status).toBe(404);
    expect((await resume("nonsense")).status).toBe(422);
  });

  it("begins with finding it: the newest run is listed first", async () => {
    const [first, second] = [await apply({ base, document: { title: "1" } }), await apply({ base, document: NEXT })];
    const page = (await ask("GET", "/fleet/runs?limit=1")).body as { items: Run[]; cursor: string };
    expect(page.items).toMatchObject([{ id: second.id }]);
    const next = await ask("GET", `/fleet/runs?limit=1&cursor=${encodeURIComponent(page.cursor)}`);
    expect(next.body).toMatchObject({ items: [{ id: first.id }] });
  });
});

it("changes one tool's configuration for 500 tenants, all but a bad one, in under a minute", async () => {
  const fleet = "five-hundred";
  await ask("PUT", `/bases/${fleet}`, { json: { tools: { add: { config: { precision: 2 } } } } });
  const ids = Array.from({ length: 500 }, (_, at) => `fleet-${at}`);
  const made = await inLanes(ids, (id) =>
    ask("POST", "/tenants", { json: { id, document: { extends: [fleet], mode: "open" } } }),
  );
  expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
  const lost = "fleet-250";
  await remote(anyTenant(lost), policyTables).write({
    own: { extends: [fleet, "gone"], mode: "open" },
    effective: {},
    retired: [],
    ifRevision: null,
    actor: { name: "test" },
    action: "test",
  });
  const before = Date.now();
  const next = { tools: { add: { config: { precision: 3 } } } };
  const run = await apply({ base: fleet, document: next, continueOnError: true });
  expect(Date.now() - before).toBeLessThan(60_000);
  expect(run).toMatchObject({ state: "stopped", total: 500, done: 499, failed: [{ tenant: lost }] });
  expect(run.failed[0]?.error).toContain("there is no base document gone");
  const { effective } = (await ask("GET", "/tenants/fleet-499")).body as { effective: unknown };
  expect(effective).toMatchObject(next);
  expect(await remote(platformOf(env), baseTables).uses(fleet, 1000)).toHaveLength(500);
}, 180_000);
