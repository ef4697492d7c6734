// The tenant `federated` that the founding documents' messages meet: its upstreams are servers of this process, as the
// documents describe them.

import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { vi } from "vitest";
import type { FixtureAdmin } from "../support/fixture-admin.ts";
import { client2025, type Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

export const FEDERATED = "federated";

export interface Federation {
  readonly upstreams: Readonly<Record<string, Upstream>>;
  stop(): Promise<void>;
}

const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });

function createIssue({ arguments: given }: Json): Json {
  const { make } = (given ?? {}) as Json;
  if (make === "error") return { error: { code: -32001, message: "Tool error", data: { uri: "file:///x" } } };
  // The one code of which the revision says what its data is.
  const data = make === -32_042 ? { data: { elicitations: [] } } : {};
  if (typeof make === "number") return { error: { code: make, message: "As asked", ...data } };
  return textResult("created");
}

export const LOOSE: Json = {
  content: [
    { type: "text", text: "Plain text content" },
    { type: "image", data: "base64...", mimeType: "image/png" },
    { type: "resource", uri: "file:///path/to/file" },
  ],
};

/** `id`: of the tenant; each file has its own. */
export async function startFederation(origin: string, admin: FixtureAdmin, id = FEDERATED): Promise<Federation> {
  const upstreams = {
    postgres: await startUpstream({ query: () => ({ ...textResult("1"), extra: { kept: true } }) }),
    github: await startUpstream({ create_issue: createIssue, loose: () => LOOSE }),
    serverA: await startUpstream({ tool_1: () => textResult("1"), tool_2: () => textResult("2") }),
    serverB: await startUpstream({ tool_3: () => textResult("3") }),
    slow: await startUpstream({ wait: () => "silence" }),
  };
  const listed = Object.fromEntries(Object.entries(upstreams).map(([name, { url }]) => [name, { url }]));
  const document = {
    mode: "open",
    maxStalenessMs: 50,
    // None of this Worker's own tools, of which there are more than a page.
    tools: { "*": { enabled: false }, "*__*": { enabled: true } },
    upstreams: {
      ...listed,
      slow: { url: upstreams.slow.url, timeoutMs: 500 },
      dead: { url: `http://127.0.0.1:${await closedPort()}/mcp` },
    },
  };
  await admin.ask("POST", "/tenants", { id, document });
  const client = await client2025(`${origin}/mcp/${id}`);
  await vi.waitFor(
    async () => {
      const { result } = await client.request("tools/list");
      const read = new Set((result["tools"] as { name: string }[]).map(({ name }) => name.split("__")[0]));
      const missing = Object.keys(upstreams).filter((name) => !read.has(name));
      if (missing.length > 0) throw new Error(`not read yet: ${missing.join()}`);
    },
    { timeout: 20_000, interval: 100 },
  );
  return {
    upstreams,
    stop: async () => {
      for (const upstream of Object.values(upstreams)) upstream.close();
      await admin.ask("DELETE", `/tenants/${id}`);
    },
  };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
