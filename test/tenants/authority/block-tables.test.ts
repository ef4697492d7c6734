// Tools that are blocked in every tenant, as one tenant's object keeps them: beside its own suspensions, never in their
// place.

import { describe, expect, it } from "vitest";
import { policyTables, type PolicyMethods } from "../../../src/tenants/authority/policy-tables.ts";
import { withdrawn } from "../../../src/tenants/authority/leases.ts";
import { onBench, type Bench } from "../../support/worker/tenant.ts";

const ANN = { name: "ann" };

function made(work: (bench: Bench<PolicyMethods>) => void): Promise<void> {
  return onBench(policyTables, (bench) => {
    const own = { maxStalenessMs: 400 };
    bench.methods.create({ own, effective: own, actor: ANN, action: "create" });
    work(bench);
  });
}

/** As a Worker is told that has no platform to ask. */
const suspensionsOf = (sql: SqlStorage) => withdrawn(sql).suspensions.map(({ kind, name, note }) => [kind, name, note]);

describe("a block", () => {
  it("reads as the suspension of a tool and waits for the leases that do not know it", async () => {
    await made(({ methods, sql }) => {
      expect(methods.blockTool("add", "recalled", ANN)).toEqual({
        changed: true,
        leftMs: 0,
        staleMs: null,
      });
      methods.lease({ version: null, maxStalenessMs: 1, inCode: false, keyHash: null });
      expect(methods.blockTool("greet", "recalled", ANN)).toEqual({
        changed: true,
        leftMs: 500,
        staleMs: null,
      });
      expect(suspensionsOf(sql)).toEqual([
        ["tool", "add", "recalled"],
        ["tool", "greet", "recalled"],
      ]);
      expect(methods.read(false)?.revision).toBe(3);
    });
  });

  it("that says the same again changes nothing, but still says from when it is in force", async () => {
    await made(({ methods, sql }) => {
      methods.lease({ version: null, maxStalenessMs: 1, inCode: false, keyHash: null });
      methods.blockTool("add", "one", ANN);
      expect(methods.blockTool("add", "one", ANN)).toEqual({
        changed: false,
        leftMs: 500,
        staleMs: null,
      });
      expect(methods.audit({ before: null, limit: 10 })).toHaveLength(2);
      expect(methods.blockTool("add", "two", ANN).changed).toBe(true);
      expect(suspensionsOf(sql)).toEqual([["tool", "add", "two"]]);
      expect(methods.audit({ before: null, limit: 1 })).toMatchObject([
        { action: "block", target: "tool add", before: { note: "one" }, after: { note: "two" } },
      ]);
    });
  });

  it("and a suspension of the tenant's own leave each other alone", async () => {
    await made(({ methods, sql }) => {
      methods.suspend({ kind: "tool", name: "add", note: "ours" }, ANN);
      methods.blockTool("add", "everywhere", ANN);
      expect(suspensionsOf(sql)).toEqual([
        ["tool", "add", "ours"],
        ["tool", "add", "everywhere"],
      ]);
      methods.unblockTool("add", ANN);
      expect(suspensionsOf(sql)).toEqual([["tool", "add", "ours"]]);
      methods.blockTool("add", "everywhere", ANN);
      methods.resume("tool", "add", ANN);
      expect(suspensionsOf(sql)).toEqual([["tool", "add", "everywhere"]]);
      expect(methods.resume("tool", "add", ANN).state).toBe("unchanged");
    });
  });

  it("is not told to whoever asks the platform's replicas, and goes with the next document", async () => {
    await made(({ methods, sql }) => {
      methods.blockTool("add", "recalled", ANN);
      const ask = { version: null, maxStalenessMs: 1, inCode: false, keyHash: null };
      const told = (isBraked: boolean) => {
        const answer = methods.lease({ ...ask, isBraked });
        return answer.state === "granted" && answer.policy?.suspensions.length;
      };
      expect([told(true), told(false)]).toEqual([0, 1]);
      expect(methods.read(false)?.suspensions).toEqual([]);
      const own = { title: "next" };
      methods.write({ own, effective: own, retired: [], ifRevision: null, actor: ANN, action: "apply" });
      expect(suspensionsOf(sql)).toEqual([]);
    });
  });

  it("is lifted once, by whom the log tells", async () => {
    await made(({ methods, clock }) => {
      const at = new Date(clock.now).toISOString();
      methods.blockTool("add", "n", ANN);
      expect(methods.unblockTool("add", { name: "bob" }).changed).toBe(true);
      expect(methods.unblockTool("add", { name: "bob" }).changed).toBe(false);
      expect(methods.audit({ before: null, limit: 1 })).toEqual([
        {
          sequence: 3,
          at,
          actor: "bob",
          action: "unblock",
          target: "tool add",
          before: { kind: "tool", name: "add", note: "n", since: at },
          after: null,
        },
      ]);
    });
  });

  it("of a tenant that is still to be made is there when it is", async () => {
    await onBench(policyTables, ({ methods, sql }) => {
      expect(methods.blockTool("add", "early", ANN).changed).toBe(true);
      methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
      expect(suspensionsOf(sql)).toEqual([["tool", "add", "early"]]);
    });
  });
});
