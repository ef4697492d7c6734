// Upstreams for `growth.ts`: each lists so many tools of about so many bytes, of which the first one adds.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Listing {
  readonly tools: number;
  readonly bytes: number;
  /** Stands in each of them: an isolate holds lists that are alike once. */
  readonly label?: string;
}

const ENOUGH_ALONE = 200;
const EACH_PROPERTY = 80;

/** It does not keep the process alive. */
export async function startListing({ tools, bytes, label = "all" }: Listing): Promise<{ readonly url: string }> {
  const cache = { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public" };
  const results: Record<string, object> = {
    "server/discover": { ...cache, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
    "tools/list": { ...cache, tools: Array.from({ length: tools }, (_, at) => toolOf(at, bytes, label)) },
    "tools/call": { resultType: "complete", content: [{ type: "text", text: "8" }] },
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body) as { readonly id: unknown; readonly method: string };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
    });
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function toolOf(at: number, bytes: number, label: string): object {
  const properties: Record<string, object> = { a: { type: "number" }, b: { type: "number" } };
  for (let left = bytes - ENOUGH_ALONE; left > 0; left -= EACH_PROPERTY) {
    properties[`field_${left}`] = { type: "string", description: `What field ${left} is for`, minLength: 1 };
  }
  const inputSchema = { type: "object", properties, required: ["a", "b"] };
  return { name: at === 0 ? "add" : `tool_${at}`, description: `What tool ${at} of ${label} does`, inputSchema };
}
