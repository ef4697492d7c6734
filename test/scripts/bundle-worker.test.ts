// What the build step leaves out of a Worker, and that it does not where somebody would miss it.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

const run = promisify(execFile);
const STEP = fileURLToPath(new URL("../../scripts/bundle-worker.ts", import.meta.url));
const HONO = fileURLToPath(import.meta.resolve("hono"));

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bundle-worker-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** What is written for an app that answers with `what`, made of the request `c.req`. */
async function written(what: string): Promise<string> {
  const entry = join(folder, "entry.js");
  const app = `import { Hono } from ${JSON.stringify(HONO)};
    export default new Hono().post("/", async (c) => c.json(${what}));`;
  await writeFile(entry, app);
  await run(process.execPath, [STEP, entry, join(folder, "worker.js")]);
  return readFile(join(folder, "worker.js"), "utf8");
}

test("Hono's reader of forms and its mounting are left out of a Worker that has neither", async () => {
  const worker = await written("await c.req.json()");
  expect(worker).not.toContain("multipart/form-data");
  expect(worker).not.toContain("Invalid mounted path");
});

test("a Worker that reads forms by Hono has its reader, and no mounting", async () => {
  const worker = await written("await c.req.parseBody()");
  expect(worker).toContain("multipart/form-data");
  expect(worker).not.toContain("Invalid mounted path");
});

test("a Worker that mounts by Hono has its mounting", async () => {
  expect(await written("await new Hono().mount('/', fetch).fetch(c.req.raw)")).toContain("Invalid mounted path");
});
