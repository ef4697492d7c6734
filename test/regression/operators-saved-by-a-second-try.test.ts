// What an operator does where one of its calls fails, or is done and its answer lost: suspensions, blocks and the beginning and end
// of tenants were answered 503, or 500 where it was KV, though asking again does no harm.

import { describe, expect, test } from "vitest";
import { VARS } from "../support/jitter/world.ts";
import { struckWorkers } from "../support/struck-workers.ts";
import { ADMIN_TOKEN, type WatchedWorker } from "../support/two-workers.ts";

const TENANT = "kept";
const KINDS = ["failed once", "answer lost"] as const;

const makeTenant = (worker: WatchedWorker) =>
  worker.admin("POST", "/tenants", { id: TENANT, document: { mode: "open", maxStalenessMs: 50 } });
const { one, strike, asked } = struckWorkers({ SECRETS_KEY: VARS.SECRETS_KEY }, makeTenant);

const everyKind = (calls: readonly string[]) => calls.flatMap((call) => KINDS.map((kind) => [call, kind] as const));

let made = 0;
function nextTenant(): string {
  made += 1;
  return `made-${made}`;
}

test.each(KINDS)("a tool is suspended, and resumed, where that is %s", async (kind) => {
  await strike({ "TENANTS policy.suspend": kind });
  const path = `/tenants/${TENANT}/suspensions`;
  expect(await asked("POST", path, { kind: "tool", name: "lab_pay", note: "closed" })).toMatchObject({ status: 200 });
  expect((await asked("GET", path)).text).toContain("lab_pay");
  await strike({ "TENANTS policy.resume": kind });
  expect(await asked("DELETE", `${path}/tool/lab_pay`)).toMatchObject({ status: 200 });
  expect((await asked("GET", path)).text).not.toContain("lab_pay");
  expect(await strike({})).toEqual([]);
});

test.each(KINDS)("a tool is blocked everywhere, and unblocked, where that is %s", async (kind) => {
  await strike({ "PLATFORM bases.block": kind });
  expect(await asked("POST", "/tools/lab_pay/block", { note: "closed" })).toMatchObject({ status: 200 });
  await strike({ "PLATFORM bases.unblock": kind });
  expect(await asked("DELETE", "/tools/lab_pay/block")).toMatchObject({ status: 200 });
  expect(await strike({})).toEqual([]);
});

test.each(everyKind(["operators.operatorByHash", "operators.operators"]))(
  "an operator with a token of their own is let in where %s is %s",
  async (call, kind) => {
    const name = `op-${nextTenant()}`;
    const { token } = await one().admin("POST", "/operators", { name, role: "auditor" });
    await strike({ [`PLATFORM ${call}`]: kind });
    const headers = { authorization: `Bearer ${String(token)}` };
    const { status } = await fetch(`${one().origin}/admin/v1/tenants`, { headers });
    expect(status).toBe(200);
    await asked("GET", "/operators");
    expect(await strike({})).toEqual([]);
  },
);

const READ = [
  ["/tenants", "DIRECTORY list"],
  [`/tenants/${TENANT}`, "DIRECTORY lookup"],
  [`/tenants/${TENANT}/audit`, "TENANTS policy.audit"],
  [`/tenants/${TENANT}/kept`, "TENANTS policy.kept"],
  [`/tenants/${TENANT}/keys`, "TENANTS policy.keyPage"],
  [`/tenants/${TENANT}/limits`, "TENANTS limits.use"],
  [`/tenants/${TENANT}/resources`, "CONTENT content.list"],
  [`/tenants/${TENANT}/secrets`, "TENANTS policy.secrets"],
  [`/tenants/${TENANT}/upstreams`, "TENANTS gateway.readings"],
  ["/audit", "PLATFORM operators.audit"],
  ["/bases", "PLATFORM bases.bases"],
  ["/fleet/runs", "PLATFORM fleet.runs"],
  ["/operators", "PLATFORM operators.operators"],
  ["/tools/blocked", "PLATFORM bases.blocks"],
] as const;

test.each(READ)("%s is read where %s fails once", async (path, call) => {
  await strike({ [call]: "failed once" });
  expect(await asked("GET", path)).toMatchObject({ status: 200 });
  expect(await strike({})).toEqual([]);
});

test.each(KINDS)("a secret is set, noted once, and deleted where that is %s", async (kind) => {
  const path = `/tenants/${TENANT}/secrets/WORD`;
  const noted = async () => (await asked("GET", `/tenants/${TENANT}/audit`)).text.split("secret.set").length;
  const before = await noted();
  await strike({ "TENANTS policy.setSecret": kind });
  expect(await asked("PUT", path, { value: "sesame" })).toMatchObject({ status: 200 });
  expect(await noted()).toBe(before + 1);
  await strike({ "TENANTS policy.deleteSecret": kind });
  expect(await asked("DELETE", path)).toMatchObject({ status: 200 });
  expect((await asked("GET", `/tenants/${TENANT}/secrets`)).text).not.toContain("WORD");
  expect(await strike({})).toEqual([]);
});

test.each(KINDS)("a tenant is made where its entry in the directory is %s", async (kind) => {
  await strike({ "DIRECTORY add": kind });
  const id = nextTenant();
  expect(await asked("POST", "/tenants", { id, document: { mode: "open" } })).toMatchObject({ status: 201 });
  expect(await asked("GET", `/tenants/${id}`)).toMatchObject({ status: 200 });
  expect(await strike({})).toEqual([]);
});

const ENDING = [
  "DIRECTORY mark",
  "PLATFORM operators.record",
  "TENANTS policy.closed",
  "CONTENT content.close",
  "CONTENT content.purge",
  "TENANTS sessions.list",
  "CONTENT content.erase",
  "TENANTS policy.erase",
  "PLATFORM bases.settle",
  "PLATFORM brakes.releaseTenant",
  "PLATFORM operators.forgetTenant",
  "DIRECTORY remove",
  "DIRECTORY forget",
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
      await strike({ [call]: kind });
      expect(await asked("DELETE", `/tenants/${id}`)).toEqual({ status: 204, text: "" });
      expect(await strike({})).toEqual([]);
      expect(await asked("GET", `/tenants/${id}`)).toMatchObject({ status: 404 });
    },
  );
});
