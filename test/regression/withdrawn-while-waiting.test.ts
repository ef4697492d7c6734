// A call that waits for its client goes on with the rights that there are when the answer comes, not with those that it
// began with: a person may think for days.

import { expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, post, type Client, type Json } from "../support/mcp-client.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "withdrawn");
const YES = { action: "accept", content: { yes: true } };

/** What the client is told once it answered the question. */
async function answered(url: string, client: Client, withdraw: () => Promise<unknown>): Promise<Json | undefined> {
  const params = { name: "lab_pay", arguments: { key: crypto.randomUUID() } };
  const call = await ResumableCall.begin(url, client, { id: "pay", params });
  const question = await call.next();
  await withdraw();
  const answer = { jsonrpc: "2.0", id: question?.id, result: YES };
  expect((await post(url, answer, { headers: client.headers })).status).toBe(202);
  const next = await call.next();
  await call.drop();
  return next;
}

test("a tool that was suspended while its call waited does nothing more", async () => {
  const tenant = await admin.tenant();
  const url = `${origin}/mcp/${tenant}`;
  const told = await answered(url, await client2025(url, "2025-11-25", { elicitation: {} }), () =>
    admin.suspend(tenant, "tool", "lab_pay", "it pays too much"),
  );
  expect(told).toMatchObject({ id: "pay", error: { message: expect.stringContaining("it pays too much") } });
});

test("a scope that was narrowed while a call waited holds for the rest of it", async () => {
  const scopes = (tools: readonly string[]) => ({ payers: { tools, resources: ["lab:*"] } });
  const tenant = await admin.tenant({ mode: "key", scopes: scopes(["lab_pay"]) });
  const { token } = await admin.key(tenant, { scopes: ["payers"] });
  const url = `${origin}/mcp/${tenant}`;
  const client = await client2025(url, "2025-11-25", { elicitation: {} }, bearer(token));
  const told = await answered(url, client, () => admin.apply(tenant, { mode: "key", scopes: scopes(["lab_echo"]) }));
  expect(told).toMatchObject({ id: "pay", error: {} });
});

test("a change of policy that takes nothing from a call does not stop it", async () => {
  const tenant = await admin.tenant();
  const url = `${origin}/mcp/${tenant}`;
  const told = await answered(url, await client2025(url, "2025-11-25", { elicitation: {} }), () =>
    admin.apply(tenant, { title: "Another title" }),
  );
  expect(told).toMatchObject({ method: "elicitation/create", params: { message: expect.stringContaining("Paid") } });
});
