// The platform drops the rest of a request when its client disconnects, unless the request was told to wait: a write of
// several steps would stop between two of them.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { admin, createWorker } from "../../src/tenantry.ts";
import { adminEnv, ORIGIN, ROOT } from "../support/workerd/admin.ts";

const worker = createWorker({ tenants: {}, features: [admin()] });

/** The statuses for which the platform is told to wait, beside the one that is answered. */
async function waitedFor(method: string, path: string, json?: unknown) {
  const waited: Promise<unknown>[] = [];
  const ctx = Object.assign(createExecutionContext(), {
    waitUntil: (work: Promise<unknown>) => {
      waited.push(work);
    },
  });
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const request = new Request(`${ORIGIN}/admin/v1${path}`, { method, headers, body });
  const { status } = await worker.fetch(request, { ...env, ...adminEnv }, ctx);
  const all = await Promise.all(waited);
  return { status, waited: all.flatMap((one) => (one instanceof Response ? one.status : [])) };
}

test("a write completes although its client disconnected, and a read stops", async () => {
  const id = `left-${crypto.randomUUID().slice(0, 8)}`;
  expect(await waitedFor("POST", "/tenants", { id })).toEqual({ status: 201, waited: [201] });
  expect(await waitedFor("GET", `/tenants/${id}`)).toEqual({ status: 200, waited: [] });
  expect(await waitedFor("DELETE", `/tenants/${id}`)).toMatchObject({ waited: [expect.any(Number)] });
});
