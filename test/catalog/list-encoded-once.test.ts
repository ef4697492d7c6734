// Checked through the Worker's entry: in the parts alone, a new key for each request was not seen.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool } from "../../src/tenantry.ts";

const REVISIONS = ["2025-06-18", "2025-11-25"] as const;

it("a list reads a definition once for each revision and view, not for each request", async () => {
  let read = 0;
  const meta = {
    get "example.com/read"(): number {
      read += 1;
      return read;
    },
  };
  const tool = defineTool({ name: "read", meta, handler: () => "" });
  const worker = createWorker({ tools: [tool], tenants: { listed: { maxStalenessMs: 60_000 } } });
  const list = async (revision: string): Promise<string> => {
    const ctx = createExecutionContext();
    const request = new Request("https://mcp.example.com/mcp/listed", {
      method: "POST",
      headers: { "content-type": "application/json", "mcp-protocol-version": revision },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    const response = await worker.fetch(request, env, ctx);
    await waitOnExecutionContext(ctx);
    return response.text();
  };
  const before = read;
  const lists = [];
  for (const revision of [...REVISIONS, ...REVISIONS, ...REVISIONS]) lists.push(await list(revision));
  expect(read - before).toBe(REVISIONS.length);
  expect(new Set(lists).size).toBe(REVISIONS.length);
});
