// The program of docs/admin-client.md, run as its reader runs it: in Node and in a Worker of its own, against a running Worker.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, NoOpLog } from "miniflare";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { bearer } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026 } from "../support/mcp-client.ts";
import { pageBlocks } from "../support/page-blocks.ts";
import { projectOf } from "../support/page-project.ts";

const origin = fixtureOrigin();
const server = JSON.stringify({ url: origin, token: ADMIN_TOKEN });
const uniqueId = () => `t-${crypto.randomUUID().slice(0, 8)}`;

const NODE = `
import { signUp } from "./sign-up.ts";
console.log(JSON.stringify(await signUp(process.argv[2], "Acme", ${server})));
`;

const WORKER = `
import { signUp } from "./sign-up.ts";
export default {
  fetch: async (request) => Response.json(await signUp(new URL(request.url).pathname.slice(1), "Acme", ${server})),
};
`;

function project(): string {
  const block = pageBlocks().find(({ page, language }) => page === "docs/admin-client.md" && language === "ts");
  return projectOf(
    new Map([
      ["sign-up.ts", block?.text ?? ""],
      ["node.ts", NODE],
      ["worker.ts", WORKER],
    ]),
  );
}

async function expectServed(made: { url: string; key: string }, id: string): Promise<void> {
  expect(made.url).toBe(`${origin}/mcp/${id}`);
  const { result } = await client2026(made.url, {}, {}, bearer(made.key)).request("tools/list");
  expect(result).toHaveProperty("tools");
}

test("a program in Node makes a tenant whose key is served", async () => {
  const id = uniqueId();
  const { stdout, stderr } = spawnSync(process.execPath, [join(project(), "node.ts"), id], { encoding: "utf8" });
  expect(stderr).toBe("");
  await expectServed(JSON.parse(stdout) as { url: string; key: string }, id);
});

test("a Worker makes a tenant whose key is served, with nothing of zod in its bundle", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(project(), "worker.ts")],
    bundle: true,
    format: "esm",
    write: false,
    metafile: true,
  });
  expect(Object.keys(metafile.inputs)).toHaveLength(3);
  const script = outputFiles[0]?.text ?? "";
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ log: new NoOpLog(), modules: true, script, compatibilityDate: "2026-11-17" }),
  );
  onTestFinished(() => miniflare.dispose());
  const id = uniqueId();
  const response = await miniflare.dispatchFetch(`http://sign-up.example/${id}`);
  await expectServed((await response.json()) as { url: string; key: string }, id);
});
