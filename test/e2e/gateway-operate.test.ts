// Operating upstreams over real HTTP: from `tenantry upstream add` to a tool that a client calls, and the commands of
// docs/gateway-operate.md as its reader types them.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import type { Infer, UpstreamShape } from "../../src/admin/contract.ts";
import { CommandLine } from "../support/command-line.ts";
import { namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient } from "../support/mcp-client.ts";
import { startUpstream, type UpstreamTool } from "../support/upstream.ts";

const PAGE = join(import.meta.dirname, "../../docs/gateway-operate.md");
/** From `add` to a tool that is there. */
const VISIBLE_WITHIN_MS = 10_000;

const origin = await startGatewayWorker();

async function upstreamOf(tools: Readonly<Record<string, UpstreamTool>>) {
  const upstream = await startUpstream(tools);
  onTestFinished(() => upstream.close());
  return upstream;
}

async function commandsIn(): Promise<{ cli: CommandLine; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-upstreams-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, cli: new CommandLine(folder, { HOME: folder, TENANTRY_URL: origin, TENANTRY_TOKEN: ADMIN_TOKEN }) };
}

const found: UpstreamTool = () => ({ content: [{ type: "text", text: "found" }] });

test("from add to a tool that clients of a tenant in use list and call, within ten seconds and with nothing to wait for", async () => {
  const { cli } = await commandsIn();
  const upstream = await upstreamOf({ search: found });
  expect((await cli.run(["tenant", "create", "timed", "--mode", "open"])).exit).toBe(0);
  // Leases as long as they usually are, one of which began just before.
  const client = await mcpClient("2025-11-25", `${origin}/mcp/timed`);
  expect(namesIn((await client.request("tools/list")).result)).toEqual([]);
  const began = Date.now();
  const added = await cli.run(["upstream", "add", "timed", "tracker", upstream.url]);
  expect(added).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^state +fresh$/m) as string });
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["tracker__search"]);
  expect(Date.now() - began).toBeLessThan(VISIBLE_WITHIN_MS);
  const { result } = await client.request("tools/call", { name: "tracker__search", arguments: {} });
  expect(result["content"]).toEqual([{ type: "text", text: "found" }]);
  expect((await cli.run(["upstream", "remove", "timed", "tracker", "--yes"])).exit).toBe(0);
  expect(namesIn((await client.request("tools/list")).result)).toEqual([]);
});

test("an upstream that goes away is shown as last good, with why, and its tools stay", async () => {
  const { cli } = await commandsIn();
  const upstream = await upstreamOf({ search: found });
  await cli.run(["tenant", "create", "lost", "--mode", "open"]);
  expect((await cli.run(["upstream", "add", "lost", "tracker", upstream.url])).exit).toBe(0);
  upstream.close();
  const { exit, stderr } = await cli.run(["upstream", "refresh", "lost", "tracker", "--wait"]);
  expect([exit, stderr]).toEqual([1, expect.stringMatching(/could not be read: .*(lost|reached)/)]);
  const shown = await cli.json<Infer<typeof UpstreamShape>>("upstream", "show", "lost", "tracker");
  expect(shown).toMatchObject({ state: "lastGood", content: { counts: { tools: 1 } } });
  const { stdout } = await cli.run(["explain", "lost", "tool", "tracker__search"]);
  expect(stdout).toMatch(/source tracker: .*(lost|reached).* since .*, with the definitions of that time/);
  const tested = await cli.run(["upstream", "test", "lost", "tracker"]);
  expect([tested.exit, tested.stdout]).toEqual([1, expect.stringMatching(/^works +no$/m)]);
  const client = await mcpClient("2026-07-28", `${origin}/mcp/lost`);
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["tracker__search"]);
});

/** The words of a line as a shell has them, as far as the page needs: double quotes. */
const wordsOf = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

test("docs/gateway-operate.md: its commands, in their order", async () => {
  const { cli, folder } = await commandsIn();
  const upstream = await upstreamOf({ search: found });
  await writeFile(join(folder, "token.txt"), "hush\n");
  const [, block = ""] = /^## The commands\n\n```sh\n(.*?)^```$/ms.exec(await readFile(PAGE, "utf8")) ?? [];
  const said = new Map<string, string>();
  for (const line of block.trim().split("\n")) {
    const [program, ...args] = wordsOf(line.replace("https://mcp.example.com/mcp", upstream.url));
    expect(program).toBe("tenantry");
    const { exit, stdout, stderr } = await cli.run(args);
    expect({ line, exit, stderr }).toEqual({ line, exit: 0, stderr: "" });
    said.set(args.slice(0, 2).join(" "), stdout);
  }
  expect(said.get("upstream list")).toMatch(/^tracker +fresh +\d{4} +1 +0 +0 +0 /m);
  expect(said.get("upstream show")).toMatch(/^headers +Authorization$/m);
  expect(said.get("upstream test")).toMatch(/^works +yes$/m);
  expect(said.get("explain acme")).toContain("tracker__search");
  expect([...said.values()].join("\n")).not.toContain("hush");
  expect(new Set(upstream.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer hush"]));
});
