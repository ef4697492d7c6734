import { describe, expect, it } from "vitest";
import { LIMIT_NAMES, LIMITS, TENANT_LIMITS } from "../../../src/limits/limit-definitions.ts";
import { ask, newTenant, operator, rules } from "../../support/workerd/admin.ts";

interface Shown {
  readonly exact: boolean;
  readonly items: readonly { readonly name: string; readonly [member: string]: unknown }[];
}

const limitsOf = async (id: string, token?: string) => {
  const { status, body } = await ask("GET", `/tenants/${id}/limits`, token === undefined ? {} : { token });
  expect(status).toBe(200);
  return body as Shown;
};
const limitOf = async (id: string, name: string) => (await limitsOf(id)).items.find((one) => one.name === name);
const set = (id: string, name: string, value: number, token?: string) =>
  ask("PUT", `/tenants/${id}/limits/${name}`, { json: { value }, ...(token === undefined ? {} : { token }) });
const adminOf = async (id: string) => (await operator("tenant-admin", { tenants: [id] })).token;

describe("the limits of a tenant", () => {
  it("are all of the table, with their defaults", async () => {
    const { exact, items } = await limitsOf(await newTenant());
    expect(exact).toBe(false);
    expect(items.map(({ name }) => name)).toEqual(LIMIT_NAMES);
    for (const { name, value, setBy } of items) {
      const { initial } = LIMITS[name as (typeof LIMIT_NAMES)[number]];
      expect([name, value, setBy]).toEqual([name, initial === Infinity ? null : initial, "default"]);
    }
  });

  it("say what is used of them", async () => {
    const id = await newTenant();
    await ask("POST", `/tenants/${id}/keys`, { json: { name: "one" } });
    expect(await limitOf(id, "keys")).toMatchObject({ used: 1 });
    const { body } = await ask("POST", `/tenants/${id}/keys`, { json: { name: "two" } });
    const rotate = `/tenants/${id}/keys/${(body as { id: string }).id}/rotate`;
    expect((await ask("POST", rotate, { json: { overlapSeconds: 0 } })).status).toBe(201);
    // The old key is listed for another month, but works no more.
    expect((await ask("GET", `/tenants/${id}/keys`)).body).toMatchObject({ items: { length: 3 } });
    expect(await limitOf(id, "keys")).toMatchObject({ used: 2 });
    expect((await ask("GET", `/tenants/${id}/usage`)).body).toMatchObject({ keys: 2 });
    expect(await limitOf(id, "resources")).toMatchObject({ used: 0 });
    expect(await limitOf(id, "toolCalls")).toMatchObject({ used: null, met: null });
  });

  it("are set one by one, and taken away again, as members of the document", async () => {
    const id = await newTenant({ title: "Acme", limits: { keys: 7 } });
    expect((await set(id, "toolCalls", 5000)).status).toBe(200);
    expect(await limitOf(id, "toolCalls")).toMatchObject({ value: 5000, setBy: "tenant" });
    const { body } = await ask("GET", `/tenants/${id}/document`);
    expect(body).toMatchObject({ title: "Acme", limits: { keys: 7, toolCalls: 5000 } });
    expect((await ask("DELETE", `/tenants/${id}/limits/toolCalls`)).status).toBe(200);
    expect(await limitOf(id, "toolCalls")).toMatchObject({ value: LIMITS.toolCalls.initial, setBy: "default" });
    expect(await limitOf(id, "keys")).toMatchObject({ value: 7 });
    await ask("DELETE", `/tenants/${id}/limits/keys`);
    expect((await ask("GET", `/tenants/${id}/document`)).body).not.toHaveProperty("limits");
  });

  it("are left alone by a change with the ETag of an earlier document", async () => {
    const id = await newTenant({ limits: { keys: 7 } });
    const path = `/tenants/${id}/limits/keys`;
    const headers = { "if-match": (await ask("GET", `/tenants/${id}/document`)).headers.get("etag") ?? "" };
    expect((await set(id, "toolCalls", 5000)).status).toBe(200);
    expect((await ask("PUT", path, { json: { value: 9 }, headers })).status).toBe(412);
    expect((await ask("DELETE", path, { headers })).status).toBe(412);
    expect(await limitOf(id, "keys")).toMatchObject({ value: 7 });
  });

  it("come from a base where the document says nothing, and are not set where a base binds them", async () => {
    await ask("PUT", "/bases/narrow", { json: { limits: { toolCalls: 9, keys: 5 }, bind: ["limits"] } });
    const id = await newTenant({ extends: ["narrow"] });
    expect(await limitOf(id, "toolCalls")).toMatchObject({ value: 9, setBy: "base" });
    expect(rules(await set(id, "keys", 50))).toEqual([422, ["limits", "is bound by a base document"]]);
  });

  it.each([
    ["too few", "toolCalls", LIMITS.toolCalls.least - 1],
    ["too many", "concurrentCalls", LIMITS.concurrentCalls.most + 1],
  ])("are refused where they are %s", async (_what, name, value) => {
    expect(rules(await set(await newTenant(), name, value))).toEqual([
      422,
      ["value", expect.stringMatching(/^a whole number from \d+ to \d+$/)],
    ]);
  });

  it("that a tenant cannot set are unknown here", async () => {
    expect((await set(await newTenant(), "addressRefusals", 5)).status).toBe(422);
  });
});

const PROTECTING = TENANT_LIMITS.filter((name) => LIMITS[name].raise === "operator");
const OWN = TENANT_LIMITS.filter((name) => LIMITS[name].raise === "tenant");

describe("an admin of the tenant", () => {
  it("lowers every limit, and raises none that protects others, by whatever way", async () => {
    const current = Object.fromEntries(PROTECTING.map((name) => [name, LIMITS[name].least + 1]));
    const id = await newTenant({ limits: current });
    const token = await adminOf(id);
    for (const name of PROTECTING) {
      const { least } = LIMITS[name];
      expect([name, (await set(id, name, least + 2, token)).status]).toEqual([name, 403]);
      expect([name, (await ask("DELETE", `/tenants/${id}/limits/${name}`, { token })).status]).toEqual([name, 403]);
      expect([name, (await set(id, name, least, token)).status]).toEqual([name, 200]);
    }
    const json = { mode: "open", limits: { keys: LIMITS.keys.least + 1 } };
    const done = await ask("PUT", `/tenants/${id}/document`, { json, token });
    expect(rules(done)).toContainEqual(["limits.keys", expect.stringContaining("only an operator may raise it")]);
  });

  it("raises none above the default if nothing is set", async () => {
    const id = await newTenant();
    const token = await adminOf(id);
    for (const name of PROTECTING.filter((one) => LIMITS[one].initial < LIMITS[one].most)) {
      const { initial } = LIMITS[name];
      expect([name, (await set(id, name, initial + 1, token)).status]).toEqual([name, 403]);
    }
  });

  it("raises and lowers what protects the tenant from its own callers", async () => {
    const id = await newTenant();
    const token = await adminOf(id);
    for (const name of OWN) {
      for (const value of [LIMITS[name].most, LIMITS[name].least])
        expect([name, (await set(id, name, value, token)).status]).toEqual([name, 200]);
    }
  });

  it("makes daily limits exact, and does not take that back", async () => {
    const id = await newTenant();
    const token = await adminOf(id);
    const apply = (limits: object) => ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", limits }, token });
    expect((await apply({ exact: true })).status).toBe(200);
    expect(rules(await apply({}))).toEqual([403, ["limits.exact", "only an operator may take it back"]]);
  });

  it("keeps them exact where a base says so", async () => {
    const base = `exact-${crypto.randomUUID()}`;
    expect((await ask("PUT", `/bases/${base}`, { json: { limits: { exact: true } } })).status).toBe(201);
    const id = await newTenant({ extends: [base] });
    const token = await adminOf(id);
    const apply = (limits: object) =>
      ask("PUT", `/tenants/${id}/document`, { json: { extends: [base], limits }, token });
    expect(rules(await apply({ exact: false }))).toEqual([403, ["limits.exact", "only an operator may take it back"]]);
    expect((await apply({ toolCalls: 10 })).status).toBe(200);
    expect((await limitsOf(id)).exact).toBe(true);
  });
});
