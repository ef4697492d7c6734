// What `wrangler deploy` uploads, which wrangler.toml names as its build step: a Worker as one file, in fewer bytes than
// wrangler makes of it, with a map to its source. For `wrangler dev` it is made the same way, since both may run at once, but
// says that this is development, as wrangler does. Arguments: the Worker's entry, and the file to write.

import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { parse, transform, type Module, type Options } from "@swc/core";
import { build, type Plugin } from "esbuild";
import { alikeOrder } from "./alike-order.ts";
import { movableStatements } from "./movable-statements.ts";
import { nearerOrder } from "./nearer-order.ts";
import { shortenSql } from "./short-sql.ts";
import { declaredTogether, shortenCalls } from "./short-syntax.ts";

const TARGET = "es2024";

type Minify = Pick<NonNullable<NonNullable<Options["jsc"]>["minify"]>, "compress">;

interface Written {
  readonly code: string;
  /** The source map, as JSON. */
  readonly map: string;
}

/** Whether mistakes in definitions keep the Worker from starting, or are told to whoever asks it: src/deployment. */
const MODE = process.env["NODE_ENV"] ?? (process.env["WRANGLER_COMMAND"] === "dev" ? "development" : "production");

interface Uncalled {
  /** A module of Hono's. */
  readonly file: RegExp;
  readonly exported: string;
  readonly call: RegExp;
}

/**
 * What Hono's requests and apps bring along, and hardly a Worker calls: its reader of forms, because bodies are read within
 * limits of ours (docs/decisions/0065), and its mounting of other frameworks.
 */
const UNCALLED: readonly Uncalled[] = [
  { file: /\bhono\/dist\/utils\/body\.js$/, exported: "parseBody", call: /\.parseBody\b/ },
  { file: /\bhono\/dist\/utils\/mount\.js$/, exported: "createMountedRequest", call: /\.mount\b/ },
];

const without = (uncalled: readonly Uncalled[]): Plugin => ({
  name: "without-uncalled",
  setup: (step) => {
    for (const { file, exported } of uncalled) {
      step.onLoad({ filter: file }, () => ({
        contents: `export function ${exported}() { throw new Error('${exported} of Hono is left out here') }`,
      }));
    }
  },
});

/**
 * As wrangler bundles for a deployment: its target, its conditions, its text modules, its constants. Once more with what is called
 * after all.
 */
async function bundled(entry: string, outfile: string, uncalled = UNCALLED): Promise<Written> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    write: false,
    minify: true,
    sourcemap: "external",
    format: "esm",
    platform: "browser",
    target: TARGET,
    supported: { "import-source": true, using: true },
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    plugins: [without(uncalled)],
    loader: { ".md": "text" },
    define: {
      "process.env.NODE_ENV": JSON.stringify(MODE),
      "navigator.userAgent": '"Cloudflare-Workers"',
    },
  });
  const text = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  const code = text(".js");
  const others = uncalled.filter(({ call }) => !call.test(code));
  if (others.length < uncalled.length) return bundled(entry, outfile, others);
  return { code, map: text(".js.map") };
}

/**
 * esbuild gives names by how often they are used in all of the file; here each function begins with the same few, so that
 * functions that are alike read alike, which is what compresses. Nothing that is called unsafe: see docs/decisions/0065.
 */
async function minified({ code, map }: Written): Promise<Written> {
  // `passes: 0`: until another one changes nothing.
  return written(code, map, { compress: { passes: 0, ecma: 2020, toplevel: true } });
}

/** SQL and calls in fewer characters; the same statements, those near each other that are alike, and names given anew in this order: docs/decisions/0076, 0094. */
async function arranged({ code, map }: Written): Promise<Written> {
  const module = await parse(code, { syntax: "ecmascript", target: TARGET });
  shortenSql(module);
  shortenCalls(module);
  const order = nearerOrder(alikeOrder(movableStatements(module, code)));
  module.body = declaredTogether(order.map(({ item }) => item));
  forgetScopes(module);
  return written(module, map, { compress: false });
}

/** Scopes are numbered by each run for itself, and one does not know another's numbers. */
function forgetScopes(tree: unknown): void {
  if (typeof tree !== "object" || tree === null) return;
  if ("ctxt" in tree) tree.ctxt = 0;
  for (const part of Object.values(tree)) forgetScopes(part);
}

async function written(program: string | Module, inputSourceMap: string, minify: Minify): Promise<Written> {
  const { code, map } = await transform(program, {
    configFile: false,
    swcrc: false,
    isModule: true,
    minify: true,
    sourceMaps: true,
    inputSourceMap,
    jsc: {
      target: TARGET,
      ...(typeof program === "string" && { parser: { syntax: "ecmascript" } }),
      minify: { module: true, mangle: { toplevel: true }, ...minify },
    },
  });
  if (map === undefined) throw new Error("the minifier wrote no source map");
  return { code, map };
}

/** Whoever reads while another command builds must find a whole one. */
async function replace(path: string, text: string): Promise<void> {
  const whole = `${path}.${randomUUID()}`;
  await writeFile(whole, text);
  await rename(whole, path);
}

async function main(): Promise<void> {
  const [entry, outfile] = process.argv.slice(2);
  if (entry === undefined || outfile === undefined) throw new Error("Usage: bundle-worker.ts ENTRY OUTFILE");
  // By `npm start`, where wrangler bundles the source.
  if (process.env["TENANTRY_BUILD"] === "none") return;
  const { code, map } = await arranged(await minified(await bundled(entry, outfile)));
  await mkdir(dirname(outfile), { recursive: true });
  await replace(`${outfile}.map`, map);
  await replace(outfile, `${code.trimEnd()}\n//# sourceMappingURL=${basename(outfile)}.map\n`);
}

await main();
