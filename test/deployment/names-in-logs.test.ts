// What a client writes where a name stands reaches the log and the author's functions without what steers a terminal, or what
// looks like another line of it.

import { expect, it, vi } from "vitest";
import { createWorker, defineResource, defineTool } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

const STEERING = "\u001b]0;mine\u0007\n2026-11-23 all is well\u009b2J\u2028\u202e";
const around = () => {
  throw new Error("a fault of the author's");
};
const parts = {
  tools: [defineTool({ name: "fails", handler: () => Promise.reject(new Error("a fault")) })],
  resources: [defineResource({ uri: "a://b", name: "b", text: "b" })],
};

it.each([
  ["tools/call", { name: STEERING }],
  ["prompts/get", { name: STEERING }],
  ["resources/read", { uri: `a://${STEERING}` }],
  ["tools/call", { name: "fails" }],
])("the log has no control character of %s %j", async (method, params) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const { id } = await servedTenant({ mode: "open" });
  for (const worker of [createWorker({ ...parts, around }), createWorker(parts)]) {
    const message = { jsonrpc: "2.0", id: 1, method, params };
    await (await sendTo(worker, id, { message, headers: { "cf-ray": "7\u001b[2J" } })).text();
  }
  const lines = logged.mock.calls.map(([where]) => String(where));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.filter((text) => /\p{Cc}|\p{Cf}|\p{Zl}/u.test(text))).toEqual([]);
  logged.mockRestore();
});
