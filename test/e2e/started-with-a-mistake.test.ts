// A Worker with a mistake in a definition, started on this machine as its author starts it: it comes up, says the mistake
// once, answers every request with it, and serves as soon as the file is corrected.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { startApplication } from "../support/application.ts";
import { INITIALIZE } from "../support/stdio-client.ts";
import { post, type Json } from "../support/mcp-client.ts";
import { MAIN } from "../support/official-stdio-clients.ts";

const ROOT = join(import.meta.dirname, "../..");
const SAYS = 'tool "wrong": input.when: Date cannot be represented in JSON Schema';
const MISTAKE = { jsonrpc: "2.0", error: { code: -32603, message: expect.stringContaining(SAYS) } };

let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "tenantry-mistake-"));
  await symlink(join(ROOT, "node_modules"), join(project, "node_modules"), "dir");
  await cp(join(ROOT, "examples/own-tools/wrangler.toml"), join(project, "wrangler.toml"));
  await mkdir(join(project, "src"));
});

beforeEach(() => write("z.date()"));

afterAll(() => rm(project, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

/** The Worker's only file. The tool is defined on its line 5. */
async function write(when: string, demo = "{}", features = "[admin()]"): Promise<void> {
  const source = `export * from ${JSON.stringify(join(ROOT, "src/objects.ts"))};
import { admin, createWorker, defineTool } from ${JSON.stringify(join(ROOT, "src/tenantry.ts"))};
import * as z from "zod";
const input = z.object({ when: ${when} });
const wrong = defineTool({ name: "wrong", input, handler: () => "" });
export default createWorker({ tools: [wrong], tenants: { demo: ${demo} }, features: ${features} });
`;
  await writeFile(join(project, "src/worker.ts"), source);
}

test("npm start says the mistake once, above the banner, and serves when it is corrected", async () => {
  const application = await startApplication(join(project, "state"), undefined, [
    "--config",
    join(project, "wrangler.toml"),
  ]);
  onTestFinished(() => application.stop());
  expect(application.output().split("MCP endpoint")[0]).toContain(SAYS);
  const list = async () => {
    const { messages } = await post(`${application.origin}/mcp/demo`, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    return messages;
  };
  for (let requestCount = 0; requestCount < 5; requestCount += 1) {
    expect(await list()).toEqual([{ ...MISTAKE, id: 1 }]);
  }
  // What the Worker writes comes through another pipe than its answers, so it may come later than they do.
  const stacks = () => application.output().match(/TypeError: tool "wrong".*/g);
  await vi.waitFor(() => expect(stacks(), application.output()).toHaveLength(1), 30_000);
  expect(application.output()).toMatch(/src\/worker\.ts:5:/);
  await write("z.iso.date()");
  await vi.waitFor(
    async () => expect(await list()).toMatchObject([{ result: { tools: [{ name: "wrong" }] } }]),
    30_000,
  );
  expect(stacks(), application.output()).toHaveLength(1);
});

test.each([
  ["[admin]", "createWorker: features[0] must be a feature: pass the result of a call, such as admin()"],
  ["[admin()], tenant: 1", 'did you mean "tenants"?'],
])("a Worker with features: %s comes up and answers with the mistake", async (features, says) => {
  await write("z.iso.date()", undefined, features);
  const config = ["--config", join(project, "wrangler.toml")];
  const application = await startApplication(join(project, "options"), undefined, config);
  onTestFinished(() => application.stop());
  const { messages } = await post(`${application.origin}/mcp/demo`, { jsonrpc: "2.0", id: 1, method: "tools/list" });
  expect(messages).toMatchObject([{ error: { message: expect.stringContaining(says) as string } }]);
});

test("stdio --local answers its client with the mistake, and says it on stderr", async () => {
  const state = join(project, "local");
  const args = [MAIN, "stdio", "--local", "--project", project, "--state", state, "--quiet"];
  const bridge = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(bridge, "exit");
  let output = "";
  bridge.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  bridge.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE })}\n`);
  const [line] = (await once(createInterface({ input: bridge.stdout }), "line")) as [string];
  expect(JSON.parse(line) as Json).toEqual({ ...MISTAKE, id: INITIALIZE.id });
  expect(output).toContain(`tenantry: the Worker cannot serve yet: ${SAYS}`);
  bridge.stdin.end();
  expect(await ended).toEqual([0, null]);
});
