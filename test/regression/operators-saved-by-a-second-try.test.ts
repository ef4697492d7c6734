// What an operator does where one of its calls fails, or is done and its answer lost: suspensions, blocks and the beginning and end
// of tenants were answered 503, or 500 where it was KV, though asking again does no harm.

import { describe, expect, test } from "vitest";
import { VARS } from "../e2e/jitter/unreliable-workers.ts";
import { workerPairWithFaults } from "../support/worker-pair-with-faults.ts";
import { ADMIN_TOKEN, type WatchedWorker } from "../support/worker-pair.ts";

const TENANT = "kept";
const KINDS = ["failed once", "answer lost"] as const;

const makeTenant = (worker: WatchedWorker) =>
  worker.admin("POST", "/tenants", { id: TENANT, document: { mode: "open", maxStalenessMs: 50 } });
const { one, injectFaults, askAdmin } = workerPairWithFaults({ SECRETS_KEY: VARS.SECRETS_KEY }, makeTenant);

const everyKind = (calls: readonly string[]) => calls.flatMap((call) => KINDS.map((kind) => [call, kind] as const));

let made = 0;
function nextTenant(): string {
  made += 1;
  return `made-${made}`;
}

test.each(KINDS)("a tool is suspended, and resumed, where that is %s", async (kind) => {
  await injectFaults({ "TenantObject policy.suspend": kind });
  const path = `/tenants/${TENANT}/suspensions`;
  expect(await askAdmin("POST", path, { kind: "tool", name: "lab_pay", note: "closed" })).toMatchObject({
    status: 200,
  });
  expect((await askAdmin("GET", path)).text).toContain("lab_pay");
  await injectFaults({ "TenantObject policy.resume": kind });
  expect(await askAdmin("DELETE", `${path}/tool/lab_pay`)).toMatchObject({ status: 200 });
  expect((await askAdmin("GET", path)).text).not.toContain("lab_pay");
  expect(await injectFaults({})).toEqual([]);
});

test.each(KINDS)("a tool is blocked everywhere, and unblocked, where that is %s", async (kind) => {
  await injectFaults({ "PlatformObject rollouts.block": kind });
  expect(await askAdmin("POST", "/tools/lab_pay/block", { note: "closed" })).toMatchObject({ status: 202 });
  await injectFaults({ "PlatformObject rollouts.unblock": kind });
  expect(await askAdmin("DELETE", "/tools/lab_pay/block")).toMatchObject({ status: 202 });
  expect(await injectFaults({})).toEqual([]);
});

test.each(everyKind(["operators.operatorByHash", "operators.operators"]))(
  "an operator with a token of their own is let in where %s is %s",
  async (call, kind) => {
    const name = `op-${nextTenant()}`;
    const { token } = await one().admin("POST", "/operators", { name, role: "auditor" });
    await injectFaults({ [`PlatformObject ${call}`]: kind });
    const headers = { authorization: `Bearer ${String(token)}` };
    const { status } = await fetch(`${one().origin}/admin/v1/tenants`, { headers });
    expect(status).toBe(200);
    await askAdmin("GET", "/operators");
    expect(await injectFaults({})).toEqual([]);
  },
);

const READ = [
  ["/tenants", "DirectoryObject list"],
  [`/tenants/${TENANT}`, "DirectoryObject lookup"],
  [`/tenants/${TENANT}/audit`, "TenantObject policy.audit"],
  [`/tenants/${TENANT}/backup`, "TenantObject policy.backup"],
  [`/tenants/${TENANT}/keys`, "TenantObject policy.keyPage"],
  [`/tenants/${TENANT}/limits`, "TenantObject limits.use"],
  [`/tenants/${TENANT}/resources`, "ContentObject content.list"],
  [`/tenants/${TENANT}/secrets`, "TenantObject policy.secrets"],
  [`/tenants/${TENANT}/upstreams`, "TenantObject gateway.getRefreshStates"],
  ["/audit", "PlatformObject operators.audit"],
  ["/bases", "PlatformObject bases.bases"],
  ["/rollouts", "PlatformObject rollouts.rollouts"],
  ["/operators", "PlatformObject operators.operators"],
  ["/tools/blocked", "PlatformObject rollouts.blocks"],
] as const;

test.each(READ)("%s is read where %s fails once", async (path, call) => {
  await injectFaults({ [call]: "failed once" });
  expect(await askAdmin("GET", path)).toMatchObject({ status: 200 });
  expect(await injectFaults({})).toEqual([]);
});

test.each(KINDS)("a secret is set, noted once, and deleted where that is %s", async (kind) => {
  const path = `/tenants/${TENANT}/secrets/WORD`;
  const noted = async () => (await askAdmin("GET", `/tenants/${TENANT}/audit`)).text.split("secret.set").length;
  const before = await noted();
  await injectFaults({ "TenantObject policy.setSecret": kind });
  expect(await askAdmin("PUT", path, { value: "sesame" })).toMatchObject({ status: 200 });
  expect(await noted()).toBe(before + 1);
  await injectFaults({ "TenantObject policy.deleteSecret": kind });
  expect(await askAdmin("DELETE", path)).toMatchObject({ status: 200 });
  expect((await askAdmin("GET", `/tenants/${TENANT}/secrets`)).text).not.toContain("WORD");
  expect(await injectFaults({})).toEqual([]);
});

test.each(KINDS)("a tenant is made where its entry in the directory is %s", async (kind) => {
  await injectFaults({ "DirectoryObject add": kind });
  const id = nextTenant();
  expect(await askAdmin("POST", "/tenants", { id, document: { mode: "open" } })).toMatchObject({ status: 201 });
  expect(await askAdmin("GET", `/tenants/${id}`)).toMatchObject({ status: 200 });
  expect(await injectFaults({})).toEqual([]);
});

const ENDING = [
  "DirectoryObject markDeleting",
  "PlatformObject operators.record",
  "TenantObject policy.close",
  "ContentObject content.closeContent",
  "ContentObject content.purge",
  "TenantObject sessions.list",
  "ContentObject content.erase",
  "TenantObject policy.erase",
  "PlatformObject bases.setUses",
  "PlatformObject operators.removeTenant",
  "DirectoryObject remove",
];

describe("a tenant is deleted, with what it stored,", () => {
  test.each([...everyKind(ENDING), ["BODIES list", "KV failed"], ["BODIES delete", "KV failed"]] as const)(
    "where %s is %s",
    async (call, kind) => {
      const id = nextTenant();
      await one().admin("POST", "/tenants", { id, document: { mode: "open" } });
      const content = `/tenants/${id}/resources/content?uri=lab://ended/${id}`;
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "text/plain" };
      await fetch(`${one().origin}/admin/v1${content}`, { method: "PUT", headers, body: id });
      await injectFaults({ [call]: kind });
      expect(await askAdmin("DELETE", `/tenants/${id}`)).toEqual({ status: 204, text: "" });
      expect(await injectFaults({})).toEqual([]);
      expect(await askAdmin("GET", `/tenants/${id}`)).toMatchObject({ status: 404 });
    },
  );
});
