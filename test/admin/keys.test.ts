import { beforeEach, describe, expect, it } from "vitest";
import { hashToken, keyIdOf } from "../../src/auth/api-key.ts";
import type { ApiKeyShape, CreatedKeyShape, Infer } from "../../src/admin/contract.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { ask, newTenant, rules, type Answered } from "../support/workerd/admin.ts";
import { anyTenant } from "../support/workerd/tenant.ts";

type Made = Infer<typeof CreatedKeyShape>;
type Key = Infer<typeof ApiKeyShape>;

const grantOf = async (id: string, token: string) => {
  const keyHash = await hashToken(token);
  const answer = await createRpcClient(anyTenant(id), policyStore).lease({
    version: null,
    maxStalenessMs: 300,
    inCode: false,
    keyHash,
  });
  return answer.state === "granted" ? answer.key : undefined;
};
const itemsOf = <T>({ body }: Answered) => (body as { items: T[] }).items;
const makeKey = async (id: string, json: unknown = { name: "k" }) =>
  (await ask("POST", `/tenants/${id}/keys`, { json })).body as Made;

/** How long it took, and whether it came before what it says. */
async function timed(work: Promise<Answered>) {
  const before = Date.now();
  const { body, status } = await work;
  const { effectiveAt } = body as { effectiveAt: string | null };
  return { status, took: Date.now() - before, early: effectiveAt !== null && Date.now() < Date.parse(effectiveAt) };
}

let id = "";
beforeEach(async () => {
  id = await newTenant({ maxStalenessMs: 300, scopes: { adder: { tools: ["add"] } }, profiles: { small: {} } });
});

describe("API keys", () => {
  it("are shown once, and work", async () => {
    const expires = new Date(Date.now() + 60_000).toISOString();
    const made = await makeKey(id, { name: "ci", scopes: ["adder"], profile: "small", expires });
    expect(keyIdOf(made.token)).toBe(made.id);
    const { token, ...shown } = made;
    expect(shown).toMatchObject({
      name: "ci",
      scopes: ["adder"],
      profile: "small",
      expires,
      lastUsed: null,
      retires: null,
    });
    expect(await grantOf(id, token)).toMatchObject({ name: "ci", scopes: ["adder"], profile: "small" });
    const [listed] = itemsOf<Key>(await ask("GET", `/tenants/${id}/keys`));
    expect(listed).toEqual({ ...shown, lastUsed: expect.any(String) as unknown });
    expect((await ask("GET", `/tenants/${id}/audit`)).text).not.toContain(token);
  });

  it.each<[string, unknown, string, string]>([
    ["no name", {}, "name", "is required"],
    ["a scope that is not there", { name: "k", scopes: ["adder", "none"] }, "scopes.1", "there is no scope none"],
    ["a scope twice", { name: "k", scopes: ["adder", "adder"] }, "scopes", "must not have an item twice"],
    ["a profile that is not there", { name: "k", profile: "none" }, "profile", "there is no profile none"],
    ["a name of the language for a profile", { name: "k", profile: "constructor" }, "profile", "there is no profile"],
    ["an end in the past", { name: "k", expires: "2020-01-01T00:00:00Z" }, "expires", "is in the past"],
    ["an end that is no time", { name: "k", expires: "soon" }, "expires", "a time in UTC"],
  ])("with %s are refused, and not made", async (_what, json, field, rule) => {
    const refused = await ask("POST", `/tenants/${id}/keys`, { json });
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect(itemsOf(await ask("GET", `/tenants/${id}/keys`))).toEqual([]);
  });

  it("are rotated with an overlap in which both work", async () => {
    const old = await makeKey(id, { name: "ci", scopes: ["adder"] });
    const rotate = (key: string, json: unknown) => ask("POST", `/tenants/${id}/keys/${key}/rotate`, { json });
    const next = (await rotate(old.id, { overlapSeconds: 3600 })).body as Made;
    expect(next).toMatchObject({ name: "ci", scopes: ["adder"], retires: null });
    expect([await grantOf(id, old.token), await grantOf(id, next.token)]).toMatchObject([
      { id: old.id },
      { id: next.id },
    ]);
    const keys = itemsOf<Key>(await ask("GET", `/tenants/${id}/keys`));
    expect(keys.find((key) => key.id === old.id)?.retires).toEqual(expect.any(String));
    expect((await rotate(old.id, {})).status).toBe(409);
    expect((await rotate("0123456789", {})).status).toBe(404);
    const last = (await rotate(next.id, { overlapSeconds: 0 })).body as Made;
    expect([await grantOf(id, next.token), await grantOf(id, last.token)]).toMatchObject([null, { id: last.id }]);
  });

  it("are revoked when no lease holds them any more, also for one who asks again", async () => {
    const { token, id: key } = await makeKey(id);
    expect(await grantOf(id, token)).not.toBeNull();
    const revoke = () => timed(ask("DELETE", `/tenants/${id}/keys/${key}`));
    // The second does not know whether the first was heard of: it must not be told "done" any sooner.
    const both = await Promise.all([revoke(), revoke()]);
    expect(both.map(({ took, early }) => [took >= 300, early])).toEqual([
      [true, false],
      [true, false],
    ]);
    expect(await grantOf(id, token)).toBeNull();
    expect((await ask("DELETE", `/tenants/${id}/keys/${key}`)).body).toMatchObject({ changed: false });
  });

  it("have ids that look like ids", async () => {
    expect(rules(await ask("DELETE", `/tenants/${id}/keys/nope`))).toEqual([
      422,
      ["key", expect.stringContaining("must be the id of a key (ten of 0-9, A-Z and a-z)")],
    ]);
  });
});
