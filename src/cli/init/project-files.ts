// The files of a new project: a Worker with a tool of its own, a test for it, and the wrangler configuration. Only
// what a first day needs; docs/ has the rest.

export interface ProjectOptions {
  /** The name of the Worker and of the package: lower-case letters, digits and hyphens. */
  readonly name: string;
  /** The npm specifier of tenantry: a version, or the path of a tarball. */
  readonly source: string;
  /** Versions by package, as tested with this release of tenantry. */
  readonly versions: Readonly<Record<string, string>>;
  readonly adminToken: string;
  readonly secretsKey: string;
}

const DEPENDENCIES = ["zod"];
const DEV_DEPENDENCIES = ["@cloudflare/workers-types", "typescript", "vitest", "wrangler"];
export const PINNED_PACKAGES: readonly string[] = [...DEPENDENCIES, ...DEV_DEPENDENCIES];

/** Holds secrets, so only the owner may read it. */
export const SECRET_FILE = ".dev.vars";

/** Templates are indented in this file, so that no tool takes an import of the new project for one of this package. */
function dedent(indented: string): string {
  return indented.slice(1).replaceAll(/^ {2}/gm, "");
}

/** File contents by path, with forward slashes. */
export function projectFiles(options: ProjectOptions): ReadonlyMap<string, string> {
  return new Map([
    ["package.json", `${JSON.stringify(createManifest(options), null, 2)}\n`],
    ["tsconfig.json", `${JSON.stringify(TYPESCRIPT, null, 2)}\n`],
    ["wrangler.toml", WRANGLER.replace("NAME", options.name)],
    [SECRET_FILE, `ADMIN_TOKEN=${options.adminToken}\nSECRETS_KEY=${options.secretsKey}\n`],
    [".gitignore", ["node_modules/", ".wrangler/", ".tenantry/", SECRET_FILE, ""].join("\n")],
    ["src/tools.ts", TOOLS],
    ["src/worker.ts", WORKER.replaceAll("NAME", options.name)],
    ["test/tools.test.ts", TEST],
    ["README.md", README.replaceAll("NAME", options.name)],
  ]);
}

function createManifest({ name, source, versions }: ProjectOptions): unknown {
  const pinned = (names: readonly string[]) => Object.fromEntries(names.map((one) => [one, versions[one] ?? "*"]));
  return {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    scripts: {
      start: "wrangler dev",
      check: "tsc",
      test: "vitest run",
      tenantry: "tenantry",
      deploy: "wrangler deploy",
    },
    engines: { node: ">=22.12" },
    dependencies: { tenantry: source, ...pinned(DEPENDENCIES) },
    devDependencies: pinned(DEV_DEPENDENCIES),
    // wrangler's own binaries. npm warns about install scripts that are not listed.
    allowScripts: { esbuild: true, workerd: true },
  };
}

const TYPESCRIPT = {
  compilerOptions: {
    target: "ES2024",
    lib: ["ES2024"],
    module: "nodenext",
    types: ["@cloudflare/workers-types"],
    strict: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["src", "test"],
};

const WRANGLER = dedent(`
  name = "NAME"
  main = "src/worker.ts"
  compatibility_date = "2026-10-01"
  compatibility_flags = ["global_fetch_strictly_public"]
  minify = true
  upload_source_maps = true
  # Bodies of resources. The first deployment makes the namespace.
  kv_namespaces = [{ binding = "BODIES" }]

  [dev]
  port = 8362

  # The classes of tenantry/objects: the same whatever features the Worker has.
  [[migrations]]
  tag = "v1"
  new_sqlite_classes = ["TenantObject", "ContentObject", "SessionObject", "HubObject", "DirectoryObject", "PlatformObject", "UpstreamObject"]

  [observability]
  enabled = true
`);

const TOOLS = dedent(`
  // A tool is one function. It knows no Worker, so test/tools.test.ts runs it in plain Node.
  import { defineTool } from "tenantry";
  import * as z from "zod";

  export const countWords = defineTool({
    name: "count_words",
    title: "Count words",
    description: "Counts the words and characters of a text.",
    annotations: { readOnlyHint: true, openWorldHint: false },
    input: z.object({ text: z.string().max(100_000).describe("What is counted.") }),
    output: z.object({ words: z.number(), characters: z.number() }),
    handler: ({ text }) => ({ words: text.match(/\\S+/g)?.length ?? 0, characters: text.length }),
  });
`);

const WORKER = dedent(`
  // The Worker: its tools, and the tenants that it begins with. More are made while it runs: npx tenantry tenant create
  import { admin, createWorker } from "tenantry";
  import { countWords } from "./tools.ts";

  export * from "tenantry/objects";

  export default createWorker({
    name: "NAME",
    version: "0.1.0",
    tools: [countWords],
    // Open to everybody who knows the URL, /mcp/demo.
    tenants: { demo: { title: "NAME" } },
    features: [admin()],
  });
`);

const TEST = dedent(`
  import { runTool } from "tenantry/testing";
  import { expect, test } from "vitest";
  import { countWords } from "../src/tools.ts";

  // Clients are of either era, and the tool is written once.
  test.each(["2025", "2026"] as const)("words are counted in era %s", async (era) => {
    const ran = await runTool(countWords, { text: "one  two\\nthree" }, { era });
    expect(ran.errors).toEqual([]);
    expect(ran.structured).toEqual({ words: 3, characters: 14 });
  });

  test("what is no text is refused before the tool sees it", async () => {
    expect(await runTool(countWords, { text: 7 })).toMatchObject({ isError: true, errors: [] });
  });
`);

const README = dedent(`
  # NAME

  An MCP server for many tenants, on Cloudflare Workers, made with tenantry. You need Node 22.12 or newer.

      npm install
      npm test
      npm run check
      npm start

  The test runs the tool in plain Node, \`check\` looks at the types, and \`npm start\` serves http://localhost:8362/mcp/demo. In another shell, while it runs:

      npx tenantry call demo count_words text="one two"
      npx tenantry connect demo --client claude-code
      npx tenantry doctor demo

  For another port: \`npm start -- --port 8371\`, and \`export TENANTRY_URL=http://localhost:8371\` in the other shell.

  A tenant of its own, whose callers need a key:

      npx tenantry tenant create acme --title "Acme Inc."
      npx tenantry key create acme --name laptop
      npx tenantry connect acme --client cursor

  Tools are in \`src/tools.ts\`, tenants and features in \`src/worker.ts\`. \`.dev.vars\` holds an operator's token, which \`npx tenantry\` finds here, and the
  key that seals tenants' secrets, for this machine alone; git does not see it.

  To deploy:

      npx wrangler deploy
      npx wrangler secret put ADMIN_TOKEN
      npx wrangler secret put SECRETS_KEY

  The first deployment makes the KV namespace. \`ADMIN_TOKEN\` has 32 characters or more (\`openssl rand -hex 32\`), \`SECRETS_KEY\` is 32 bytes in
  base64url: keep it, for without it tenants' secrets are lost.

  More is in \`node_modules/tenantry/docs/\`: \`api.md\` for tools, \`clients.md\` for clients, \`operations.md\` for what comes after.
`);
