import { describe, expect, it } from "vitest";
import { gatewayStore } from "../../../src/gateway/gateway-store.ts";
import { reviewStore, type ReviewMethods, type ListedDefinition } from "../../../src/gateway/review/review-store.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { freshTenant, NO_UID, withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const BY = { name: "ann" };
const ALL = { after: -1, limit: 5000 };

/** The tables of a tenant that has these upstreams, each with the configuration "c". */
async function withReviewStore(
  upstreams: readonly string[],
  work: (store: OpenedStore<ReviewMethods>) => void,
): Promise<void> {
  const tenant = freshTenant();
  const own = { mode: "open" } as const;
  const policy = createRpcClient(tenant.stub, policyStore);
  await policy.create({ created: NO_UID, own, effective: own, actor: BY, action: "create" });
  const ask = { revision: 1, upstreams: upstreams.map((id) => ({ id, configHash: "c" })) };
  await createRpcClient(tenant.stub, gatewayStore).claimDue(ask);
  await withStore(reviewStore, work, { tenant });
}

const one = (name: string, text: string, kind = "tools"): ListedDefinition => ({
  kind,
  name,
  digest: `d-${text}`,
  text,
});
const names = ({ approved }: ReturnType<ReviewMethods["getState"]>) => approved.map(({ text }) => text);

describe("definitions that wait for approval", () => {
  it("are in the order of the list, on pages", () =>
    withReviewStore(["up"], ({ methods }) => {
      const definitions = ["c", "a", "b"].map((name) => one(name, name));
      expect(methods.recordListed({ id: "up", configHash: "c", definitions })).toBe("stored");
      const first = methods.listWaiting("up", { after: -1, limit: 2 });
      expect(first.items.map(({ name }) => name)).toEqual(["c", "a"]);
      const second = methods.listWaiting("up", { after: first.next ?? 0, limit: 2 });
      expect(second.items.map(({ name }) => name)).toEqual(["b"]);
      expect(second.next).toBeUndefined();
      methods.decide({ id: "up", verdict: "approve", digests: ["d-b", "d-c"] }, BY);
      expect(names(methods.getState("up"))).toEqual(["c", "b"]);
    }));

  it("are not changed by a reading of another configuration, or of an unknown upstream", () =>
    withReviewStore(["up"], ({ methods }) => {
      expect(methods.recordListed({ id: "up", configHash: "older", definitions: [one("a", "a")] })).toBe("stale");
      expect(methods.recordListed({ id: "other", configHash: "c", definitions: [one("a", "a")] })).toBe("stale");
      expect(methods.listWaiting("up", ALL).items).toEqual([]);
    }));

  it("are decided all together, or not at all", () =>
    withReviewStore(["up"], ({ methods }) => {
      methods.recordListed({ id: "up", configHash: "c", definitions: [one("a", "a")] });
      const before = methods.getGeneration("up");
      const done = methods.decide({ id: "up", verdict: "approve", digests: ["d-a", "d-z"] }, BY);
      expect(done).toEqual({ unknown: ["d-z"] });
      expect(names(methods.getState("up"))).toEqual([]);
      expect(methods.getGeneration("up")).toBe(before);
    }));

  it.each(["approve", "reject"] as const)("are decided on once, though the decision to %s is sent twice", (verdict) =>
    withReviewStore(["up"], ({ methods, sql }) => {
      methods.recordListed({ id: "up", configHash: "c", definitions: [one("a", "a")] });
      const decide = () => methods.decide({ id: "up", verdict, digests: ["d-a"] }, BY);
      expect(decide()).toEqual({ unknown: [] });
      const after = methods.getGeneration("up");
      expect(decide()).toEqual({ unknown: [] });
      expect(methods.getGeneration("up")).toBe(after);
      const noted = sql.exec("SELECT 1 FROM audit WHERE action = ?", `upstream.${verdict}`).toArray();
      expect(noted).toHaveLength(1);
    }),
  );

  it("are not approved by the digest of an earlier version", () =>
    withReviewStore(["up"], ({ methods }) => {
      methods.recordListed({ id: "up", configHash: "c", definitions: [one("a", "first")] });
      const approve = (digest: string) => methods.decide({ id: "up", verdict: "approve", digests: [digest] }, BY);
      approve("d-first");
      methods.recordListed({ id: "up", configHash: "c", definitions: [one("a", "second")] });
      expect(approve("d-first")).toEqual({ unknown: ["d-first"] });
      // What is not listed any more is none that could be approved, either.
      methods.recordListed({ id: "up", configHash: "c", definitions: [] });
      expect(approve("d-first")).toEqual({ unknown: ["d-first"] });
    }));

  it("have a new generation after every reading and every decision", () =>
    withReviewStore(["up"], ({ methods, clock }) => {
      const seen: number[] = [];
      for (let time = 0; time < 3; time += 1) {
        methods.recordListed({ id: "up", configHash: "c", definitions: [one("a", `a${time}`)] });
        seen.push(methods.getGeneration("up"));
        methods.decide({ id: "up", verdict: "reject", digests: [`d-a${time}`] }, BY);
        seen.push(methods.getGeneration("up"));
        clock.now -= 1000;
      }
      expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
    }));

  it("are bounded: the ones that were not listed for longest go", () =>
    withReviewStore(["up"], ({ methods, sql, clock }) => {
      for (const letter of ["a", "b", "c"]) {
        clock.now += 1000;
        const definitions = Array.from({ length: 1000 }, (_, at) => one(`${letter}${at}`, `${letter}${at}`));
        methods.recordListed({ id: "up", configHash: "c", definitions });
        methods.decide({ id: "up", verdict: "approve", digests: definitions.map(({ digest }) => digest) }, BY);
      }
      // One that follows them makes room.
      methods.recordListed({ id: "up", configHash: "c", definitions: [one("d", "d")] });
      const rows = sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM upstream_reviews").one().rows;
      expect(rows).toBe(2000);
      expect(sql.exec("SELECT 1 FROM upstream_reviews WHERE name = 'd'").toArray()).toHaveLength(1);
      expect(sql.exec("SELECT 1 FROM upstream_reviews WHERE name LIKE 'a%'").toArray()).toHaveLength(0);
    }));

  it("have a bound in bytes: the reading fails, and what was approved stays", () =>
    withReviewStore(["up"], ({ methods }) => {
      methods.recordListed({ id: "up", configHash: "c", definitions: [one("mine", "mine")] });
      methods.decide({ id: "up", verdict: "approve", digests: ["d-mine"] }, BY);
      const large = Array.from({ length: 70 }, (_, at) => one(`t${at}`, `${at}${"x".repeat(250_000)}`));
      expect(methods.recordListed({ id: "up", configHash: "c", definitions: [one("mine", "mine"), ...large] })).toBe(
        "full",
      );
      expect(names(methods.getState("up"))).toEqual(["mine"]);
      expect(methods.listWaiting("up", ALL).items).toEqual([]);
    }));
});
