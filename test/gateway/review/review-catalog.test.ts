// A refresh and an operator's decision run at the same moment.

import { expect, it } from "vitest";
import { gatewayStore } from "../../../src/gateway/gateway-store.ts";
import { putReviewed } from "../../../src/gateway/review/review-catalog.ts";
import { reviewStore } from "../../../src/gateway/review/review-store.ts";
import type { UpstreamCatalog } from "../../../src/gateway/upstream-catalog.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { servedTenant } from "../../support/workerd/served-tenant.ts";

const ABOUT = { of: "c", way: "2026", revision: "2026-07-28", quarantined: [], unnamed: 0 } as const;
const TOOLS = ['{"name":"one"}', '{"name":"two"}'];
const catalog: UpstreamCatalog = {
  ...ABOUT,
  texts: { tools: TOOLS, prompts: [], resources: [], resourceTemplates: [] },
};

it("a definition that is approved while its upstream is read is listed", async () => {
  const { stub } = await servedTenant();
  await createRpcClient(stub, gatewayStore).claimDue({ revision: 1, upstreams: [{ id: "up", configHash: "c" }] });
  const reviews = createRpcClient(stub, reviewStore);
  const written: UpstreamCatalog[] = [];
  const put = async (one: UpstreamCatalog) => {
    written.push(one);
    if (written.length > 1) return "written";
    const { items } = await reviews.listWaiting("up", { after: -1, limit: 1 });
    await reviews.decide({ id: "up", verdict: "approve", digests: items.map(({ digest }) => digest) }, { name: "ann" });
    return "written";
  };
  expect(await putReviewed({ id: "up", configHash: "c", catalog, stub: () => stub, put })).toBe("written");
  expect(written.map(({ texts, waiting }) => [texts.tools, waiting])).toEqual([
    [[], 2],
    [['{"name":"one"}'], 1],
  ]);
});

it("nothing is written for an upstream with a new configuration", async () => {
  const { stub } = await servedTenant();
  await createRpcClient(stub, gatewayStore).claimDue({ revision: 1, upstreams: [{ id: "up", configHash: "newer" }] });
  const put = () => Promise.reject(new Error("written"));
  expect(await putReviewed({ id: "up", configHash: "c", catalog, stub: () => stub, put })).toBe("stale");
});
