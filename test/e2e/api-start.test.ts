// docs/api-start.md, done word for word in an empty folder: its files, what it installs, its tests, its call and its deployment. And
// what it says of a Worker in JavaScript and of one with admin().

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { ExampleProject } from "../support/example-project.ts";

const ROOT = join(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/api-start.md"), "utf8");

/** Of this repository: what the page installs is the newest. */
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};

function installed(line: RegExp): Record<string, string> {
  const shown = line.exec(page)?.[1] ?? "";
  const names = shown
    .replaceAll("@latest", "")
    .replace(/\S+\.tgz/, "tenantry")
    .split(" ");
  expect(names.length).toBeGreaterThan(1);
  return Object.fromEntries(names.map((name) => [name, devDependencies[name] ?? ""]));
}

function filesOfPage(): ReadonlyMap<string, string> {
  const blocks = page.matchAll(/^```(?:ts|toml|json)\n(?:\/\/|#) (\S+)\n([\s\S]*?)^```$/gm);
  const manifest = {
    name: "shop",
    type: "module",
    dependencies: installed(/^npm install (\S+\.tgz .*)$/m),
    devDependencies: installed(/^npm install --save-dev (.*)$/m),
  };
  return new Map([
    ...Array.from(blocks, ([, name = "", text = ""]) => [name, text] as const),
    ["package.json", JSON.stringify(manifest)],
  ]);
}

/** The call of the page, at the server that runs. */
async function called(base: string): Promise<unknown> {
  const [, version = "", body = ""] = /'MCP-Protocol-Version: ([^']+)' \\\n {2}-d '(.*)'/.exec(page) ?? [];
  const headers = { "content-type": "application/json", "mcp-protocol-version": version };
  const response = await fetch(`${base}/mcp/demo`, { method: "POST", headers, body });
  return response.json();
}

const ANSWER = { result: { structuredContent: { price: 7, currency: "EUR" } } };

describe("docs/api-start.md", () => {
  let project: ExampleProject;

  beforeAll(async () => {
    project = await ExampleProject.ofFiles("shop", filesOfPage());
  }, 180_000);

  afterAll(() => project.end(), 30_000);

  test("names what every Worker needs, in its wrangler.toml", () => {
    const toml = filesOfPage().get("wrangler.toml") ?? "";
    const classes = /new_sqlite_classes = \[([^\]]*)\]/.exec(toml)?.[1]?.match(/\w+/g)?.toSorted();
    expect(classes).toEqual(OBJECT_CLASSES.toSorted());
    expect(toml).toContain('binding = "BODIES"');
  });

  test("type-checks, passes its tests and would be deployed", async () => {
    await project.run("tsc");
    expect(await project.run("vitest", "run")).toMatch(/Tests\s+\d+ passed/);
    expect(await project.run("wrangler", "deploy", "--dry-run")).toContain("--dry-run: exiting now");
  }, 180_000);

  test("is called with its own command, and answers what it says", async () => {
    expect(page).toContain(JSON.stringify(ANSWER.result).slice(1, -1));
    expect(await called(await project.start())).toMatchObject(ANSWER);
  }, 120_000);
});

describe.each([
  [
    "in JavaScript",
    (files: ReadonlyMap<string, string>) =>
      new Map([...files].map(([name, text]) => [name.replace(/\.ts$/, ".js"), text.replaceAll(/\.ts\b/g, ".js")])),
  ],
  [
    "with admin(), by the line that it has for that",
    (files: ReadonlyMap<string, string>) => {
      const [line = ""] = /^ {4}export default createWorker.*\n$/m.exec(page) ?? [];
      const imports = `import { admin, createWorker } from "tenantry";\nimport { quote } from "./tools.ts";\n`;
      return new Map([...files, ["src/worker.ts", `${imports}export * from "tenantry/objects";\n${line}`]]);
    },
  ],
])("the same Worker %s", (_what, changed) => {
  test("answers the same", async () => {
    const project = await ExampleProject.ofFiles("shop", changed(filesOfPage()));
    onTestFinished(() => project.end());
    expect(await called(await project.start())).toMatchObject(ANSWER);
  }, 180_000);
});
