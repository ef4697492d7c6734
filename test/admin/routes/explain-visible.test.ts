import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Explanation, Infer } from "../../../src/admin/contract.ts";
import type { Viewer } from "../../../src/handlers/access-rules.ts";
import { admin, createWorker, definePrompt, defineResource, defineTool, login } from "../../../src/tenantry.ts";
import { adminEnv, ORIGIN, ROOT } from "../../support/workerd/admin.ts";

const visible = ({ principal }: Viewer) => principal.subject === "ann";
const ISSUER = { issuer: "https://a.example.com" };
const worker = createWorker({
  tenants: { openly: {}, closed: { mode: "key" }, login: { mode: "oauth", auth: { issuers: [ISSUER] } } },
  tools: [defineTool({ name: "for_ann", visible, handler: () => "" }), defineTool({ name: "all", handler: () => "" })],
  prompts: [definePrompt({ name: "for_ann", visible, handler: () => "" })],
  resources: [defineResource({ uri: "for://ann", name: "For Ann", visible, text: "" })],
  features: [admin(), login()],
  authenticate: () => undefined,
});

async function send<T>(path: string, json?: object): Promise<T> {
  const ctx = createExecutionContext();
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const init = json && { method: "POST", body: JSON.stringify(json) };
  const request = new Request(`${ORIGIN}/admin/v1/tenants/${path}`, { headers, ...init });
  const response = await worker.fetch(request, { ...env, ...adminEnv }, ctx);
  const body = await response.json<T>();
  await waitOnExecutionContext(ctx);
  return body;
}

const keyIn = async (tenant: string, name: string) => (await send<{ id: string }>(`${tenant}/keys`, { name })).id;
const explained = (tenant: string, query: Record<string, string>) =>
  send<Infer<typeof Explanation>>(`${tenant}/explain?${new URLSearchParams(query)}`);

const GUARDED = [
  { kind: "tools", name: "for_ann" },
  { kind: "prompts", name: "for_ann" },
  { kind: "resources", name: "for://ann" },
];

describe.each(GUARDED)("explain of $kind/$name", (ask) => {
  it("says that the author hides it from this key, or from who brings nothing", async () => {
    const hidden = { visible: false, callable: false, listedAs: null };
    const why = expect.arrayContaining(["code: visible hides it"]);
    expect(await explained("openly", ask)).toMatchObject({ ...hidden, reasons: why });
    const bob = await keyIn("openly", "bob");
    expect(await explained("openly", { ...ask, key: bob })).toMatchObject({ ...hidden, reasons: why });
  });

  it("says nothing of it for a key that sees it", async () => {
    const {
      visible: isSeen,
      callable,
      reasons,
    } = await explained("openly", { ...ask, key: await keyIn("openly", "ann") });
    expect({ isSeen, callable }).toEqual({ isSeen: true, callable: true });
    expect(reasons.filter((reason) => reason.startsWith("code: visible"))).toEqual([]);
  });

  it("depends on the caller if none is named, and hides it from others", async () => {
    const { reasons } = await explained("closed", ask);
    expect(reasons).toContain("code: visible decides, but no key is named");
    const { reasons: atLogin } = await explained("login", ask);
    expect(atLogin).toContain("code: visible decides, but no caller is named");
  });
});

describe("explain for a user of the app that mounts the Worker", () => {
  const FOR_ANN = { kind: "tools", name: "for_ann" };
  const ask = (about: object, query: Record<string, string> = FOR_ANN, tenant = "closed") =>
    explained(tenant, { ...query, user: JSON.stringify({ tenant, ...about }) });

  it("asks visible, where their claims are named", async () => {
    expect(await ask({ id: "ann", claims: {} })).toMatchObject({ visible: true, callable: true });
    const { visible: isSeen, reasons } = await ask({ id: "bob", claims: {} });
    expect({ isSeen, reasons }).toEqual({ isSeen: false, reasons: expect.arrayContaining(["code: visible hides it"]) });
  });

  it("says that visible decides, and that its answer is not known here, where they are not", async () => {
    const { visible: isSeen, reasons } = await ask({ id: "ann" });
    expect(isSeen).toBe(false);
    expect(reasons).toContain("code: visible decides, but the user's claims are unknown here");
  });

  it.each([
    ["of another tenant", { tenant: "openly", id: "ann" }, "app: this is a user of the tenant openly"],
    ["whose time is over", { id: "ann", expires: 1 }, "app: the user's session has expired"],
  ])("says why one %s is not let in", async (_who, about, why) => {
    expect(await ask(about, { kind: "tools", name: "all" })).toMatchObject({
      visible: false,
      reasons: expect.arrayContaining([why]),
    });
  });

  it("says that one without a tenant gets into open ones alone", async () => {
    const user = JSON.stringify({ id: "ann" });
    const all = { kind: "tools", name: "all", user };
    expect((await explained("openly", all)).visible).toBe(true);
    expect((await explained("closed", all)).reasons).toContain(
      "app: the user has no tenant, so only open tenants admit this user",
    );
  });

  it("has their scopes and suspensions", async () => {
    await send("closed/suspensions", { kind: "principal", name: "app eve", note: "Unpaid" });
    const all = { kind: "tools", name: "all" };
    expect((await ask({ id: "eve" }, all)).reasons).toContain("principal: suspended, Unpaid");
    expect((await ask({ id: "ann", scopes: ["none"] }, all)).visible).toBe(false);
  });

  it.each(["ann", "[]", '{"id":5}', '{"id":"ann","role":"x"}'])("refuses %s", async (user) => {
    expect(await explained("closed", { ...FOR_ANN, user })).toMatchObject({ errors: [{ field: "user" }] });
  });

  it("refuses a key and a user at once", async () => {
    const user = JSON.stringify({ id: "ann" });
    expect(await explained("closed", { ...FOR_ANN, key: "x", user })).toMatchObject({ errors: [{ field: "user" }] });
  });
});

it("explain omits `visible` for a definition without it", async () => {
  const { visible: isSeen, reasons } = await explained("openly", { kind: "tools", name: "all" });
  expect(isSeen).toBe(true);
  expect(reasons.join()).not.toContain("visible");
});
