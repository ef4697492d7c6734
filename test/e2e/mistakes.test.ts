// A Worker with a mistake in its definitions: a deployment of it does not start, and while it is developed every request is
// answered at once with what is wrong and that request's own id.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { ERAS, post } from "../support/mcp-client.ts";
import { bundleWorker, startWorker, type StartOptions } from "../support/start-worker.ts";

const ENTRY = "mistaken-worker";

/** One of a definition, one between two of them, and one of a tenant. What is said of each kind is in test/handlers/mistakes.test.ts. */
const DATE = "input.when: Date cannot be represented in JSON Schema";
const MISTAKES = [
  { mistake: "date", says: `tool "wrong": ${DATE}` },
  { mistake: "twice", says: 'tool "fine" is defined twice' },
  { mistake: "tenant", says: 'tenant "acme": tools: there is no tool "fien"; did you mean "fine"?' },
] as const;

async function started(mode: "production" | "development", options: StartOptions) {
  const worker = await startWorker(await bundleWorker(ENTRY, mode), options);
  onTestFinished(() => worker.stop());
  return worker;
}

const ask = (origin: string, revision: string, body: unknown) =>
  post(`${origin}/mcp/demo`, body, { headers: { "mcp-protocol-version": revision }, revision });

test.each(MISTAKES)(
  "the mistake `$mistake` keeps a deployment from starting, which says why",
  async ({ mistake, says }) => {
    await expect(started("production", { vars: { MISTAKE: mistake } })).rejects.toThrow(says);
  },
);

async function answered(origin: string, revision: string, id: unknown) {
  const { status, messages } = await ask(origin, revision, { jsonrpc: "2.0", id, method: "tools/list", params: {} });
  const [message] = messages as { id: unknown; error?: { code: number; message: string } }[];
  return { status, message: message ?? { id: undefined } };
}

describe("a Worker that is developed", () => {
  test.each(MISTAKES)("answers every request with the mistake `$mistake` and that request's own id", async (about) => {
    const { origin } = await started("development", { vars: { MISTAKE: about.mistake } });
    for (const { revision } of ERAS) {
      for (const id of [42, "mine"]) {
        const { status, message } = await answered(origin, revision, id);
        expect([status, message.id, message.error?.code]).toEqual([200, id, -32603]);
        expect(message.error?.message).toContain(about.says);
      }
    }
  });

  test("takes notifications without a word, and tells batches, browsers and official clients at once", async () => {
    const { origin } = await started("development", { vars: { MISTAKE: "date" } });
    const note = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect((await ask(origin, "2025-03-26", note)).status).toBe(202);
    const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
    const { messages } = await ask(origin, "2025-03-26", [...batch, note]);
    expect(messages.map(({ id }) => id)).toEqual([1, 2]);
    const page = await fetch(`${origin}/mcp/demo`, { headers: { accept: "text/html" } });
    expect([page.status, await page.text()]).toEqual([500, expect.stringContaining(DATE)]);
    // It does not wait for its time-out.
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
    const connecting = client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp/demo`)));
    await expect(connecting).rejects.toThrow(DATE);
  });

  test.each([
    ["PlatformObject", "does not list PlatformObject"],
    ["BODIES", "no KV binding BODIES"],
  ])("says that its configuration forgets %s", async (forgotten, says) => {
    const { origin } = await started("development", { missingBindings: [forgotten] });
    const { message } = await answered(origin, "2025-11-25", 1);
    expect([message.id, message.error?.message]).toEqual([1, expect.stringContaining(says)]);
    const admin = await fetch(`${origin}/admin/v1/tenants/acme/keys`, { method: "POST", body: '{"name":"first"}' });
    expect([admin.status, await admin.text()]).toEqual([500, expect.stringContaining(says)]);
  });

  test("says which class it does not export", async () => {
    const [main, ...others] = await bundleWorker(ENTRY, "development");
    if (!main) throw new Error("a Worker has a module");
    const contents = main.contents.replace(/^ {2}(?:\w+ as )?HubObject,\n/m, "");
    const worker = await startWorker([{ ...main, contents }, ...others], { missingBindings: ["HubObject"] });
    onTestFinished(() => worker.stop());
    const { message } = await answered(worker.origin, "2025-11-25", 1);
    expect(message.error?.message).toContain("does not export HubObject");
  });
});

describe("a deployment", () => {
  test("without the KV namespace does not start", async () => {
    await expect(started("production", { missingBindings: ["BODIES"] })).rejects.toThrow("no KV binding BODIES");
  });

  test("without a class says so in its log at the first request, and to clients that it is not complete", async () => {
    const worker = await started("production", { missingBindings: ["HubObject"] });
    const { message } = await answered(worker.origin, "2025-11-25", 1);
    expect(message.error?.message).toContain("this deployment is incomplete");
    await expect.poll(() => worker.log()).toContain("does not list HubObject");
  });

  test("without a mistake serves", async () => {
    const { origin } = await started("production", {});
    const { messages } = await ask(origin, "2025-11-25", { jsonrpc: "2.0", id: 1, method: "tools/list" });
    expect(messages).toMatchObject([{ id: 1, result: { tools: [{ name: "fine" }] } }]);
  });
});
