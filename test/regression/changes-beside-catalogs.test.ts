// Each change of a key, a secret or a limit had everything made anew that is made of a tenant's lists. Now it is kept, and what
// changed is in force all the same.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026 } from "../support/mcp-client.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "beside");

async function listed(tenant: string, token?: string): Promise<{ status: number; tools: string[]; limit: unknown }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status, result, error } = await client2026(`${origin}/mcp/${tenant}`, {}, {}, headers).request("tools/list");
  const tools = (result?.tools ?? []) as { name: string }[];
  return { status, tools: tools.map(({ name }) => name), limit: error?.data?.limit };
}

test("a limit that is lowered, raised and taken away is that of the next request", async () => {
  const tenant = await admin.tenant();
  const limits: unknown[] = [];
  for (const resultBytes of [2_000_000, 1024, 2_000_000, 1024, undefined]) {
    await admin.apply(tenant, resultBytes === undefined ? {} : { limits: { resultBytes } });
    limits.push((await listed(tenant)).limit);
  }
  expect(limits).toEqual([undefined, "resultBytes", undefined, "resultBytes", undefined]);
});

test("a key sees what its scopes say from when it is made, and nothing once it is revoked", async () => {
  const tenant = await admin.tenant({ mode: "key", scopes: { one: { tools: ["lab_echo"] } } });
  const whole = await admin.key(tenant);
  const all = await listed(tenant, whole.token);
  const narrow = await admin.key(tenant, { scopes: ["one"] });
  expect((await listed(tenant, narrow.token)).tools).toEqual(["lab_echo"]);
  await admin.ask("DELETE", `/tenants/${tenant}/keys/${narrow.id}`);
  expect((await listed(tenant, narrow.token)).status).toBe(401);
  expect(await listed(tenant, whole.token)).toEqual(all);
});

test("a tool that is suspended between two changes of keys is not listed", async () => {
  const tenant = await admin.tenant();
  const [suspended = "", listedStill] = (await listed(tenant)).tools;
  await admin.key(tenant);
  await admin.suspend(tenant, "tool", suspended, "mended");
  await admin.key(tenant);
  expect((await listed(tenant)).tools[0]).toBe(listedStill);
});
