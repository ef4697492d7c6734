import { describe, expect, it } from "vitest";
import type { Explanation, Infer } from "../../../src/admin/contract.ts";
import { ask, newTenant } from "../../support/workerd/admin.ts";

async function explained(id: string, name: string, query: Readonly<Record<string, string>> = {}, kind = "tools") {
  const asked = await ask("GET", `/tenants/${id}/explain?${new URLSearchParams({ kind, name, ...query }).toString()}`);
  return asked.body as Infer<typeof Explanation>;
}

async function keyOf(id: string, json: object): Promise<string> {
  const { body } = await ask("POST", `/tenants/${id}/keys`, { json: { name: "one", ...json } });
  return (body as { id: string }).id;
}

const PROFILES = { p: { tools: { allow: ["add", "wipe"], deny: ["wipe"] } } };

describe("the answer of explain", () => {
  it("names the tool as the profile lists it, and why another is not listed", async () => {
    const id = await newTenant({
      profiles: { small: { tools: { deny: ["wipe"], rename: { add: { name: "sum" } } } } },
    });
    const profile = "small";
    const shown = await explained(id, "add", { profile });
    expect(shown).toMatchObject({ visible: true, callable: true, listedAs: "sum" });
    expect(shown.reasons).toContain("profile: listed as sum");
    expect(await explained(id, "sum", { profile })).toMatchObject({ visible: true, listedAs: "sum" });
    const denied = await explained(id, "wipe", { profile });
    expect(denied).toMatchObject({ visible: false, callable: false, listedAs: null });
    expect(denied.reasons).toContain("profile: denied by wipe");
  });

  it("says until when a name that was taken away is callable", async () => {
    const id = await newTenant({ profiles: { p: {} } });
    const profiles = { p: { tools: { rename: { add: { name: "sum" } }, deny: ["greet"] } } };
    await ask("PUT", `/tenants/${id}/document`, { json: { mode: "open", profiles } });
    const retired = await explained(id, "add", { profile: "p" });
    expect(retired).toMatchObject({ visible: true, callable: true });
    expect(retired.reasons.join("\n")).toMatch(/add: .*sum.* callable until/);
    expect(await explained(id, "greet", { profile: "p" })).toMatchObject({ visible: false, callable: false });
  });

  it("covers prompts and resources", async () => {
    const id = await newTenant();
    expect(await explained(id, "hello", {}, "prompts")).toMatchObject({ visible: true, listedAs: "hello" });
    expect(await explained(id, "note:a", {}, "resources")).toMatchObject({ visible: false });
    const headers = { "content-type": "text/plain" };
    await ask("PUT", `/tenants/${id}/resources/content?uri=note:a`, { body: "a", headers });
    expect(await explained(id, "note:a", {}, "resources")).toMatchObject({ visible: true, listedAs: "note:a" });
  });

  it.each([
    ["kind=tools", 422],
    ["kind=planets&name=x", 422],
    ["kind=tools&name=add&profile=constructor", 404],
    ["kind=tools&name=add&key=0123456789", 404],
  ])("is a refusal for ?%s", async (query, status) => {
    const id = await newTenant();
    expect((await ask("GET", `/tenants/${id}/explain?${query}`)).status).toBe(status);
  });
});

describe("what decides", () => {
  it.each([
    ["wipe", "profile: denied by wipe"],
    ["greet", "profile: no allow pattern matches"],
    ["ad", "tools: nothing is listed or callable as ad: did you mean add?"],
  ])("that %s is not seen in a profile: %s", async (name, why) => {
    const id = await newTenant({ mode: "open", profiles: PROFILES });
    const { visible, decidedBy, unknown, reasons } = await explained(id, name, { profile: "p" });
    expect({ visible, decidedBy, unknown }).toEqual({ visible: false, decidedBy: [why], unknown: [] });
    expect(reasons).toContain(why);
  });

  it("is what the tenant says where it switched the tool off, and nothing where it is seen and callable", async () => {
    const id = await newTenant({ mode: "open", tools: { "w*": { enabled: false } } });
    expect(await explained(id, "wipe")).toMatchObject({ decidedBy: ["tenant: tools.w* has enabled: false"] });
    expect(await explained(id, "add")).toMatchObject({ visible: true, callable: true, decidedBy: [] });
  });

  it("is the suspension of a tool that is seen and not callable", async () => {
    const id = await newTenant({ mode: "open" });
    await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tool", name: "add", note: "Under repair" } });
    const { callable, decidedBy } = await explained(id, "add");
    expect({ callable, decidedBy }).toEqual({ callable: false, decidedBy: [expect.stringContaining("Under repair")] });
  });

  it("is that of the given key: its scopes, its profile", async () => {
    const id = await newTenant({ mode: "key", scopes: { s: { tools: ["add"] } }, profiles: PROFILES });
    const key = await keyOf(id, { scopes: ["s"] });
    expect(await explained(id, "wipe", { key })).toMatchObject({ decidedBy: ["principal: no scope matches"] });
    expect(await explained(id, "add", { key })).toMatchObject({ visible: true, decidedBy: [], unknown: [] });
    const bound = await keyOf(id, { profile: "p" });
    const why = "key: is for the profile p only";
    expect(await explained(id, "add", { key: bound })).toMatchObject({ visible: false, decidedBy: [why] });
  });

  it("is what is stored, of a resource", async () => {
    const id = await newTenant({ mode: "open", profiles: { p: { resources: { allow: ["doc://*"] } } } });
    const none = await explained(id, "note://none", {}, "resources");
    expect(none).toMatchObject({ decidedBy: ["resources: nothing is stored as note://none"] });
    const uri = encodeURIComponent("note://one");
    await ask("PUT", `/tenants/${id}/resources/content?uri=${uri}`, {
      body: "one",
      headers: { "content-type": "text/plain" },
    });
    const hidden = await explained(id, "note://one", { profile: "p" }, "resources");
    expect(hidden).toMatchObject({ visible: false, decidedBy: ["profile: no allow pattern matches"] });
  });
});

describe("an unknown", () => {
  it("is the restriction of an unnamed caller", async () => {
    const id = await newTenant({ mode: "key" });
    const { visible, decidedBy, unknown, reasons, causes } = await explained(id, "add");
    expect(causes).toEqual([{ reason: "tenant: needs a key, and the request names none", code: "key-required" }]);
    expect({ visible, decidedBy, unknown }).toEqual({
      visible: false,
      decidedBy: ["tenant: needs a key, and the request names none"],
      unknown: ["principal: no key is named, so its limits are unknown"],
    });
    expect(reasons.filter((reason) => reason.startsWith("principal: "))).toEqual([]);
  });

  it("is what an upstream has that was never read", async () => {
    const id = await newTenant({ mode: "open", upstreams: { up: { url: "https://up.example.com/mcp" } } });
    const { decidedBy, unknown } = await explained(id, "up__x");
    expect(decidedBy).toEqual(["tools: nothing is listed or callable as up__x"]);
    expect(unknown).toEqual([expect.stringMatching(/^source up: not read: /)]);
  });
});
