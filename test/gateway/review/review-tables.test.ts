// What a tenant's authority keeps of definitions that wait for approval: bounded, and of the current configuration alone.

import { describe, expect, it } from "vitest";
import { gatewayTables } from "../../../src/gateway/gateway-tables.ts";
import { reviewTables, type ReviewMethods, type SeenDefinition } from "../../../src/gateway/review/review-tables.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { freshTenant, MADE_BEFORE, onBench, type Bench } from "../../support/workerd/tenant.ts";

const BY = { name: "ann" };
const ALL = { after: -1, limit: 5000 };

/** The tables of a tenant that has these upstreams, each with the configuration "c". */
async function atDesk(upstreams: readonly string[], work: (bench: Bench<ReviewMethods>) => void): Promise<void> {
  const tenant = freshTenant();
  const own = { mode: "open" } as const;
  const policy = remote(tenant.stub, policyTables);
  await policy.create({ created: MADE_BEFORE, own, effective: own, actor: BY, action: "create" });
  const ask = { revision: 1, upstreams: upstreams.map((id) => ({ id, config: "c" })) };
  await remote(tenant.stub, gatewayTables).due(ask);
  await onBench(reviewTables, work, { tenant });
}

const one = (name: string, text: string, kind = "tools"): SeenDefinition => ({ kind, name, digest: `d-${text}`, text });
const names = ({ approved }: ReturnType<ReviewMethods["inForce"]>) => approved.map(({ text }) => text);

describe("definitions that wait for approval", () => {
  it("are in the order of the list, on pages", () =>
    atDesk(["up"], ({ methods }) => {
      const definitions = ["c", "a", "b"].map((name) => one(name, name));
      expect(methods.seen({ id: "up", config: "c", definitions })).toBe("kept");
      const first = methods.waiting("up", { after: -1, limit: 2 });
      expect(first.items.map(({ name }) => name)).toEqual(["c", "a"]);
      const second = methods.waiting("up", { after: first.next ?? 0, limit: 2 });
      expect(second.items.map(({ name }) => name)).toEqual(["b"]);
      expect(second.next).toBeUndefined();
      methods.decide({ id: "up", verdict: "approve", digests: ["d-b", "d-c"] }, BY);
      expect(names(methods.inForce("up"))).toEqual(["c", "b"]);
    }));

  it("are not changed by a reading of another configuration, or of an unknown upstream", () =>
    atDesk(["up"], ({ methods }) => {
      expect(methods.seen({ id: "up", config: "older", definitions: [one("a", "a")] })).toBe("stale");
      expect(methods.seen({ id: "other", config: "c", definitions: [one("a", "a")] })).toBe("stale");
      expect(methods.waiting("up", ALL).items).toEqual([]);
    }));

  it("are all decided on, or none", () =>
    atDesk(["up"], ({ methods }) => {
      methods.seen({ id: "up", config: "c", definitions: [one("a", "a")] });
      const before = methods.generation("up");
      const done = methods.decide({ id: "up", verdict: "approve", digests: ["d-a", "d-z"] }, BY);
      expect(done).toEqual({ unknown: ["d-z"] });
      expect(names(methods.inForce("up"))).toEqual([]);
      expect(methods.generation("up")).toBe(before);
    }));

  it.each(["approve", "reject"] as const)("are decided on once, though the decision to %s is sent twice", (verdict) =>
    atDesk(["up"], ({ methods, sql }) => {
      methods.seen({ id: "up", config: "c", definitions: [one("a", "a")] });
      const decide = () => methods.decide({ id: "up", verdict, digests: ["d-a"] }, BY);
      expect(decide()).toEqual({ unknown: [] });
      const after = methods.generation("up");
      expect(decide()).toEqual({ unknown: [] });
      expect(methods.generation("up")).toBe(after);
      const noted = sql.exec("SELECT 1 FROM audit WHERE action = ?", `upstream.${verdict}`).toArray();
      expect(noted).toHaveLength(1);
    }),
  );

  it("are not approved by the digest of an earlier version", () =>
    atDesk(["up"], ({ methods }) => {
      methods.seen({ id: "up", config: "c", definitions: [one("a", "first")] });
      const approve = (digest: string) => methods.decide({ id: "up", verdict: "approve", digests: [digest] }, BY);
      approve("d-first");
      methods.seen({ id: "up", config: "c", definitions: [one("a", "second")] });
      expect(approve("d-first")).toEqual({ unknown: ["d-first"] });
      // What is not listed any more is none that could be approved, either.
      methods.seen({ id: "up", config: "c", definitions: [] });
      expect(approve("d-first")).toEqual({ unknown: ["d-first"] });
    }));

  it("have a new generation after every reading and every decision", () =>
    atDesk(["up"], ({ methods, clock }) => {
      const seen: number[] = [];
      for (let time = 0; time < 3; time += 1) {
        methods.seen({ id: "up", config: "c", definitions: [one("a", `a${time}`)] });
        seen.push(methods.generation("up"));
        methods.decide({ id: "up", verdict: "reject", digests: [`d-a${time}`] }, BY);
        seen.push(methods.generation("up"));
        clock.now -= 1000;
      }
      expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
    }));

  it("are bounded: the ones that were not listed for longest go", () =>
    atDesk(["up"], ({ methods, sql, clock }) => {
      for (const letter of ["a", "b", "c"]) {
        clock.now += 1000;
        const definitions = Array.from({ length: 1000 }, (_, at) => one(`${letter}${at}`, `${letter}${at}`));
        methods.seen({ id: "up", config: "c", definitions });
        methods.decide({ id: "up", verdict: "approve", digests: definitions.map(({ digest }) => digest) }, BY);
      }
      // One that follows them makes room.
      methods.seen({ id: "up", config: "c", definitions: [one("d", "d")] });
      const rows = sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM upstream_reviews").one().rows;
      expect(rows).toBe(2000);
      expect(sql.exec("SELECT 1 FROM upstream_reviews WHERE name = 'd'").toArray()).toHaveLength(1);
      expect(sql.exec("SELECT 1 FROM upstream_reviews WHERE name LIKE 'a%'").toArray()).toHaveLength(0);
    }));

  it("have a bound in bytes: the reading fails, and what was approved stays", () =>
    atDesk(["up"], ({ methods }) => {
      methods.seen({ id: "up", config: "c", definitions: [one("mine", "mine")] });
      methods.decide({ id: "up", verdict: "approve", digests: ["d-mine"] }, BY);
      const large = Array.from({ length: 70 }, (_, at) => one(`t${at}`, `${at}${"x".repeat(250_000)}`));
      expect(methods.seen({ id: "up", config: "c", definitions: [one("mine", "mine"), ...large] })).toBe("full");
      expect(names(methods.inForce("up"))).toEqual(["mine"]);
      expect(methods.waiting("up", ALL).items).toEqual([]);
    }));
});
