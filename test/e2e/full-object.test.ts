// A tenant whose object is as large as it may be: nothing more is stored for it, and everything by which operators take
// something away, write it down and clean up goes on.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json } from "../support/mcp-client.ts";
import { client2026 } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type OneWorker } from "../support/start-worker.ts";

const ADMIN_TOKEN = "admin-token-of-a-full-object-0123456789";
/** In the place of ten gigabytes. */
const OBJECT_BYTES = "3000000";

let worker: OneWorker;
beforeAll(async () => {
  worker = await startWorker(await bundleWorker("demo-worker"), {
    vars: { ADMIN_TOKEN, OBJECT_BYTES },
    flags: ["nodejs_als"],
  });
});
afterAll(() => worker.stop());

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; json: Json }> {
  const isText = typeof body === "string";
  const response = await fetch(`${worker.origin}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body === undefined ? {} : { "content-type": isText ? "text/plain" : "application/json" }),
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: (text === "" ? {} : JSON.parse(text)) as Json };
}

const put = (at: number) =>
  ask("PUT", `/tenants/full/resources/content?uri=note://n-${at}`, `${at} ${"word ".repeat(8000)}`);

test("a tenant whose object is full is still suspended, audited and deleted by operators", async () => {
  const document = { mode: "open", maxStalenessMs: 50, profiles: { p: {} } };
  await ask("POST", "/tenants", { id: "full", document });
  const keys: string[] = [];
  for (let at = 0; at < 20; at += 1)
    keys.push(String((await ask("POST", "/tenants/full/keys", { name: "k" })).json["id"]));
  let stored = 0;
  /** Gives the refusal. */
  const fill = async () => {
    let done = await put(stored);
    for (; done.status === 201; done = await put(stored)) stored += 1;
    return done;
  };
  // What is on its way to the audit log leaves room when it has arrived: what was refused may be taken in a moment later.
  const refused = await fill();
  expect(stored).toBeGreaterThan(5);
  expect([refused.status, refused.json["errors"]]).toEqual([
    409,
    [{ field: "limits.resources", rule: "the tenant's storage is full" }],
  ]);
  const write = { name: "note_write", arguments: { id: "more", title: "t", text: "more" } };
  // That room is filled as well.
  const written = async () => {
    await fill();
    return (await client2026(`${worker.origin}/mcp/full`).request("tools/call", write)).result;
  };
  await expect.poll(written).toMatchObject({ isError: true });
  for (const [at, key] of keys.entries()) {
    const about = { kind: "principal", name: key, note: `reason ${at}` };
    expect((await ask("POST", "/tenants/full/suspensions", about)).status).toBe(200);
    expect((await ask("DELETE", `/tenants/full/keys/${key}`)).json).toMatchObject({ changed: true });
  }
  for (const kind of ["profile", "tenant"]) {
    const about = { kind, ...(kind === "profile" ? { name: "p" } : {}), note: "stop" };
    expect((await ask("POST", "/tenants/full/suspensions", about)).json).toMatchObject({ changed: true });
  }
  const titled = await ask("PUT", "/tenants/full/document?wait=1", { ...document, title: "x".repeat(1000) });
  expect(titled.json).toMatchObject({ changed: true });
  const { items } = (await ask("GET", "/tenants/full/audit?limit=99")).json as { items: { action: string }[] };
  expect(items.filter(({ action }) => action === "key.revoke")).toHaveLength(keys.length);
  // The suspensions of keys that are gone went with them.
  expect(((await ask("GET", "/tenants/full/suspensions")).json["items"] as Json[]).length).toBe(2);
  for (let at = 0; at < 4; at += 1) {
    expect((await ask("DELETE", `/tenants/full/resources/content?uri=note://n-${at}`)).status).toBe(204);
  }
  expect((await ask("DELETE", "/tenants/full")).status).toBe(204);
  expect((await ask("GET", "/tenants/full")).status).toBe(404);
});
