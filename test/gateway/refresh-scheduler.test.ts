import { expect, it } from "vitest";
import type { RefreshContext } from "../../src/deployment/deployment.ts";
import { refreshDueUpstreams } from "../../src/gateway/refresh-scheduler.ts";
import type { TenantStub } from "../../src/tenants/object/tenant-uid.ts";
import { DEFAULT_PLACEMENT } from "../../src/tenants/directory/placement.ts";

const headers = { "x-key": "{{secret:KEY}}" };

/** A tenant with one upstream, and a section of one that it has no more. */
function scene(call: TenantStub["call"]) {
  const notifications: unknown[] = [];
  const read: string[] = [];
  const context: RefreshContext = {
    tenant: "t",
    placement: DEFAULT_PLACEMENT,
    created: "",
    revision: 1,
    document: { upstreams: { up: { url: "https://up.example.com/mcp", headers } } },
    sectionHashes: new Map([["upstream:gone", "hash"]]),
    server: { name: "test", version: "1" },
    env: {},
    stub: () => ({ call }),
    // Reading begins with the secret that it needs.
    secret: async (name) => {
      read.push(name);
      throw new Error("the secret is elsewhere");
    },
    onError: (error) => void notifications.push(error),
  };
  return { context, notifications, read };
}

it.each([-3_600_000, -5000, 0])(
  "an isolate asks again after a second at the soonest, if the object says %i ms",
  async (ms) => {
    const { context } = scene(async (method) =>
      method === "gateway.claimDue"
        ? { claimed: [], nextAt: Date.now() + ms, isCurrent: true }
        : { state: "unchanged" },
    );
    const now = Date.now();
    expect(await refreshDueUpstreams(context, {})).toBeGreaterThanOrEqual(now + 1000);
  },
);

it("an isolate reads what it claimed though removed upstreams cannot be cleared up", async () => {
  let requestCount = 0;
  const { context, read, notifications } = scene(async (method) => {
    if (method === "sections.remove") throw new Error("Network connection lost.");
    requestCount += 1;
    return { claimed: requestCount === 1 ? ["up"] : [], nextAt: Date.now() + 60_000, isCurrent: true };
  });
  await refreshDueUpstreams(context, {});
  expect(read).toEqual(["KEY"]);
  expect(notifications.map(String)).toContain("Error: Network connection lost.");
});

it("an isolate soon retries a failed cleanup, although nothing is due", async () => {
  const { context } = scene(async (method) => {
    if (method === "sections.remove") throw new Error("Network connection lost.");
    return { claimed: [], nextAt: Infinity, isCurrent: true };
  });
  expect(await refreshDueUpstreams(context, {})).toBeLessThan(Date.now() + 60_000);
});

it("an isolate reads what it claimed while clearing up is not answered", async () => {
  let requestCount = 0;
  const { context, read } = scene(async (method) => {
    if (method === "sections.remove") return new Promise(() => {});
    requestCount += 1;
    return { claimed: requestCount === 1 ? ["up"] : [], nextAt: Date.now() + 60_000, isCurrent: true };
  });
  void refreshDueUpstreams(context, {});
  await expect.poll(() => read).toEqual(["KEY"]);
});
