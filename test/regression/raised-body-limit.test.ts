// A tenant's `bodyBytes` could be raised, and bodies above 4 MiB were refused all the same.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "raised");
const MIB = 1024 * 1024;

async function sent(tenant: string, bytes: number, asStream: boolean): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { pad: "x".repeat(bytes) } });
  const response = await fetch(`${origin}/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" },
    ...(asStream ? { body: new Blob([body]).stream(), duplex: "half" } : { body }),
  });
  await response.arrayBuffer();
  return response.status;
}

test.each([
  ["with its length", false],
  ["as a stream", true],
])("a body sent %s may have what its tenant's limit says", async (_how, asStream) => {
  const raised = await admin.tenant({ limits: { bodyBytes: 6 * MIB } });
  expect(await sent(raised, 5 * MIB, asStream)).toBe(200);
});

test("a body above the limit of its tenant is refused, whoever else may send more", async () => {
  const [raised, usual] = [await admin.tenant({ limits: { bodyBytes: 6 * MIB } }), await admin.tenant({})];
  expect([await sent(raised, 6 * MIB, true), await sent(usual, 4 * MIB, true)]).toEqual([413, 413]);
});
