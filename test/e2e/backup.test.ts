// A tenant is backed up, lost, and restored at another Worker with the same SECRETS_KEY: all that the admin API shows of it is as it
// was, the keys let in whom they let in, and what was approved is. Restored twice, nothing changes.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { CommandLine } from "../support/command-line.ts";
import { bearer, fixtureAdmin, type FixtureAdmin, type MadeKey } from "../support/fixture-admin.ts";
import { startGatewayWorker } from "../support/gateway-tenant.ts";
import { client2026, type Json } from "../support/mcp-client.ts";
import { startUpstream } from "../support/upstream.ts";

const here = await startGatewayWorker();
/** With the same SECRETS_KEY. */
const there = await startGatewayWorker({ ANOTHER: "1" });
const [at, elsewhere] = [fixtureAdmin(here, "backup"), fixtureAdmin(there, "backup")];

const LISTS = ["resources", "keys", "secrets", "suspensions", "limits", "prompts", "upstreams/far/pending"] as const;
/** When it was seen, used or begun there. */
const OF_ITS_PLACE = new Set([
  "revision",
  "lastUsed",
  "created",
  "seen",
  "url",
  "requestId",
  "etag",
  "since",
  "updated",
]);

function comparable(value: unknown): unknown {
  const text = JSON.stringify(value, (name, item: unknown) => (OF_ITS_PLACE.has(name) ? undefined : item));
  return JSON.parse(text);
}

async function shownOf(admin: FixtureAdmin, id: string): Promise<Record<string, unknown>> {
  const shown: Record<string, unknown> = { tenant: comparable(await admin.ask("GET", `/tenants/${id}`)) };
  for (const list of LISTS) shown[list] = comparable(await admin.ask("GET", `/tenants/${id}/${list}`));
  return shown;
}

async function tools(origin: string, id: string, key: MadeKey): Promise<unknown[]> {
  const { status, result } = await client2026(`${origin}/mcp/${id}`, {}, {}, bearer(key.token)).request("tools/list");
  expect(status).toBe(200);
  return (result.tools as Json[]).map(({ name }) => name).filter((name) => String(name).startsWith("far__"));
}

const say = (text: string) => ({ content: [{ type: "text", text }] });

async function filled(url: string): Promise<{ id: string; key: MadeKey; revoked: MadeKey }> {
  const id = await at.tenant({
    mode: "key",
    title: "Acme",
    profiles: { readers: { tools: { allow: ["far__*"] } } },
    prompts: { hello: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] } },
    upstreams: { far: { url, trust: "review" } },
    limits: { keys: 7 },
  });
  const key = await at.key(id, { name: "ci", expires: "2099-01-01T00:00:00Z" });
  const revoked = await at.key(id, { name: "lost", profile: "readers" });
  await at.ask("PUT", `/tenants/${id}/secrets/TOKEN`, { value: "the-secret" });
  await at.suspend(id, "profile", "readers", "closed");
  await at.store(id, "note://a", "Alpha");
  await at.store(id, "note://b", "Beta");
  const waiting = async () => (await at.ask("GET", `/tenants/${id}/upstreams/far/pending`))["items"] as Json[];
  await at.ask("POST", `/tenants/${id}/upstreams/far/refresh?wait=1`);
  expect(await waiting()).toHaveLength(3);
  const sing = (await waiting()).find(({ name }) => name === "sing");
  await at.ask("POST", `/tenants/${id}/upstreams/far/approve?wait=1`, { digests: [sing?.["digest"]] });
  return { id, key, revoked };
}

test("a restored tenant is what it was, and a revoked key comes back only where that is asked for", async () => {
  const far = await startUpstream({ sing: () => say("la"), dance: () => say("hop") });
  const folder = await mkdtemp(join(tmpdir(), "tenantry-backup-"));
  onTestFinished(async () => {
    far.close();
    await rm(folder, { recursive: true });
  });
  const cli = new CommandLine(folder, { HOME: folder, TENANTRY_URL: here, TENANTRY_TOKEN: ADMIN_TOKEN });
  const { id, key, revoked } = await filled(far.url);
  const before = await shownOf(at, id);

  const backup = await cli.run(["backup", id, "-o", "kept"]);
  expect(backup).toMatchObject({ exit: 0, stdout: expect.stringContaining("2 keys, 1 secret") });
  const restore = (...more: string[]) => cli.run(["restore", "kept", "--url", there, ...more]);
  const restored = await restore();
  expect(restored).toMatchObject({ exit: 0, stderr: expect.stringContaining("1 definition approved again") });
  onTestFinished(async () => void (await elsewhere.ask("DELETE", `/tenants/${id}`)));
  const after = await shownOf(elsewhere, id);
  for (const [list, shown] of Object.entries(before)) expect(after[list], list).toEqual(shown);
  const keptOf = (admin: FixtureAdmin) => admin.ask("GET", `/tenants/${id}/backup`);
  expect(await keptOf(elsewhere)).toEqual(await keptOf(at));
  await expect.poll(() => tools(there, id, key)).toEqual(["far__sing"]);

  const other = `${id}-2`;
  expect(await restore("--tenant", other)).toMatchObject({
    stderr: expect.stringContaining(`now also work at /mcp/${other}`),
  });
  onTestFinished(async () => void (await elsewhere.ask("DELETE", `/tenants/${other}`)));
  await tools(there, other, key);

  const { revision } = await elsewhere.ask("GET", `/tenants/${id}`);
  expect(await restore("--keys")).toMatchObject({ exit: 0 });
  expect(await elsewhere.ask("GET", `/tenants/${id}`)).toMatchObject({ revision });

  await elsewhere.ask("DELETE", `/tenants/${id}/keys/${revoked.id}`);
  expect(await restore()).toMatchObject({ exit: 0, stderr: expect.stringContaining("--keys restores missing ones") });
  expect((await elsewhere.ask("GET", `/tenants/${id}/keys`))["items"]).toHaveLength(1);
  expect(await restore("--keys")).toMatchObject({ exit: 0 });
  expect((await elsewhere.ask("GET", `/tenants/${id}/keys`))["items"]).toHaveLength(2);
});
