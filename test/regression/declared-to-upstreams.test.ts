// An upstream was told of its client whatever the client had declared: tasks and extensions that nobody here serves, and what
// the client's revision has no word for. It may ask for what it is told, and start tasks that nobody can fetch.

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { REVISIONS_2025, type Json } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult, callInEnvelope } from "./one-tool-upstream.ts";
import { startSseUpstream } from "./sse-upstream.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "declared");
const UI = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
const RAW = {
  elicitation: { form: { x: 1 }, url: {}, other: {} },
  sampling: { tools: {}, context: {} },
  roots: { listChanged: true },
  extensions: { ...UI, "io.modelcontextprotocol/tasks": {}, "com.example/unknown": { x: 1 } },
  experimental: { foo: {} },
  tasks: { requests: { elicitation: { create: {} } } },
  somethingElse: { a: 1 },
};
const CLEANED = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {}, extensions: UI };

/** What an upstream was told with, or before, the last call of it. */
function toldTo(up: OneToolUpstream): unknown {
  const name = up.era === "2026" ? "tools/call" : "initialize";
  const params = up.endpoint.exchanges.findLast((one) => one.name === name)?.message["params"] as Json;
  const result = up.era === "2026" ? (params["_meta"] as Json) : params;
  return result[up.era === "2026" ? "io.modelcontextprotocol/clientCapabilities" : "capabilities"];
}

async function declared(up: OneToolUpstream, revision: string, capabilities: Json): Promise<unknown> {
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const client = await tenant.client(revision, capabilities);
  const { result } = await client.request("tools/call", { name: "up__go", arguments: {} });
  expect(result["content"]).toBeDefined();
  return toldTo(up);
}

const upstreamOf = (era: "2025" | "2026") => OneToolUpstream.start(era, (one) => one.result(textResult(one, "done")));

describe.each([
  { era: "2025", revision: "2025-11-25" },
  { era: "2026", revision: "2026-07-28" },
] as const)("an upstream of era $era", ({ era, revision }) => {
  test("is told what it may ask, and of MCP Apps, and nothing else", async () => {
    expect(await declared(await upstreamOf(era), revision, RAW)).toEqual(CLEANED);
  });

  test("is told nothing where the client declares nothing that it may ask", async () => {
    const { extensions, experimental, tasks, somethingElse } = RAW;
    const capabilities = { extensions: { ...extensions, "io.modelcontextprotocol/ui": undefined } };
    expect(
      await declared(await upstreamOf(era), revision, { ...capabilities, experimental, tasks, somethingElse }),
    ).toEqual({});
  });

  test("of the other era than its client's is told of MCP Apps alone", async () => {
    const other = era === "2025" ? "2026-07-28" : "2025-11-25";
    expect(await declared(await upstreamOf(era), other, RAW)).toEqual({ extensions: UI });
  });
});

describe("an upstream of era 2025", () => {
  const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

  test.each(REVISIONS_2025.map((revision) => [revision]))(
    "is told nothing that %s has no word for",
    async (revision) => {
      const expected = {
        roots: {},
        sampling: revision < "2025-11-25" ? {} : { tools: {} },
        ...(revision >= "2025-06-18" && { elicitation: { form: {}, ...(revision >= "2025-11-25" && { url: {} }) } }),
      };
      expect(await declared(await upstreamOf("2025"), revision, ALL)).toEqual(expected);
    },
  );

  test.each(["2025-06-18", "2025-11-25"])(
    "is told of forms where a client of %s declares elicitation alone",
    async (revision) => {
      expect(await declared(await upstreamOf("2025"), revision, { elicitation: {} })).toEqual({
        elicitation: { form: {} },
      });
    },
  );

  test("over HTTP+SSE is told the same", async () => {
    const up = await startSseUpstream();
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
    const client = await tenant.client("2025-11-25", RAW);
    await client.request("tools/call", { name: "up__say", arguments: {} });
    expect(up.declared.at(-1)).toEqual(CLEANED);
  });
});

test("in an envelope an upstream of era 2026 is told the same", async () => {
  const up = await upstreamOf("2026");
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const { error } = await callInEnvelope(origin, tenant.id, { capabilities: RAW });
  expect(error).toBeUndefined();
  expect(toldTo(up)).toEqual(CLEANED);
});
