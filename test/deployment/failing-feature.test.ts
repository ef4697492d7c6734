// What fails before a message is looked at: a client is answered with the id that it waits for, or with an HTTP status.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, type Env } from "../../src/tenantry.ts";

const failing = createWorker({
  tenants: { demo: {} },
  features: [
    {
      name: "failing",
      sources: () => {
        throw new Error("a secret of the feature");
      },
    },
  ],
  hooks: { onError: () => {} },
});

interface SentRequest {
  readonly version: string;
  readonly tenant?: string;
  readonly at?: Env;
}

async function post(worker: typeof failing, body: unknown, { version, tenant = "demo", at = env }: SentRequest) {
  const ctx = createExecutionContext();
  const request = new Request(`https://mcp.example.com/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", "mcp-protocol-version": version },
    body: JSON.stringify(body),
  });
  const response = await worker.fetch(request, at, ctx);
  await waitOnExecutionContext(ctx);
  return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() };
}

describe.each(["2025-11-25", "2026-07-28"])("%s", (version) => {
  it("a feature that throws is an error with the request's id, without its message", async () => {
    const { status, text } = await post(failing, { jsonrpc: "2.0", id: 7, method: "tools/list" }, { version });
    expect([status, JSON.parse(text)]).toMatchObject([200, { id: 7, error: { code: -32603 } }]);
    expect(text).not.toContain("secret");
  });

  it("an unreachable directory is an HTTP status with a Retry-After", async () => {
    const worker = createWorker({ tenants: {}, hooks: { onError: () => {} } });
    const away = () => {
      throw new Error("a secret of the platform");
    };
    const at = { ...env, DirectoryObject: { idFromName: away, getByName: away, get: away } } as unknown as Env;
    const answered = await post(
      worker,
      { jsonrpc: "2.0", id: 7, method: "tools/list" },
      {
        version,
        tenant: "nowhere",
        at,
      },
    );
    expect(answered).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) as string });
    expect(answered.text).not.toContain("secret");
  });
});

it("each request of a batch is answered with its own id", async () => {
  const requests = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
  const batch = [...requests, { jsonrpc: "2.0", method: "notifications/cancelled" }];
  const { text } = await post(failing, batch, { version: "2025-03-26" });
  expect(JSON.parse(text)).toMatchObject([{ id: 1 }, { id: 2 }]);
});
