// What `explain` says of a definition that its author shows to some callers only: by whom it was hidden, or that nobody is named.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Explained, Infer } from "../../../src/admin/contract.ts";
import { admin, createWorker, definePrompt, defineResource, defineTool, type Viewer } from "../../../src/tenantry.ts";
import { adminEnv, ORIGIN, ROOT } from "../../support/worker/admin.ts";

const visible = ({ principal }: Viewer) => principal.subject === "ann";
const worker = createWorker({
  tenants: { openly: {}, closed: { mode: "key" } },
  tools: [defineTool({ name: "for_ann", visible, handler: () => "" }), defineTool({ name: "all", handler: () => "" })],
  prompts: [definePrompt({ name: "for_ann", visible, handler: () => "" })],
  resources: [defineResource({ uri: "for://ann", name: "For Ann", visible, text: "" })],
  features: [admin()],
});

async function send<T>(path: string, json?: object): Promise<T> {
  const ctx = createExecutionContext();
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const init = json && { method: "POST", body: JSON.stringify(json) };
  const request = new Request(`${ORIGIN}/admin/v1/tenants/${path}`, { headers, ...init });
  const response = await worker.fetch(request, { ...env, ...adminEnv }, ctx);
  const body = await response.json<T>();
  await waitOnExecutionContext(ctx);
  return body;
}

const keyIn = async (tenant: string, name: string) => (await send<{ id: string }>(`${tenant}/keys`, { name })).id;
const explained = (tenant: string, query: Record<string, string>) =>
  send<Infer<typeof Explained>>(`${tenant}/explain?${new URLSearchParams(query)}`);

const GUARDED = [
  { kind: "tools", name: "for_ann" },
  { kind: "prompts", name: "for_ann" },
  { kind: "resources", name: "for://ann" },
];

describe.each(GUARDED)("explain of $kind/$name", (ask) => {
  it("says that the author hides it from this key, or from who brings nothing", async () => {
    const hidden = { visible: false, callable: false, listedAs: null };
    const why = expect.arrayContaining(["code: visible hides it"]);
    expect(await explained("openly", ask)).toMatchObject({ ...hidden, reasons: why });
    const bob = await keyIn("openly", "bob");
    expect(await explained("openly", { ...ask, key: bob })).toMatchObject({ ...hidden, reasons: why });
  });

  it("says nothing of it for a key that sees it", async () => {
    const {
      visible: isSeen,
      callable,
      reasons,
    } = await explained("openly", { ...ask, key: await keyIn("openly", "ann") });
    expect({ isSeen, callable }).toEqual({ isSeen: true, callable: true });
    expect(reasons.filter((reason) => reason.startsWith("code: visible"))).toEqual([]);
  });

  it("says that it depends on who calls where nobody is named, and nobody else is let in", async () => {
    const { reasons } = await explained("closed", ask);
    expect(reasons).toContain("code: visible decides, and no key is named");
  });
});

it("what is for everybody is explained as before", async () => {
  const { visible: isSeen, reasons } = await explained("openly", { kind: "tools", name: "all" });
  expect(isSeen).toBe(true);
  expect(reasons.join()).not.toContain("visible");
});
