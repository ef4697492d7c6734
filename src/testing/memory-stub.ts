// In-memory tenant object with the methods that handlers use: `ctx.once` claims, announcements and stored results. Any
// other method throws.

import type { Announcement } from "../handlers/publish-changes.ts";
import type { StoredResult } from "../gateway/budget/result-store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import type { TestRecorder } from "./test-run.ts";

export function createMemoryStub(recorder: Pick<TestRecorder, "announcements" | "addEffect">): TenantStub {
  const claims = new Map<string, string | null>();
  const results = new Map<string, StoredResult>();
  const methods: Readonly<Record<string, (...args: never[]) => unknown>> = {
    "authority.claim": (nonce: string, name: string) => {
      const key = JSON.stringify([nonce, name]);
      const value = claims.get(key);
      if (value === undefined) claims.set(key, null);
      if (value === undefined) return { state: "claimed" };
      return value === null ? { state: "unknown" } : { state: "settled", value };
    },
    "authority.settle": (nonce: string, name: string, value: string) =>
      claims.set(JSON.stringify([nonce, name]), value),
    "changes.announce": (sections: readonly string[], updated: readonly string[]) => {
      const lists = Object.fromEntries(sections.map((section) => [section, true])) as Announcement;
      recorder.announcements.push(updated.length > 0 ? { ...lists, updated } : lists);
      recorder.addEffect("announce");
    },
    "results.put": (result: StoredResult) => {
      results.set(result.id, result);
      return Date.now() + (result.lifetimeMs ?? 0);
    },
    "results.get": (id: string) => results.get(id),
  };
  return {
    call: async (method, args) => {
      const implementation = methods[method];
      if (!implementation) throw new TypeError(`tenantry/testing does not support ${method}`);
      return implementation(...(args as never[]));
    },
  };
}
