import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { toBase64Url } from "../../src/auth/seal.ts";
import { getSecretsRing } from "../../src/auth/secrets-key.ts";
import { createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { sealSecret } from "../../src/tenants/cache/tenant-secrets.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { inside } from "../support/workerd/tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const SECRETS_KEY = toBase64Url(new Uint8Array(32).fill(1));
const worker = createWorker({ tenants: {}, features: [gateway()] });
const upstream = createWorker({ tenants: { acme: {} }, tools: [defineTool({ name: "add", handler: () => "added" })] });

it("an upstream that refused the old secret is listed within ten seconds of a new one", async () => {
  const url = upstreamAt((request) =>
    request.headers.get("x-key") === "new-secret-0002"
      ? upstream.fetch(request, env, createExecutionContext())
      : new Response(null, { status: 401 }),
  );
  const upstreams = { sums: { url, headers: { "X-Key": "{{secret:KEY}}" } } };
  const { id, stub, ...tenant } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams });
  const ring = await getSecretsRing({ SECRETS_KEY });
  if (typeof ring === "string") throw new Error(`the key for secrets is ${ring}`);
  const setSecret = async (value: string) =>
    createRpcClient(stub, policyStore).setSecret("KEY", await sealSecret(ring, id, "KEY", value), { name: "ann" });
  const listed = async () => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    return (await sendTo(worker, id, { message, at: { ...env, SECRETS_KEY } })).text();
  };
  await setSecret("old-secret-0001");
  await expect.poll(listed).toContain("answered 401");
  const late = "UPDATE upstreams SET failures = 10, due_at = due_at + 600000, read_at = read_at - 60000";
  await inside({ id, stub, ...tenant }, ({ storage }) => void storage.sql.exec(late));
  await listed();
  await setSecret("new-secret-0002");
  await expect.poll(listed, { timeout: 10_000 }).toContain("sums__add");
});
