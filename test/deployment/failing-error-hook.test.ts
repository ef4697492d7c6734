// An author's `onError` that fails itself. One that threw cost the client its answer, and one that was rejected was told of
// its own rejection, and of that, until the platform ended it.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createWorker, defineTool } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

const failing = defineTool({
  name: "fails",
  handler: () => {
    throw new Error("no database");
  },
});
const leaving = defineTool({
  name: "leaves",
  handler: (_args, ctx) => {
    ctx.waitUntil(Promise.reject(new Error("left")));
    return "done";
  },
});
/** A new one, because it is told of each only once. */
const hiddenTool = () =>
  defineTool({
    name: "hidden",
    visible: () => {
      throw new Error("no claims");
    },
    handler: () => "seen",
  });

describe.each([
  [
    "throws",
    () => {
      throw new Error("no logger");
    },
  ],
  ["is rejected", () => Promise.reject(new Error("no logger"))],
])("an onError that %s", (_how, fail) => {
  it.each([
    ["tools/call", "fails", "says why, under request"],
    ["tools/call", "leaves", '"done"'],
    ["tools/list", undefined, '"tools":['],
  ])("loses no client its answer to %s %s, runs once for a fault, and both are logged", async (method, name, text) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const notifications: string[] = [];
    const onError = (error: unknown): unknown => {
      notifications.push(String(error));
      return fail();
    };
    const mcp = createWorker({
      tools: [failing, leaving, hiddenTool()],
      tenants: {},
      hooks: { onError },
    });
    const { id } = await servedTenant();
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...(name !== undefined && { name }) } };
    const answered = await sendTo(mcp, id, { message });
    expect([answered.status, await answered.text()]).toEqual([200, expect.stringContaining(text)]);
    const logged = () => log.mock.calls.flat().map(String);
    for (const fault of [...notifications, "Error: no logger"]) await expect.poll(logged).toContain(fault);
    expect(notifications.filter((fault) => fault.includes("logger"))).toEqual([]);
  });
});
