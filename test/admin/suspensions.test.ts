import { beforeEach, describe, expect, it } from "vitest";
import type { SuspensionShape, Infer } from "../../src/admin/contract.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { ask, newTenant, rules, type Answered } from "../support/workerd/admin.ts";
import { anyTenant } from "../support/workerd/tenant.ts";

const lease = (id: string, maxStalenessMs = 300) =>
  createRpcClient(anyTenant(id), policyStore).lease({
    version: null,
    maxStalenessMs,
    inCode: false,
    keyHash: null,
  });
const itemsOf = <T>({ body }: Answered) => (body as { items: T[] }).items;

/** How long it took, and whether it came before what it says. */
async function timed(work: Promise<Answered>) {
  const before = Date.now();
  const { body, status } = await work;
  const { effectiveAt } = body as { effectiveAt: string | null };
  return { status, took: Date.now() - before, early: effectiveAt !== null && Date.now() < Date.parse(effectiveAt) };
}

let id = "";
beforeEach(async () => {
  id = await newTenant({
    maxStalenessMs: 300,
    profiles: { small: { tools: { rename: { add: { name: "sum" } } } } },
  });
});

describe("suspensions", () => {
  const suspend = (json: unknown) => ask("POST", `/tenants/${id}/suspensions`, { json });
  const notes = async () =>
    itemsOf<Infer<typeof SuspensionShape>>(await ask("GET", `/tenants/${id}/suspensions`)).map(
      ({ kind, name, note }) => `${kind} ${name}: ${note}`,
    );

  it("are in force when acknowledged, and lifted the same way", async () => {
    const made = await ask("POST", `/tenants/${id}/keys`, { json: { name: "k" } });
    const { id: key } = made.body as { id: string };
    await lease(id);
    expect(await timed(suspend({ kind: "tenant", note: "unpaid" }))).toMatchObject({ status: 200, early: false });
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ suspended: "unpaid" });
    await suspend({ kind: "profile", name: "small", note: "p" });
    await suspend({ kind: "principal", name: key, note: "k" });
    await suspend({ kind: "tool", name: "add", note: "t" });
    expect((await notes()).toSorted()).toEqual([
      `principal key ${key}: k`,
      "profile small: p",
      "tenant : unpaid",
      "tool add: t",
    ]);
    for (const path of ["tenant", "profile/small", `principal/${key}`, "tool/add"]) {
      const lifted = await ask("DELETE", `/tenants/${id}/suspensions/${path}`);
      expect(lifted.body).toMatchObject({ changed: true });
      expect((await ask("DELETE", `/tenants/${id}/suspensions/${path}`)).body).toMatchObject({ changed: false });
    }
    expect(await notes()).toEqual([]);
  });

  it("wait for every lease", async () => {
    id = await newTenant({ maxStalenessMs: 2000 });
    await lease(id, 2000);
    const { took, early } = await timed(suspend({ kind: "tool", name: "add", note: "broken" }));
    // The lease began before; a busy machine may take a second until the suspension is asked for.
    expect([took >= 300, early]).toEqual([true, false]);
  });

  it.each<[string, unknown, string, string]>([
    ["a kind that is none", { kind: "planet", note: "n" }, "kind", "one of tenant, profile, principal, tool"],
    ["no note", { kind: "tenant" }, "note", "is required"],
    ["a name for a tenant", { kind: "tenant", name: "x", note: "n" }, "name", "must be absent for a tenant"],
    ["no name for a tool", { kind: "tool", note: "n" }, "name", "is required for a tool"],
    ["a profile that is not there", { kind: "profile", name: "none", note: "n" }, "name", "there is no profile none"],
    ["a tool under the name a profile gives it", { kind: "tool", name: "sum", note: "n" }, "name", "there is no tool"],
    ["a principal that is not there", { kind: "principal", name: "0123456789", note: "n" }, "name", "no principal"],
  ])("of %s are refused, and nothing is suspended", async (_what, json, field, rule) => {
    expect(rules(await suspend(json))).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect(await notes()).toEqual([]);
  });

  it.each([
    ["tool", "kind", "must be followed by the name of the tool"],
    ["tenant/acme", "name", "must be absent for a tenant"],
    ["planet/x", "kind", "one of tenant, profile, principal, tool"],
  ])("are not lifted by /%s", async (path, field, rule) => {
    const refused = await ask("DELETE", `/tenants/${id}/suspensions/${path}`);
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
  });
});
