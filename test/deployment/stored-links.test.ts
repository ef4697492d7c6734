// What a call keeps that an object runs on, without the request of who made it: `ctx.link` gives it to who called, and to
// nobody else.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, defineTool, links, type AppUser } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { readerOf, sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";
import { rowsOf } from "../support/workerd/tenant.ts";

type Headers = Readonly<Record<string, string>>;

/** Which run it was: in an object's run there are no headers of the client's. */
const runs: boolean[] = [];
const report = defineTool({
  name: "report",
  resumable: true,
  handler: async (_args, ctx) => {
    runs.push(ctx.request.headers.has("x-mine"));
    return ctx.link("a,b", { name: "Report" });
  },
});
const authenticate = ({ headers }: Request): AppUser | undefined => {
  const id = headers.get("x-user");
  return id === null ? undefined : { id, tenant: headers.get("x-tenant") ?? "" };
};
// The stored runs of a script are of the Worker that is mounted where the call came in.
const worker = createWorker({ path: "/linked", tools: [report], tenants: {}, features: [links()], authenticate });

async function made(path: string, headers: Headers): Promise<string> {
  const session = await sessionAt(worker, path, {}, headers);
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "report", arguments: {} } };
  const all = { "x-mine": "1", ...headers, ...session };
  const stream = readerOf(await sendTo(worker, path, { message, headers: all }));
  return /tenantry:\/\/results\/[\w-]+/.exec(await stream.until('"id":1'))?.[0] ?? "";
}

async function read(path: string, uri: string, headers: Headers): Promise<string> {
  const message = { jsonrpc: "2.0", id: 2, method: "resources/read", params: { uri } };
  return (await sendTo(worker, path, { message, headers })).text();
}

async function read2026(path: string, uri: string, headers: Headers): Promise<string> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const message = { jsonrpc: "2.0", id: 2, method: "resources/read", params: { uri, _meta } };
  const standard = { "mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": uri };
  return (await sendTo(worker, path, { message, headers: { ...standard, ...headers } })).text();
}

describe.each([
  ["2025", read],
  ["2026", read2026],
] as const)("a link that an object's run has made, read in era %s", (_era, readIn) => {
  it("is read from where the call came without a credential, and from nowhere else", async () => {
    const { id } = await servedTenant();
    runs.length = 0;
    const here = { "cf-connecting-ip": "192.0.2.1" };
    const uri = await made(id, here);
    expect(runs).toEqual([false]);
    expect(await readIn(id, uri, here)).toContain('"a,b"');
    expect(await readIn(id, uri, { "cf-connecting-ip": "192.0.2.2" })).toContain("not found");
    expect(await readIn(id, uri, {})).toContain("not found");
  });

  it("is read by the user of an app who called, wherever they are, and by no other", async () => {
    const { id } = await servedTenant({ mode: "key" });
    const ann = { "x-user": "ann", "x-tenant": id };
    const uri = await made(id, { ...ann, "cf-connecting-ip": "192.0.2.1" });
    expect(await readIn(id, uri, { ...ann, "cf-connecting-ip": "192.0.2.2" })).toContain('"a,b"');
    expect(await readIn(id, uri, { ...ann, "x-user": "bob" })).toContain("not found");
  });

  it("is read with the calling key, and not once that is revoked", async () => {
    const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50 });
    const { id: keyId, token, hash } = await createKey();
    const key = { id: keyId, hash, name: "k", scopes: null, profile: null, expires: null };
    await createRpcClient(tenant.stub, policyStore).addKey(key, { name: "ann" });
    const bearer = { authorization: `Bearer ${token}` };
    const uri = await made(tenant.id, bearer);
    expect(await readIn(tenant.id, uri, bearer)).toContain('"a,b"');
    expect(await readIn(tenant.id, uri, {})).toContain("not found");
    await createRpcClient(tenant.stub, policyStore).revokeKey(keyId, { name: "ann" });
    await expect.poll(() => readIn(tenant.id, uri, bearer)).not.toContain('"a,b"');
  });

  it("is read in a profile that shows no resources, and in no other", async () => {
    const profiles = { p: { resources: { deny: ["*"] } }, q: {} };
    const { id } = await servedTenant({ mode: "open", profiles });
    const uri = await made(`${id}/p`, {});
    expect(await readIn(`${id}/p`, uri, {})).toContain('"a,b"');
    expect(await readIn(`${id}/q`, uri, {})).toContain("not found");
    expect(await readIn(id, uri, {})).toContain("not found");
  });

  it("is read no more when its time is over", async () => {
    const tenant = await servedTenant();
    const uri = await made(tenant.id, {});
    await rowsOf(tenant, "UPDATE results SET expires = 1");
    expect(await readIn(tenant.id, uri, {})).toContain("not found");
  });
});

it("content that a tool stores for the Worker's own code is read under that name alone", async () => {
  const { id } = await servedTenant();
  const tenant = worker.tenant(env, id);
  const { content } = await tenant.callTool("report", {}, { as: { id: "nightly" } });
  const { uri = "" } = content[0] as { readonly uri?: string };
  const { contents } = await tenant.readResource(uri, { as: { id: "nightly" } });
  expect(contents).toMatchObject([{ text: "a,b" }]);
  await expect(tenant.readResource(uri, { as: { id: "daily" } })).rejects.toThrow("not found");
  expect(await read(id, uri, {})).toContain("not found");
});
