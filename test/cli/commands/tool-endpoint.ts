// An MCP endpoint of 2026-07-28 with one tool, for tests of the command line: it answers and refuses as a test says.

import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { CommandLine, type Around, type Ended } from "../../support/command-line.ts";
import { startLocalServer } from "../../support/local-server.ts";
import { expectOfficial } from "../../support/official-schema.ts";

export type Json = Record<string, unknown>;

export interface Sent {
  readonly method: string;
  readonly params: Json;
  readonly headers: IncomingHttpHeaders;
}

/** What the endpoint answers to a call: a result, or whole messages as a stream, or an error. */
type Reply = Json | readonly Json[];

export const NOTE_WRITE = {
  name: "note_write",
  description: "Saves a note",
  inputSchema: {
    type: "object",
    properties: {
      title: { type: "string" },
      stars: { type: "integer" },
      open: { type: "boolean" },
      tags: { type: "array", items: { type: "string" } },
      sizes: { type: "array", items: { type: "number" } },
      region: { type: "string", "x-mcp-header": "Region" },
      deep: { type: "object", properties: { id: { type: "integer", "x-mcp-header": "Deep-Id" } } },
    },
    required: ["title"],
  },
};

/** An endpoint with one tool; holds every message that it gets against the official schema. */
export async function toolEndpoint(
  reply: (sent: Sent) => Reply,
  refuse: (sent: Sent) => Json | undefined = () => undefined,
) {
  const sent: Sent[] = [];
  const { origin: url, stop } = await startLocalServer((request, response) => {
    void (async () => {
      const message = JSON.parse(await text(request)) as Json & { method: string; params: Json };
      const isOlder = message.method === "initialize";
      expectOfficial(isOlder ? "2025-11-25" : "2026-07-28", message, { direction: "client" });
      const { method, params } = message;
      const one = { method, params, headers: request.headers };
      sent.push(one);
      const listed = { tools: [NOTE_WRITE], resultType: "complete", ttlMs: 0, cacheScope: "private" };
      const answer = refuse(one) ?? (method === "tools/list" ? listed : reply(one));
      const base = { jsonrpc: "2.0", id: message["id"] };
      if (Array.isArray(answer)) {
        response.setHeader("content-type", "text/event-stream");
        // Cut into pieces anywhere, as a network does.
        const stream = answer.map((event) => `event: message\r\ndata: ${JSON.stringify(event)}\r\n\r\n`).join("");
        for (const piece of stream.replaceAll('"ID"', String(message["id"])).match(/[\s\S]{1,7}/g) ?? [])
          response.write(piece);
        response.end();
      } else {
        const status = "status" in answer ? Number(answer["status"]) : 200;
        response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
        const body = "error" in answer ? { error: answer["error"] } : { result: answer };
        response.end(JSON.stringify({ ...base, ...body }));
      }
    })();
  });
  onTestFinished(stop);
  const cli = new CommandLine("/", { HOME: "/nowhere", TENANTRY_URL: url, TENANTRY_TOKEN: "admin-secret" });
  const call = (args: readonly string[], around?: Around): Promise<Ended> => cli.run(["call", ...args], around);
  return { sent, call, url };
}

export const textResult = (...texts: string[]) => ({
  resultType: "complete",
  content: texts.map((one) => ({ type: "text", text: one })),
});
