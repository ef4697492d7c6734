// Whoever installs the package reads the README that was written for them, in the tarball and at the registry, and the checkout has its own
// again afterwards. By npm itself, with this repository's scripts but for the build, and a registry that keeps what it is sent.

import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { shellEnvironment } from "../support/application.ts";

const ROOT = join(import.meta.dirname, "../..");
const CHECKOUT = "# How to start a checkout\n";
const PAGE =
  "# For you\n\n[start](start.md#here), [changes](../CHANGELOG.md), [web](https://example.com/a.md), [below](#below)\n";
const SHOWN =
  "# For you\n\n[start](docs/start.md#here), [changes](CHANGELOG.md), [web](https://example.com/a.md), [below](#below)\n";
const run = promisify(execFile);

function checkout(): { readonly folder: string; readonly readme: () => string } {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ours = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[]; scripts: object };
  const scripts = { ...ours.scripts, build: "echo built" };
  const manifest = { name: "readable", version: "1.0.0", type: "module", files: ours.files, scripts };
  mkdirSync(join(folder, "docs"));
  mkdirSync(join(folder, "scripts"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "README.md"), CHECKOUT);
  writeFileSync(join(folder, "docs/package.md"), PAGE);
  cpSync(join(ROOT, "scripts/package-readme.ts"), join(folder, "scripts/package-readme.ts"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "dir");
  return { folder, readme: () => readFileSync(join(folder, "README.md"), "utf8") };
}

function npm(folder: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> {
  const env = { ...shellEnvironment(), npm_config_cache: join(folder, ".npm"), npm_config_update_notifier: "false" };
  return run("npm", [...args], { cwd: folder, env });
}

/** Answers each upload with `status`. */
async function registry(status: number) {
  const sent: { readonly versions: Record<string, { readonly readme: string }> }[] = [];
  const server = createServer((request, response) => {
    if (request.method !== "PUT") return void response.writeHead(404).end("{}");
    void json(request).then((body) => {
      sent.push(body as (typeof sent)[number]);
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}/`;
  return { sent, options: [`--registry=http://${host}`, `--//${host}:_authToken=none`, "--fetch-retries=0"] };
}

it("npm pack packs the page as README, with links from there, and leaves the checkout's", async () => {
  const { folder, readme } = checkout();
  await npm(folder, "pack");
  const { stdout } = await run("tar", ["-xzOf", join(folder, "readable-1.0.0.tgz"), "package/README.md"]);
  expect(stdout).toBe(SHOWN);
  expect(readme()).toBe(CHECKOUT);
  const listed = await run("tar", ["-tzf", join(folder, "readable-1.0.0.tgz")]);
  expect(listed.stdout.trim().split("\n").toSorted()).toEqual(["package/README.md", "package/package.json"]);
});

it("npm publish sends it for the registry to show, too, and leaves the checkout's", async () => {
  const { folder, readme } = checkout();
  const { sent, options } = await registry(201);
  await npm(folder, "publish", ...options);
  expect(sent.map(({ versions }) => versions["1.0.0"]?.readme)).toEqual([SHOWN]);
  expect(readme()).toBe(CHECKOUT);
});

it("a publishing that failed can be tried again, and npm run postpack brings the checkout's back", async () => {
  const { folder, readme } = checkout();
  const { sent, options } = await registry(403);
  for (const _again of [1, 2]) await expect(npm(folder, "publish", ...options)).rejects.toThrow("403");
  expect(sent.map(({ versions }) => versions["1.0.0"]?.readme)).toEqual([SHOWN, SHOWN]);
  await npm(folder, "run", "postpack");
  expect(readme()).toBe(CHECKOUT);
  expect(existsSync(join(folder, ".checkout-README.md"))).toBe(false);
});
