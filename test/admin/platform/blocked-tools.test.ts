import { describe, expect, it } from "vitest";
import { ask, newTenant, waitForRollout, rules, type Answered } from "../../support/workerd/admin.ts";

const itemsOf = <T>({ body }: Answered) => (body as { items: T[] }).items;

describe("a blocked tool", () => {
  it("is suspended in every tenant, in code or not, now and later, until it is unblocked", async () => {
    const shown = async (tenant: string) => itemsOf(await ask("GET", `/tenants/${tenant}/suspensions`));
    const early = await newTenant({ maxStalenessMs: 300 });
    const own = await ask("POST", `/tenants/${early}/suspensions`, {
      json: { kind: "tool", name: "wipe", note: "ours" },
    });
    expect(own.status).toBe(200);
    const blocked = await waitForRollout(ask("POST", "/tools/wipe/block", { json: { note: "unsafe" } }));
    expect(blocked).toMatchObject({ status: 202, body: { changed: true } });
    const later = await newTenant();
    for (const tenant of [early, later, "demo"]) {
      expect(await shown(tenant)).toContainEqual(
        expect.objectContaining({ kind: "tool", name: "wipe", note: "unsafe" }),
      );
      const explained = await ask("GET", `/tenants/${tenant}/explain?kind=tools&name=wipe`);
      expect(explained.text).toContain("unsafe");
    }
    expect(itemsOf(await ask("GET", "/tools/blocked"))).toMatchObject([{ name: "wipe", note: "unsafe" }]);
    // What the platform blocked, a tenant's operators do not lift.
    await ask("DELETE", `/tenants/${early}/suspensions/tool/wipe`);
    expect(await shown(early)).toMatchObject([{ note: "unsafe" }]);
    const lifted = await waitForRollout(ask("DELETE", "/tools/wipe/block"));
    expect(lifted.body).toMatchObject({ changed: true });
    expect(await shown(later)).toEqual([]);
    expect((await ask("DELETE", "/tools/wipe/block")).body).toMatchObject({ changed: false });
  });

  it("is one that exists", async () => {
    const refused = await ask("POST", "/tools/sum/block", { json: { note: "n" } });
    expect(rules(refused)).toEqual([422, ["name", "there is no tool sum in the code"]]);
  });
});
