// Who may write `auth`, where it can be kept, and when a change of it is acknowledged.

import { describe, expect, it } from "vitest";
import { takesAway } from "../../../src/admin/apply/withdrawal.ts";
import { ask, newTenant, operator } from "../../support/worker/admin.ts";

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

  it("is not written by a tenant's own administrator", async () => {
    const id = await newTenant();
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const json = { mode: "key", auth: { issuers: [issuer("a")] } };
    expect((await ask("PUT", `/tenants/${id}/document`, { token, json })).status).toBe(403);
  });

  it.each([
    ["an issuer goes", [issuer("a")]],
    ["an issuer names other people", [issuer("a"), { ...issuer("b"), audience: ["api://b"] }]],
  ])("takes away where %s, so that the answer waits until it is in force", (_what, issuers) => {
    const before = { mode: "oauth", auth: { issuers: [issuer("a"), issuer("b")] } } as const;
    expect(takesAway(before, { ...before, auth: { issuers } }, [])).toBe(true);
    expect(takesAway(before, { ...before, title: "New" }, [])).toBe(false);
  });
});
