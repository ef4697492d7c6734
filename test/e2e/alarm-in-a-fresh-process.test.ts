// A process that no request has visited: an alarm that is due wakes a tenant's object in it, and finds what the author gave
// createWorker.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLocalServer } from "../support/local-server.ts";
import { bundleWorker, startWorker } from "../support/start-worker.ts";

const VARS = {
  ADMIN_TOKEN,
  SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
  OUTBOUND_LOCAL: "http://127.0.0.1",
};
const SECRET = `whsec_${btoa("of-the-hook-0123456789abcdef")}`;

/** Of webhooks. What it answers may be set. */
async function receiver() {
  const state = { status: 503 };
  const messages: unknown[] = [];
  const server = await startLocalServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      messages.push(JSON.parse(text));
      response.writeHead(state.status).end();
    });
  });
  onTestFinished(() => server.stop());
  return { url: `${server.origin}/`, state, messages };
}

test("a webhook is sent again in it, by its author's feature", async () => {
  const storage = await mkdtemp(join(tmpdir(), "tenantry-alarm-"));
  onTestFinished(() => rm(storage, { recursive: true, force: true }));
  const modules = await bundleWorker("noting-worker");
  const { url, state, messages } = await receiver();
  const gone = await startLocalServer(() => {});
  gone.stop();

  const before = await startWorker(modules, { vars: VARS, storage });
  const admin = fixtureAdmin(before.origin, "alarm");
  const id = await admin.tenant({ webhooks: { ops: { url, secret: "{{secret:HOOK}}" } } });
  await admin.ask("PUT", `/tenants/${id}/secrets/HOOK?wait=1`, { value: SECRET });
  await admin.ask("PUT", `/tenants/${id}/upstreams/away`, { url: gone.origin });
  await admin.ask("POST", `/tenants/${id}/upstreams/away/refresh`);
  await expect.poll(() => messages.length).toBe(1);
  await before.stop();

  state.status = 204;
  const after = await startWorker(modules, { vars: VARS, storage });
  onTestFinished(() => after.stop());
  await expect.poll(() => messages.length, { timeout: 60_000 }).toBe(2);
  expect(messages[1]).toMatchObject({ type: "upstream.down", data: { tenant: id, upstream: "away" } });
});
