// auth-bounds.test.ts tests which roles may write `auth`.

import { describe, expect, it } from "vitest";
import { isWithdrawal } from "../../../src/admin/services/withdrawal.ts";
import { login } from "../../../src/tenantry.ts";
import { adminEnv, adminOptions, appOf, ask, newTenant, ORIGIN } from "../../support/workerd/admin.ts";

const issuer = (name: string) => ({ issuer: `https://${name}.example.com` });
const NEEDED = "needs the feature login(), which this Worker does not have";

describe("auth in a tenant's document", () => {
  it.each([
    [{ mode: "oauth" }, "mode"],
    [{ mode: "key+oauth" }, "mode"],
    [{ mode: "open", auth: { issuers: [issuer("a")] } }, "auth"],
  ])("%o is refused by a Worker without login()", async (json, field) => {
    const id = await newTenant();
    const { status, body } = await ask("PUT", `/tenants/${id}/document`, { json });
    expect([status, (body as { errors: unknown }).errors]).toEqual([422, [{ field, rule: NEEDED }]]);
  });

  it("in the mode mixed is explained for an anonymous caller, if no key is named", async () => {
    const id = await newTenant();
    const app = appOf({ ...adminOptions, features: [login()] });
    const headers = { authorization: `Bearer ${adminEnv.ADMIN_TOKEN}`, "content-type": "application/json" };
    const at = `${ORIGIN}/admin/v1/tenants/${id}`;
    const auth = { issuers: [issuer("a")], anonymous: { scopes: ["some"] } };
    const body = JSON.stringify({ mode: "mixed", auth, scopes: { some: { tools: ["add"] } } });
    expect((await app.fetch(new Request(`${at}/document`, { method: "PUT", headers, body }), adminEnv)).status).toBe(
      200,
    );
    const seen = async (name: string) => {
      const response = await app.fetch(new Request(`${at}/explain?kind=tools&name=${name}`, { headers }), adminEnv);
      return (await response.json<{ visible: boolean }>()).visible;
    };
    const { body: listed } = await ask("GET", `/tenants/${id}/explain?kind=tools&name=add`);
    expect(listed).toMatchObject({ reasons: expect.arrayContaining([expect.stringContaining("scope")]) });
    expect([await seen("add"), await seen("greet")]).toEqual([true, false]);
  });

  it.each([
    ["an issuer goes", [issuer("a")]],
    ["an issuer names other people", [issuer("a"), { ...issuer("b"), audience: ["api://b"] }]],
  ])("takes away where %s, so that the answer waits until it is in force", (_what, issuers) => {
    const before = { mode: "oauth", auth: { issuers: [issuer("a"), issuer("b")] } } as const;
    expect(isWithdrawal(before, { ...before, auth: { issuers } }, [])).toBe(true);
    expect(isWithdrawal(before, { ...before, title: "New" }, [])).toBe(false);
  });
});
