// A domain's alarm called something that never answers: it runs again minutes later, in the same instance.

import { runInDurableObject } from "cloudflare:test";
import { expect, it, onTestFinished, vi } from "vitest";
import { DirectoryObject } from "../../../src/tenants/directory/directory-object.ts";
import { ask, newTenant } from "../../support/workerd/admin.ts";
import { tenantOf } from "../../support/workerd/tenant.ts";

const MINUTES_MS = 6 * 60_000;

it("an alarm repeats an update that the directory never answered", async () => {
  const id = await newTenant();
  const never = Promise.withResolvers<void>();
  onTestFinished(() => never.resolve());
  // RPC finds what a class has, and nothing of an instance.
  const told = vi.spyOn(DirectoryObject.prototype, "setSuspended").mockImplementation(async () => {
    if (told.mock.calls.length === 1) await never.promise;
  });
  onTestFinished(() => told.mockRestore());
  await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", note: "Unpaid" } });
  await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(1), 10_000);
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now() + MINUTES_MS);
  onTestFinished(() => now.mockRestore());
  await runInDurableObject(tenantOf(id).object, (instance) => instance.alarm?.());
  expect(told).toHaveBeenCalledTimes(2);
}, 120_000);
