// Calls that fail once, as when the platform resets an object or KV has a bad moment: where a second try saves the request, nobody
// hears of it. Each was an error, or an event that was lost, until calls to everything failed at random.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ResumableCall } from "../support/resumable-call.ts";
import { client2025, client2026 } from "../support/mcp-client.ts";
import { answeringV2, textOf } from "../support/official-clients.ts";
import { workerPairWithFaults } from "../support/worker-pair-with-faults.ts";
import { ADMIN_TOKEN, type WatchedWorker } from "../support/worker-pair.ts";

const TENANT = "saved";
const REPORTS = 5;

const makeTenant = (worker: WatchedWorker) =>
  worker.admin("POST", "/tenants", { id: TENANT, document: { mode: "open", maxStalenessMs: 50 } });
const { one, injectFaults } = workerPairWithFaults({}, makeTenant);

const url = () => `${one().origin}/mcp/${TENANT}`;

const call = (name: string, args: object) => client2026(url()).request("tools/call", { name, arguments: args });

test.each(["TenantObject authority.claim", "TenantObject authority.settle"])(
  "what is to happen once does where %s fails once",
  async (name) => {
    await injectFaults({ [name]: "failed once" });
    const client = answeringV2("2026");
    await client.connect(new StreamableHTTPClientTransport(new URL(url())));
    onTestFinished(() => client.close());
    const text = textOf(await client.callTool({ name: "lab_pay", arguments: { key: name.slice(-5) } }));
    expect(JSON.parse(text)).toMatchObject({ receipt: expect.any(String) as string });
    expect(await injectFaults({})).toEqual([]);
  },
);

describe("a text is stored where KV refuses it once", () => {
  test("by a tool", async () => {
    await injectFaults({ "BODIES put": "KV failed" });
    const { result } = await call("lab_write", { uri: "lab://saved/tool", text: "by a tool" });
    expect(result).toMatchObject({ content: [{ type: "text" }] });
    expect(result).not.toHaveProperty("isError");
    const read = await client2026(url()).request("resources/read", { uri: "lab://saved/tool" });
    expect(read.result).toMatchObject({ contents: [{ text: "by a tool" }] });
    expect(await injectFaults({})).toEqual([]);
  });

  test("by a tool whose turn to upload was told in an answer that was lost", async () => {
    await injectFaults({ "ContentObject content.claimUpload": "answer lost", "BODIES put": "KV failed" });
    const { result } = await call("lab_write", { uri: "lab://saved/twice", text: "after two faults" });
    expect(result).toMatchObject({ content: [{ type: "text" }] });
    expect(result).not.toHaveProperty("isError");
    expect(await injectFaults({})).toEqual([]);
  });

  test("by two who store the same, each of whom KV refuses once", async () => {
    const store = (at: number) => call("lab_write", { uri: `lab://saved/shared/${at}`, text: "shared" });
    await injectFaults({ "BODIES put": "KV failed" });
    const first = store(1);
    await vi.waitUntil(async () => (await injectFaults({})).length === 0);
    await injectFaults({ "BODIES put": "KV failed" });
    for (const { result, text } of await Promise.all([first, store(2)])) {
      expect(result, text).toMatchObject({ content: [{ type: "text" }] });
      expect(result).not.toHaveProperty("isError");
    }
  });

  test("by an operator", async () => {
    await injectFaults({ "BODIES put": "KV failed" });
    const path = `/admin/v1/tenants/${TENANT}/resources/content?uri=lab://saved/operator`;
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "text/plain" };
    const { status } = await fetch(`${one().origin}${path}`, { method: "PUT", headers, body: "by an operator" });
    expect(status).toBe(201);
    expect(await injectFaults({})).toEqual([]);
  });
});

test("the first text of a tenant is stored where its authority fails once as it hands its content over", async () => {
  await one().admin("POST", "/tenants", { id: "handed", document: { mode: "open" } });
  await injectFaults({ "TenantObject authority.exists": "failed once" });
  const client = client2026(`${one().origin}/mcp/handed`);
  const args = { uri: "lab://saved/first", text: "first" };
  const { result } = await client.request("tools/call", { name: "lab_write", arguments: args });
  expect(result).toMatchObject({ content: [{ type: "text" }] });
  expect(result).not.toHaveProperty("isError");
  expect(await injectFaults({})).toEqual([]);
});

test.each([
  "DirectoryObject lookup",
  "TenantObject policy.read",
  "TenantObject policy.revokeKey",
  "TenantObject changes.pendingCloseMs",
  "TenantObject policy.key",
])("a key is made and revoked where %s fails once", async (name) => {
  await injectFaults({ [name]: "failed once" });
  const { token } = await one().admin("POST", `/tenants/${TENANT}/keys`, { name: "short-lived" });
  const done = await one().admin("DELETE", `/tenants/${TENANT}/keys/${String(token).split("_")[1]}`);
  expect(done).toMatchObject({ changed: true });
  expect(await injectFaults({})).toEqual([]);
});

test("no event of a POST is lost where its session is overloaded once", async () => {
  const client = await client2025(url());
  await injectFaults({ "SessionObject append": "overloaded" });
  const params = {
    name: "lab_report",
    arguments: { reports: REPORTS, everyMs: 0 },
    _meta: { progressToken: "token" },
  };
  const followed = await ResumableCall.begin(url(), client, { id: "followed", params });
  await followed.finish(url);
  const told = followed.events.map(({ message }) => (message["params"] as { progress?: number } | undefined)?.progress);
  expect(told).toEqual([1, 2, 3, 4, 5, undefined]);
  expect(await injectFaults({})).toEqual([]);
});
