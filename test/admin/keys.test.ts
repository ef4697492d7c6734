// Keys, suspensions and blocked tools: what is given and taken away, each in force when it is acknowledged; and why.

import { beforeEach, describe, expect, it } from "vitest";
import { hashToken, keyIdOf } from "../../src/auth/api-key.ts";
import type { ApiKey, CreatedKey, Explained, SuspensionShape, Infer } from "../../src/admin/contract.ts";
import { policyTables } from "../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../src/tenants/authority/tables.ts";
import { ask, newTenant, rolledOut, rules, type Answered } from "../support/worker/admin.ts";
import { anyTenant } from "../support/worker/tenant.ts";

type Made = Infer<typeof CreatedKey>;
type Key = Infer<typeof ApiKey>;

const policyOf = (id: string) => remote(anyTenant(id), policyTables);
const lease = async (id: string, token?: string, inCode = false) =>
  policyOf(id).lease({
    version: null,
    maxStalenessMs: 300,
    inCode,
    keyHash: token === undefined ? null : await hashToken(token),
  });
const grantOf = async (id: string, token: string) => {
  const answer = await lease(id, token);
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
  id = await newTenant({
    maxStalenessMs: 300,
    scopes: { adder: { tools: ["add"] } },
    profiles: { small: { tools: { deny: ["wipe"], rename: { add: { name: "sum" } } } } },
  });
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
    ["a scope twice", { name: "k", scopes: ["adder", "adder"] }, "scopes", "must not name anything twice"],
    ["a profile that is not there", { name: "k", profile: "none" }, "profile", "there is no profile none"],
    ["a name of the language for a profile", { name: "k", profile: "constructor" }, "profile", "there is no profile"],
    ["an end in the past", { name: "k", expires: "2020-01-01T00:00:00Z" }, "expires", "lies in the past"],
    ["an end that is no time", { name: "k", expires: "soon" }, "expires", "a time in UTC"],
  ])("with %s are refused, and not made", async (_what, json, field, rule) => {
    const refused = await ask("POST", `/tenants/${id}/keys`, { json });
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect(itemsOf(await ask("GET", `/tenants/${id}/keys`))).toEqual([]);
  });

  it("are as many as the tenant may have", async () => {
    const limited = await newTenant({ limits: { keys: 1 } });
    await makeKey(limited);
    const refused = await ask("POST", `/tenants/${limited}/keys`, { json: { name: "second" } });
    expect(rules(refused)).toEqual([409, ["limits.keys", "the tenant may have no more keys than 1"]]);
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
      ["key", expect.stringContaining("ten of 0-9, A-Z and a-z")],
    ]);
  });
});

describe("suspensions", () => {
  const suspend = (json: unknown) => ask("POST", `/tenants/${id}/suspensions`, { json });
  const notes = async () =>
    itemsOf<Infer<typeof SuspensionShape>>(await ask("GET", `/tenants/${id}/suspensions`)).map(
      ({ kind, name, note }) => `${kind} ${name}: ${note}`,
    );

  it("are in force when acknowledged, and lifted the same way", async () => {
    const { id: key } = await makeKey(id);
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
    await lease(id);
    const { took, early } = await timed(suspend({ kind: "tool", name: "add", note: "broken" }));
    expect([took >= 300, early]).toEqual([true, false]);
  });

  it.each<[string, unknown, string, string]>([
    ["a kind that is none", { kind: "planet", note: "n" }, "kind", "one of tenant, profile, principal, tool"],
    ["no note", { kind: "tenant" }, "note", "is required"],
    ["a name for a tenant", { kind: "tenant", name: "x", note: "n" }, "name", "a tenant has none here"],
    ["no name for a tool", { kind: "tool", note: "n" }, "name", "says which tool"],
    ["a profile that is not there", { kind: "profile", name: "none", note: "n" }, "name", "there is no profile none"],
    ["a tool under the name a profile gives it", { kind: "tool", name: "sum", note: "n" }, "name", "there is no tool"],
    ["a principal that is not there", { kind: "principal", name: "0123456789", note: "n" }, "name", "no principal"],
  ])("of %s are refused, and nothing is suspended", async (_what, json, field, rule) => {
    expect(rules(await suspend(json))).toEqual([422, [field, expect.stringContaining(rule)]]);
    expect(await notes()).toEqual([]);
  });

  it.each([
    ["tool", "kind", "a tool is resumed by its name"],
    ["tenant/acme", "name", "a tenant has none here"],
    ["planet/x", "kind", "one of tenant, profile, principal, tool"],
  ])("are not lifted by /%s", async (path, field, rule) => {
    const refused = await ask("DELETE", `/tenants/${id}/suspensions/${path}`);
    expect(rules(refused)).toEqual([422, [field, expect.stringContaining(rule)]]);
  });
});

describe("a blocked tool", () => {
  it("is suspended in every tenant, in code or not, now and later, until it is let go", async () => {
    const shown = async (tenant: string) => itemsOf(await ask("GET", `/tenants/${tenant}/suspensions`));
    const own = await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tool", name: "wipe", note: "ours" } });
    expect(own.status).toBe(200);
    const blocked = await rolledOut(ask("POST", "/tools/wipe/block", { json: { note: "unsafe" } }));
    expect(blocked).toMatchObject({ status: 202, body: { changed: true } });
    const later = await newTenant();
    for (const tenant of [id, later, "demo"]) {
      expect(await shown(tenant)).toContainEqual(
        expect.objectContaining({ kind: "tool", name: "wipe", note: "unsafe" }),
      );
      const explained = await ask("GET", `/tenants/${tenant}/explain?kind=tools&name=wipe`);
      expect(explained.text).toContain("unsafe");
    }
    expect(itemsOf(await ask("GET", "/tools/blocked"))).toMatchObject([{ name: "wipe", note: "unsafe" }]);
    // What the platform blocked, a tenant's operators do not lift.
    await ask("DELETE", `/tenants/${id}/suspensions/tool/wipe`);
    expect(await shown(id)).toMatchObject([{ note: "unsafe" }]);
    const lifted = await rolledOut(ask("DELETE", "/tools/wipe/block"));
    expect(lifted.body).toMatchObject({ changed: true });
    expect(await shown(later)).toEqual([]);
    expect((await ask("DELETE", "/tools/wipe/block")).body).toMatchObject({ changed: false });
  });

  it("is one that exists", async () => {
    const refused = await ask("POST", "/tools/sum/block", { json: { note: "n" } });
    expect(rules(refused)).toEqual([422, ["name", "there is no tool sum in the code"]]);
  });
});

describe("explain", () => {
  const explain = async (query: string) =>
    (await ask("GET", `/tenants/${id}/explain?${query}`)).body as Infer<typeof Explained>;

  it("says under which name a tool is listed, and why another is not", async () => {
    expect(await explain("kind=tools&name=add&profile=small")).toMatchObject({
      visible: true,
      callable: true,
      listedAs: "sum",
      reasons: expect.arrayContaining(["profile: listed as sum"]) as unknown,
    });
    expect(await explain("kind=tools&name=sum&profile=small")).toMatchObject({ visible: true, listedAs: "sum" });
    expect(await explain("kind=tools&name=wipe&profile=small")).toMatchObject({
      visible: false,
      callable: false,
      listedAs: null,
      reasons: expect.arrayContaining(["profile: denied by wipe"]) as unknown,
    });
    expect(await explain("kind=tools&name=nothing")).toMatchObject({ visible: false, callable: false });
  });

  it("looks through a key's eyes", async () => {
    const { id: key } = await makeKey(id, { name: "k", scopes: ["adder"] });
    expect(await explain(`kind=tools&name=add&key=${key}`)).toMatchObject({ visible: true });
    expect(await explain(`kind=tools&name=greet&key=${key}`)).toMatchObject({
      visible: false,
      reasons: expect.arrayContaining(["principal: no scope matches"]) as unknown,
    });
    const bound = await makeKey(id, { name: "b", profile: "small" });
    expect((await explain(`kind=tools&name=add&key=${bound.id}`)).reasons).toContain(
      "key: is for the profile small only",
    );
  });

  it("knows suspensions, the mode, and what retires", async () => {
    await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tool", name: "greet", note: "broken" } });
    const suspended = await explain("kind=tools&name=greet");
    expect([suspended.visible, suspended.callable, suspended.reasons.join("\n")]).toEqual([
      false,
      false,
      expect.stringContaining("broken"),
    ]);
    await ask("PUT", `/tenants/${id}/document`, { json: { mode: "key", tools: { wipe: { enabled: false } } } });
    const { id: key } = await makeKey(id);
    expect((await explain("kind=tools&name=add")).reasons).toContain("tenant: takes a key, and none is named");
    const denied = await explain(`kind=tools&name=wipe&key=${key}`);
    expect([denied.visible, denied.callable]).toEqual([false, false]);
    const rename = { add: { name: "sum" } };
    await ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", profiles: { p: {} } } });
    await ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", profiles: { p: { tools: { rename } } } } });
    const retired = await explain("kind=tools&name=add&profile=p");
    expect([retired.visible, retired.callable, retired.reasons.join("\n")]).toEqual([
      true,
      true,
      expect.stringMatching(/add: .*sum.* callable until/),
    ]);
  });

  it("covers prompts and resources", async () => {
    expect(await explain("kind=prompts&name=hello")).toMatchObject({ visible: true, listedAs: "hello" });
    expect(await explain("kind=resources&name=note:a")).toMatchObject({ visible: false });
    const headers = { "content-type": "text/plain" };
    await ask("PUT", `/tenants/${id}/resources/content?uri=note:a`, { body: "a", headers });
    expect(await explain("kind=resources&name=note:a")).toMatchObject({ visible: true, listedAs: "note:a" });
  });

  it.each([
    ["kind=tools", 422],
    ["kind=planets&name=x", 422],
    ["kind=tools&name=add&profile=constructor", 404],
    ["kind=tools&name=add&key=0123456789", 404],
  ])("refuses ?%s", async (query, status) => {
    expect((await ask("GET", `/tenants/${id}/explain?${query}`)).status).toBe(status);
  });
});
