import { describe, expect, it } from "vitest";
import { ask, newTenant, operator, rules } from "../support/workerd/admin.ts";

const adminOf = async (id: string) => (await operator("tenant-admin", { tenants: [id] })).token;

describe("a suspension by an operator", () => {
  const KINDS = [
    { kind: "profile", name: "p" },
    { kind: "principal", name: "anonymous" },
    { kind: "tool", name: "add" },
  ];

  it.each(KINDS)("of a $kind is not lifted by the tenant's administrator, nor written over", async ({ kind, name }) => {
    const id = await newTenant({ profiles: { p: {} }, maxStalenessMs: 50 });
    const token = await adminOf(id);
    await ask("POST", `/tenants/${id}/suspensions`, { json: { kind, name, note: "by us" } });
    const again = await ask("POST", `/tenants/${id}/suspensions`, { token, json: { kind, name, note: "by me" } });
    expect(again.body).toMatchObject({ changed: false });
    expect((await ask("DELETE", `/tenants/${id}/suspensions/${kind}/${name}`, { token })).status).toBe(403);
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({ items: [{ note: "by us" }] });
    expect((await ask("DELETE", `/tenants/${id}/suspensions/${kind}/${name}`)).body).toMatchObject({ changed: true });
  });

  it.each(KINDS)(
    "leaves to the tenant's administrator what they suspended themselves ($kind)",
    async ({ kind, name }) => {
      const id = await newTenant({ profiles: { p: {} }, maxStalenessMs: 50 });
      const token = await adminOf(id);
      await ask("POST", `/tenants/${id}/suspensions`, { token, json: { kind, name, note: "by me" } });
      const lifted = await ask("DELETE", `/tenants/${id}/suspensions/${kind}/${name}`, { token });
      expect(lifted.body).toMatchObject({ changed: true });
    },
  );
});

describe("keys", () => {
  it("are no more than the limit by rotating either, apart from one that is being replaced", async () => {
    const id = await newTenant({ limits: { keys: 2 }, maxStalenessMs: 50 });
    const token = await adminOf(id);
    const make = async (name: string) =>
      (await ask("POST", `/tenants/${id}/keys`, { token, json: { name } })).body as { id: string };
    const [one, two] = [await make("one"), await make("two")];
    const rotate = (key: string, overlapSeconds: number) =>
      ask("POST", `/tenants/${id}/keys/${key}/rotate`, { token, json: { overlapSeconds } });
    const first = await rotate(one.id, 3600);
    expect(first.status).toBe(201);
    expect(rules(await rotate(two.id, 3600))).toEqual([409, ["limits.keys", expect.stringContaining("overlap")]]);
    expect((await rotate(two.id, 0)).status).toBe(201);
    expect((await ask("POST", `/tenants/${id}/keys`, { token, json: { name: "three" } })).status).toBe(409);
  });
});

describe("leases", () => {
  it("are made longer than ten seconds by operators alone", async () => {
    const id = await newTenant();
    const token = await adminOf(id);
    const put = (maxStalenessMs: number, by?: string) =>
      ask("PUT", `/tenants/${id}/document`, {
        ...(by === undefined ? {} : { token: by }),
        json: { mode: "open", maxStalenessMs },
      });
    expect((await put(10_000, token)).status).toBe(200);
    expect(rules(await put(10_001, token))).toEqual([
      403,
      ["maxStalenessMs", expect.stringContaining("only an operator")],
    ]);
    expect((await put(60_000)).status).toBe(200);
    expect((await put(60_000, token)).status).toBe(200);
    expect((await put(70_000, token)).status).toBe(403);
    expect((await put(5_000, token)).status).toBe(200);
  });
});

describe("a base that binds", () => {
  it("is not overridden by what the tenant says, before or later, by anybody", async () => {
    await ask("PUT", "/bases/bound", { json: { tools: { "wipe*": { enabled: false } }, limits: { keys: 1 } } });
    const id = await newTenant({ extends: ["bound"], tools: { wipe: { enabled: true } } });
    const seen = async () =>
      (await ask("GET", `/tenants/${id}/explain?kind=tools&name=wipe`)).body as { callable: boolean };
    expect((await seen()).callable).toBe(true);
    const bound = { tools: { "wipe*": { enabled: false } }, limits: { keys: 1 }, bind: ["tools", "limits"] };
    await ask("PUT", "/bases/bound", { json: bound });
    const again = { mode: "open", extends: ["bound"], tools: { wipe: { enabled: true } } };
    expect((await ask("PUT", `/tenants/${id}/document`, { json: again })).status).toBe(200);
    expect((await seen()).callable).toBe(false);
    const other = { ...again, tools: { wipe: { enabled: true }, add: { enabled: true } }, limits: { keys: 9 } };
    const rule = "is bound by a base document";
    const refused = rules(await ask("PUT", `/tenants/${id}/document`, { json: other }));
    expect(refused).toEqual([422, ["tools", rule], ["limits", rule]]);
  });

  it("names members that can be bound, and is not a tenant's to say", async () => {
    expect((await ask("PUT", "/bases/wrong", { json: { bind: ["title"] } })).status).toBe(422);
    const id = await newTenant();
    expect((await ask("PUT", `/tenants/${id}/document`, { json: { bind: ["tools"] } })).status).toBe(422);
  });
});
