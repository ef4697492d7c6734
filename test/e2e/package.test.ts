// What is in the tarball and what its types say to a consumer. That it runs is shown by own-tools.test.ts.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packedPackage } from "../support/packed-package.ts";
import { blocksIn } from "../support/page-blocks.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONSUMER = `
import { admin, createWorker, defineTool } from "tenantry";
import { runTool, type TestRun } from "tenantry/testing";
import * as z from "zod";

const double = defineTool({
  name: "double",
  description: "Twice a number.",
  input: z.object({ n: z.number() }),
  handler: ({ n }, ctx) => \`\${n.toFixed(0)} for \${ctx.tenant.id}\`,
});

const worker = createWorker({ tools: [double], tenants: { acme: {} }, features: [admin()] });

export * from "tenantry/objects";

export const tried: Promise<TestRun> = runTool(double, { n: 2 }, { era: "2025", answers: { name: { name: "Ada" } } });

export default worker;
`;

/** A module that only defines, and one that makes a Worker of it: both are imported by tests in Node. */
const TOOLS = `
import { createWorker, definePrompt, defineTool, gateway } from "tenantry";
import * as z from "zod";
import "tenantry/zod-mini";
import * as mini from "zod/mini";

export const rename = defineTool({
  name: "rename",
  input: z.object({ id: z.string() }),
  handler: async ({ id }, ctx) => {
    ctx.progress(1, 2);
    const answer = await ctx.elicit("name", { message: "Which name?", schema: z.object({ name: z.string() }) });
    return answer.action === "accept" ? \`\${id} is \${answer.content.name}\` : "left";
  },
});
export const halve = defineTool({
  name: "halve",
  input: mini.object({ n: mini.int().check(mini.gte(2), mini.describe("What is halved.")) }),
  handler: ({ n }) => String(n / 2),
});
export const greet = definePrompt({ name: "greet", handler: () => "Hello" });
export * from "tenantry/objects";
export default createWorker({ tools: [rename], features: [gateway()] });
`;
const NODE_TEST = `
import assert from "node:assert/strict";
import test from "node:test";
import { runPrompt, runTool } from "tenantry/testing";
import { greet, halve, rename } from "./tools.js";

test("a tool of zod/mini is listed and checked", async () => {
  const { n } = halve.wire.inputSchema.properties;
  assert.deepEqual([n.type, n.minimum, n.description], ["integer", 2, "What is halved."]);
  assert.equal((await runTool(halve, { n: 4 })).text, "2");
  assert.match((await runTool(halve, { n: 1 })).text, /Too small/);
});

for (const era of ["2025", "2026"]) {
  test(\`rename asks, in era \${era}\`, async () => {
    const ran = await runTool(rename, { id: "7" }, { era, answers: { name: { name: "Ada" } } });
    assert.equal(ran.text, "7 is Ada");
    assert.deepEqual(ran.questions.map(({ name }) => name), ["name"]);
    assert.equal(ran.rounds, era === "2026" ? 2 : 1);
    assert.equal((await runPrompt(greet, {}, { era })).text, "Hello");
  });
}
`;

/** A package of tools, with no type named: the compiler writes declarations for what it infers. */
const INFERRED = `
import * as t from "tenantry";
import { runTool } from "tenantry/testing";
import * as z from "zod";
export { TenantObject } from "tenantry/objects";
const schema = z.object({ n: z.number() });
export const tool = t.defineTool({ name: "a", input: schema, output: schema, config: schema, handler: ({ n }, ctx) => ({ n: n + ctx.config.n }) });
export const bound = t.defineTool({ name: "b", handler: (_args, { env }: t.Context<{ A: string }, { s: string }>) => env.A });
export const prompt = t.definePrompt({ name: "p", arguments: { q: { required: true } }, handler: ({ q }) => q });
export const resource = t.defineResource({ uri: "a://b", name: "r", read: () => "x" });
export const template = t.defineTemplate({ uriTemplate: "o://{id}", name: "o", list: () => ({ resources: [] }), read: ({ id }) => id });
export const worker = t.createWorker({ tools: [tool], prompts: [prompt], resources: [resource, template], tenants: { acme: {} } });
export const settled = t.createWorker<Cloudflare.Env & { A: string }>({ settings: z.object({ s: z.string() }), tools: [bound] });
export const features = [t.admin(), t.gateway(), t.login(), t.links(), t.usage(), t.webhooks(), t.callAudit(), t.telemetry(), t.connectPage()];
export const outside = (env: t.Env) => worker.tenant(env, "acme");
export const called = (env: t.Env) => outside(env).callTool("a", {}, { as: { id: "x" } });
export const prompted = (env: t.Env) => outside(env).getPrompt("p", {}, { as: { id: "x" } });
export const ran = runTool(tool, { n: 1 });
export const elicited = (ctx: t.Context) => ctx.elicit("a", { message: "m", schema });
export const sampled = (ctx: t.Context) => ctx.sample("a", { messages: [], maxTokens: 3 });
export const asked = (ctx: t.Context) => ctx.ask({ roots: { method: "roots/list" } });
export const roots = (ctx: t.Context) => ctx.roots();
export const linked = (ctx: t.Context) => ctx.link("a", { name: "a" });
export const fetched = (ctx: t.Context) => ctx.fetch("https://example.com");
export const store = ({ resources, principal }: t.Context) => ({ resources, principal });
export const listed = (ctx: t.Context) => ctx.resources.list();
export const read = (ctx: t.Context) => ctx.resources.read("a");
export const found = (ctx: t.Context) => ctx.resources.search("a");
`;

interface Manifest {
  readonly version: string;
  readonly dependencies: Record<string, string>;
}

let unpacked: string;
let files: readonly string[];

beforeAll(async () => {
  ({ folder: unpacked, files } = await packedPackage());
});

/** Without the dependency in it, which npm on Node 20 would install with a warning. */
const ours = () => files.filter((path) => !path.startsWith("node_modules/eventsource-parser/"));

test("the tarball has the dependency that asks for a later Node than the package", () => {
  expect(files).toContain("node_modules/eventsource-parser/dist/index.js");
  expect(files).toContain("node_modules/eventsource-parser/LICENSE");
});

test("the tarball has JavaScript and declarations of the package, and what a reader wants, and nothing else", () => {
  expect(files).toEqual(expect.arrayContaining(["dist/tenantry.js", "dist/tenantry.d.ts", "LICENSE", "README.md"]));
  const others = ours()
    .filter((path) => !/^dist\/.*\.(js|d\.ts)$|^docs\/[\w-]+\.md$/.test(path))
    .toSorted();
  expect(others).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist/cli/licenses.txt", "package.json"]);
});

test("the tarball has neither the demo nor this repository's own Worker nor tests", () => {
  expect(files.filter((path) => /(?:^|\/)(?:demo|test)\/|\/worker\./.test(path))).toEqual([]);
});

test("a page that a message or the README names is in the tarball", () => {
  const speaking = files.filter((path) => /\.js$|^README\.md$|^docs\//.test(path));
  const named = speaking.flatMap((path) =>
    [...readFileSync(join(unpacked, path), "utf8").matchAll(/\bdocs\/[\w-]+\.md\b/g)].map(([page]) => page),
  );
  expect(new Set(named).size).toBeGreaterThan(15);
  expect([...new Set(named)].filter((page) => !files.includes(page))).toEqual([]);
});

describe("its README", () => {
  const readme = () => readFileSync(join(unpacked, "README.md"), "utf8");

  test("is for a person who installs it, not for one who has a checkout", () => {
    expect(readme()).toMatch(/^npx -y \.\/tenantry-0\.1\.0\.tgz init shop/m);
    expect(readme()).toMatch(/^npm install \.\/tenantry-0\.1\.0\.tgz zod$/m);
    expect(readme()).not.toMatch(/npm ci|npm run|npm start --/);
  });

  test("shows a Worker with a tool in 15 lines, which compiles as it stands", () => {
    const shown = blocksIn("README.md", readme()).filter(({ language }) => language === "ts");
    expect(shown).toHaveLength(1);
    const [{ text } = { text: "" }] = shown;
    expect(text.match(/.+/g)?.length).toBeLessThanOrEqual(15);
    expect(typecheck(text, "nodenext")).toEqual({ status: 0, output: "" });
    expect(typecheck(text.replace("weightKg }", "weight }"), "nodenext").output).toContain("weight");
  });
});

test("a page of it links to what is in it", () => {
  const links = ours()
    .filter((path) => path.endsWith(".md"))
    .flatMap((path) =>
      [...readFileSync(join(unpacked, path), "utf8").matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)].map(
        ([, to = ""]) => `${path}: ${join(dirname(path), to)}`,
      ),
    );
  expect(links.filter((link) => link.startsWith("README.md: docs/")).length).toBeGreaterThan(15);
  expect(links.filter((link) => !files.includes(link.split(": ")[1] ?? ""))).toEqual([]);
});

test("what dist imports is in dist or a dependency", () => {
  const manifest = manifestOf(unpacked);
  expect(Object.keys(manifest.dependencies).toSorted()).toEqual(["eventsource-parser", "hono", "jose", "zod"]);
  // An author who has another one must not get a second.
  expect(manifest.dependencies["zod"]).toBe("^4.6.6");
  const reached = reachedFrom("dist/tenantry.js");
  const wanted = files
    .filter((path) => path.endsWith(".js"))
    .flatMap((path) => importsIn(path).map((specifier) => ({ path, specifier })))
    // A program that is shown to people imports for them.
    .filter(({ path, specifier }) => specifier.startsWith(".") || path !== "dist/connect/recipes/programs.js");
  expect(wanted.length).toBeGreaterThan(50);
  const missing = wanted.filter(({ path, specifier }) =>
    specifier.startsWith(".")
      ? !files.includes(join(dirname(path), specifier))
      : !specifier.startsWith("cloudflare:") &&
        !(path.startsWith("dist/cli/") && specifier.startsWith("node:")) &&
        !(packageOf(specifier) in manifest.dependencies),
  );
  expect(missing).toEqual([]);
  expect(reached.size).toBeGreaterThan(50);
  // The contract of the admin API is evaluated when somebody calls it.
  expect([...reached].filter((path) => importsIn(path).includes("zod"))).toEqual([]);
});

test("what is made with it can be exported again by a package with declarations, though no type is named", () => {
  expect(typecheck(INFERRED, "nodenext", ["zod"], { declaration: true })).toEqual({ status: 0, output: "" });
  const inner = 'import type { Context } from "tenantry";\nexport const ask = ({ elicit }: Context) => elicit;\n';
  expect(typecheck(inner, "nodenext", ["zod"], { declaration: true }).output).toContain("cannot be named");
});

test("the command line runs with no other package beside it", () => {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-alone-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(unpacked, join(folder, "tenantry"), { recursive: true });
  writeFileSync(join(folder, "acme.yaml"), "tenants:\n  acme: { titel: Acme }\n");
  const main = join(folder, "tenantry/dist/cli/main.js");
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: "utf8" });

  expect(run("--version").stdout.trim()).toBe(manifestOf(unpacked).version);
  const { status, stderr } = run("apply", "-f", "acme.yaml", "--url", "http://127.0.0.1:9", "--token", "t".repeat(40));
  expect(stderr).toMatch(/^tenantry: .*acme\.yaml/);
  expect(status).toBe(2);
});

test("the licenses of what the command line has of others are beside it", () => {
  const text = readFileSync(join(unpacked, "dist/cli/licenses.txt"), "utf8");
  for (const name of ["commander", "yaml"]) expect(text).toMatch(new RegExp(`^${name}$`, "m"));
});

describe.each(["bundler", "nodenext"])("a consumer with moduleResolution %s", (resolution) => {
  test("type-checks without skipLibCheck", () => {
    const { status, output } = typecheck(CONSUMER, resolution);
    expect(output).toBe("");
    expect(status).toBe(0);
  });

  test("is told of a mistake in a handler's arguments", () => {
    const { status, output } = typecheck(CONSUMER.replace("n.toFixed(0)", "n.toUpperCase()"), resolution);
    expect(output).toContain("Property 'toUpperCase' does not exist on type 'number'");
    expect(status).not.toBe(0);
  });
});

describe("its client of the admin API", () => {
  const program = (title: string) => `
import { adminClient } from "tenantry/admin";
const admin = adminClient({ url: "https://mcp.example.com", token: "t" });
const made = await admin.request("POST /tenants", { body: { id: "acme", document: { ${title}: "Acme" } } });
export const url: string = made.url;
`;

  test.each([
    ["Workers", WORKERS],
    ["browsers", { types: [], lib: ["es2024", "dom", "dom.iterable"] }],
    ["Node", { types: ["node"], lib: ["es2024"] }],
  ])("type-checks with the types of %s alone", (_platform, platform) => {
    expect(typecheck(program("title"), "nodenext", ["zod", "@types/node", "undici-types"], platform).output).toBe("");
    expect(typecheck(program("titel"), "nodenext", ["zod", "@types/node", "undici-types"], platform).output).toContain(
      "titel",
    );
  });
});

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

test("what is imported in Node has every name that a Worker imports", () => {
  const namesIn = (path: string) => {
    const lists = readFileSync(join(unpacked, path), "utf8").matchAll(/^export \{([^}]*)\}/gm);
    const names = [...lists].flatMap(([, list = ""]) => list.split(","));
    return names
      .map((name) => name.trim().split(" ").at(-1) ?? "")
      .filter(Boolean)
      .toSorted();
  };
  const names = namesIn("dist/tenantry.js");
  expect(names).toContain("createWorker");
  expect(namesIn("dist/testing/definitions.js")).toEqual(names);
});

describe("a module that defines tools, where there is no Worker", () => {
  test.each([
    ["the newest zod", "zod"],
    ["the oldest zod that is supported", "zod-4.5"],
  ])("is imported and run by node:test, in both eras, with %s", (_which, zod) => {
    const folder = consumer([]);
    symlinkSync(join(ROOT, "node_modules", zod), join(folder, "node_modules/zod"), "dir");
    writeFileSync(join(folder, "tools.js"), TOOLS);
    writeFileSync(join(folder, "tools.test.js"), NODE_TEST);
    const run = spawnSync(process.execPath, ["--test", "--test-reporter=tap"], {
      cwd: folder,
      encoding: "utf8",
      // A test runner that runs in another says less.
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined },
    });
    expect(run.stdout).toContain("# pass 3");
    expect(run.status).toBe(0);
  });
});

test("a consumer that writes JSON Schema needs no zod", () => {
  const plain = CONSUMER.replace(/^import .* from "zod";$/m, "").replace(
    "z.object({ n: z.number() })",
    '{ type: "object", properties: { n: { type: "number" } }, required: ["n"] }',
  );
  expect(typecheck(plain, "nodenext", [])).toEqual({ status: 0, output: "" });
});

/** A folder outside this repository that has the package as npm would unpack it, with these of its dependencies. */
function consumer(dependencies: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-consumer-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, "node_modules");
  cpSync(unpacked, join(modules, "tenantry"), { recursive: true });
  for (const name of dependencies) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "dir");
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

const WORKERS = { types: ["@cloudflare/workers-types"], lib: ["es2024"] };

function typecheck(
  source: string,
  resolution: string,
  peers: readonly string[] = ["zod"],
  options: {
    readonly types?: readonly string[];
    readonly lib?: readonly string[];
    readonly declaration?: boolean;
  } = {},
): { status: number | null; output: string } {
  const folder = consumer(["@cloudflare/workers-types", "hono", ...peers]);
  const compilerOptions = {
    target: "es2024",
    module: resolution === "nodenext" ? "nodenext" : "esnext",
    moduleResolution: resolution,
    ...WORKERS,
    strict: true,
    skipLibCheck: false,
    outDir: "out",
    ...options,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["worker.ts"] }));
  writeFileSync(join(folder, "worker.ts"), source);
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, output: stdout };
}

/** What is loaded with a file of the package. */
function reachedFrom(start: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const path of reached) {
    for (const specifier of importsIn(path)) if (specifier.startsWith(".")) reached.add(join(dirname(path), specifier));
  }
  return reached;
}

function importsIn(path: string): string[] {
  const text = readFileSync(join(unpacked, path), "utf8");
  return [...text.matchAll(/^(?:import|export)\s[^;]*?\bfrom "([^"]+)";/gm)].map((match) => match[1] ?? "");
}

function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}
