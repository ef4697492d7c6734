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

test("an author's app of Hono has what our own two apps do not call", async () => {
  await written("{ sent: await c.req.json(), kept: (c.set('kept', 7), c.get('kept')) }");
  const { default: app } = (await import(join(folder, "worker.js"))) as {
    default: { fetch(request: Request): Promise<Response> };
  };
  const answered = await app.fetch(new Request("http://app.test/", { method: "POST", body: '{"a":1}' }));
  expect(await answered.json()).toEqual({ sent: { a: 1 }, kept: 7 });
  expect(await (await app.fetch(new Request("http://app.test/nowhere"))).text()).toBe("404 Not Found");
});

test.each(["http/app.ts", "admin/create-admin.ts"])("src/%s calls nothing of Hono that is left out", async (file) => {
  const code = await readFile(new URL(`../../src/${file}`, import.meta.url), "utf8");
  expect(
    code.match(/\bc\.(?:get|set|json|text|header|newResponse|notFound)\b|\bc\.req\.(?:json|text|url)\b/g),
  ).toBeNull();
  // Hono's own answers to what it does not find, and to errors, are left out too.
  expect(code).toMatch(/\bapp\.onError\(/);
  expect(code).toMatch(/\bapp\.(?:notFound\(|all\("\*")/);
});
