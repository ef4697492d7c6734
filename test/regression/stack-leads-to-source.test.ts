// The log of a deployed Worker had errors without tenant, method or request, minified, and nothing that led back to the source:
// now each is a line of JSON, and the map that the build wrote leads from its stack to the files that threw.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mcpClient, ERAS } from "../support/mcp-client.ts";
import { readModules, startWorker, writeBundle, type OneWorker } from "../support/start-worker.ts";

const FIXTURE = "test/fixtures/authored-worker.ts";

let worker: OneWorker;
let folder: string;
let map: SourceMap;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tenantry-stack-"));
  await writeBundle("authored-worker", "production", folder);
  map = new SourceMap(JSON.parse(readFileSync(join(folder, "authored-worker.js.map"), "utf8")) as SourceMapPayload);
  worker = await startWorker(await readModules(folder, "authored-worker.js"));
});
afterAll(async () => {
  await worker.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** File and line of the source, of each place that a stack names. */
function sourcesOf(stack: string): readonly string[] {
  return [...stack.matchAll(/:(\d+):(\d+)\)?$/gm)].map(([, line, column]) => {
    const found = map.findEntry(Number(line) - 1, Number(column) - 1);
    if (!("originalSource" in found)) return "";
    const file = found.originalSource.replace(/^.*?((?:src|test\/fixtures)\/)/, "$1");
    return `${file}:${found.originalLine + 1}`;
  });
}

test.each(ERAS)("in era $era an error is one line, and its stack leads to file and line of the source", async (era) => {
  const client = await mcpClient(era.revision, `${worker.origin}/mcp/acme`);
  const { result } = await client.request("tools/call", { name: "fails", arguments: { how: "throw" } });
  const text = (result["content"] as { text: string }[])[0]?.text ?? "";
  const requestId = /under request ([\w-]+)/.exec(text)?.[1] ?? "none";
  const lineOf = () =>
    worker
      .log()
      .split("\n")
      .find((line) => line.startsWith("{") && line.includes(requestId));
  await expect.poll(lineOf).toBeDefined();
  const { stack, ...told } = JSON.parse(lineOf() ?? "") as Record<string, string>;
  expect(told).toMatchObject({
    message: `acme: tools/call fails, request ${requestId}: Error: D1_ERROR: no such table: tickets`,
    tenant: "acme",
    profile: null,
    method: "tools/call",
    name: "fails",
    requestId,
  });
  const lines = readFileSync(FIXTURE, "utf8").split("\n");
  const thrown = lines.findIndex((line) => line.includes("throw new Error(DATABASE)")) + 1;
  const sources = sourcesOf(stack ?? "");
  expect(sources[0]).toBe(`${FIXTURE}:${thrown}`);
  expect(sources.some((source) => /^src\/[\w/-]+\.ts:\d+$/.test(source))).toBe(true);
});
