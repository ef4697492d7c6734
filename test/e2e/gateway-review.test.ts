// An upstream whose definitions change under `trust: review`, over real HTTP, with the decisions made on the command line;
// the upstreams beside it are unaffected.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { CommandLine } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { startUpstream } from "../support/upstream.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "review");

async function commandLine(): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-review-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return new CommandLine(folder, { TENANTRY_URL: origin, TENANTRY_TOKEN: ADMIN_TOKEN });
}

const tool = (description: string): Json => ({ name: "go", description, inputSchema: { type: "object" } });

test("what changes behind an approval waits, is shown to the last character, and changes nothing until it is approved", async () => {
  let listed = tool("Goes.");
  const endpoint = await ScriptedServer.start((exchange: Exchange) => {
    const about = { supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } };
    if (exchange.name === "server/discover") exchange.result(about);
    else if (exchange.name === "tools/list") exchange.result({ tools: [listed] });
    else if (exchange.name === "tools/call") {
      const result = { resultType: "complete", content: [{ type: "text", text: "went" }] };
      const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
      exchange
        .stream()
        .raw(`data: ${JSON.stringify(changed)}\n\n`)
        .raw(`data: ${JSON.stringify({ jsonrpc: "2.0", id: exchange.message["id"], result })}\n\n`)
        .end();
    } else exchange.refuse(400);
  });
  const beside = await startUpstream({ ok: () => ({ content: [{ type: "text", text: "beside" }] }) });
  onTestFinished(() => beside.close());
  const up = { url: endpoint.url, era: "2026", trust: "review" };
  const tenant = await gatewayTenant(origin, admin, { beside: { url: beside.url }, up });
  const client = await tenant.client();
  const cli = await commandLine();
  const listing = async () => (await client.request("tools/list")).result;
  expect(namesIn(await listing())).toEqual(["beside__ok"]);
  expect(missingOf(await listing())).toEqual([{ source: "up", why: "1 definition waits for approval" }]);

  const first = await cli.run(["upstream", "pending", tenant.id, "up"]);
  expect(first.stdout).toMatch(/^[\w-]{22} {2}new {2}tools go\n[^]*\+ description: "Goes\."\n/);
  const approved = await cli.run(["upstream", "approve", tenant.id, "up", "--all", "--yes", "--wait"]);
  expect(approved).toMatchObject({ exit: 0, stdout: `up of ${tenant.id}: 1 definition approved\n` });
  expect(namesIn(await listing())).toEqual(["beside__ok", "up__go"]);

  listed = tool("Goes.\u200b\u{e0041}\u202e");
  await client.request("tools/call", { name: "up__go", arguments: {} });
  const pending = async () => {
    await listing();
    return (await cli.run(["upstream", "pending", tenant.id, "up"])).stdout;
  };
  await expect.poll(pending, { timeout: 30_000 }).toContain("changed  tools go");
  expect(await pending()).toContain(String.raw`~ description: "Goes." → "Goes.\u{200b}\u{e0041}\u{202e}"`);
  expect(await listing()).toMatchObject({ tools: [{}, { name: "up__go", description: "Goes." }] });
  expect(await pending()).toContain("! has invisible characters");
  const unnamed = await cli.run(["upstream", "approve", tenant.id, "up", "--all", "--yes"]);
  expect(unnamed.exit).toBe(1);
  expect(unnamed.stderr).toContain("1 flagged definition of up left out: approve flagged definitions by their digests");
  expect(unnamed.stdout).toContain("0 definitions approved");

  const digest = /^[\w-]{22}/.exec(await pending())?.[0] ?? "";
  const stale = await cli.run(["upstream", "approve", tenant.id, "up", digest.split("").toReversed().join("")]);
  expect(stale).toMatchObject({ exit: 5, stderr: expect.stringContaining("list them again") as string });
  const rejected = await cli.run(["upstream", "reject", tenant.id, "up", digest, "--wait"]);
  expect(rejected.stdout).toContain("1 definition rejected");
  expect(missingOf(await listing())).toEqual([]);
  expect(await pending()).toContain("rejected  tools go");
  const { result } = await client.request("tools/call", { name: "beside__ok", arguments: {} });
  expect(result["content"]).toEqual([{ type: "text", text: "beside" }]);
});

test("a decision names digests, or all of them, and nobody decides unasked", async () => {
  const cli = await commandLine();
  for (const more of [[], ["abc", "--all"]]) {
    const { exit, stderr } = await cli.run(["upstream", "approve", "acme", "up", ...more]);
    expect(exit).toBe(2);
    expect(stderr).toContain("give digests");
  }
});
