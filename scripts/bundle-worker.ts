// What `wrangler deploy` uploads, which wrangler.toml names as its build step: a Worker as one file, in fewer bytes than
// wrangler makes of it, with a map to its source. For `wrangler dev` it is made the same way, since both may run at once, but
// says that this is development, as wrangler does, and a little larger. Arguments: the Worker's entry, the file to write, and
// `--rough` for what is no larger than for development.

import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parse, transform, type Module, type Options } from "@swc/core";
import { build, type Metafile, type Plugin } from "esbuild";
import { alikeOrder } from "./alike-order.ts";
import { movableStatements } from "./movable-statements.ts";
import { nearerOrder } from "./nearer-order.ts";
import { shortenSql } from "./short-sql.ts";
import { smallerOrder } from "./smaller-order.ts";
import { declaredTogether, shortenCalls, shortenTries } from "./short-syntax.ts";
import { withoutMembers } from "./uncalled-members.ts";

const TARGET = "es2024";

type Minify = Pick<NonNullable<NonNullable<Options["jsc"]>["minify"]>, "compress" | "mangle">;

interface Written {
  readonly code: string;
  /** The source map, as JSON. */
  readonly map: string;
}

/** Whether mistakes in definitions keep the Worker from starting, or are told to whoever asks it: src/deployment. */
const MODE = process.env["NODE_ENV"] ?? (process.env["WRANGLER_COMMAND"] === "dev" ? "development" : "production");

/** Nobody uploads what is developed or tested: a few hundred bytes are less than the seconds that they take. */
const IS_ROUGH = MODE === "development" || process.argv.includes("--rough");

/** A member of one of Hono's classes. */
interface Uncalled {
  /** The module of the class, in Hono's `dist`. */
  readonly file: string;
  readonly member: string;
}

function named([file = "", members = ""]: readonly string[]): readonly Uncalled[] {
  return members.split(" ").map((member) => ({ file, member }));
}

/**
 * What Hono's requests, answers and apps bring along, and hardly a Worker calls: its reader of forms, because bodies are read within
 * limits of ours (docs/decisions/0065), its mounting of other frameworks, rendering, and what an app of few routes has no use
 * for (docs/decisions/0104).
 */
const UNCALLED: readonly Uncalled[] = [
  ["hono-base", "route basePath mount request fire on use"],
  ["context", "render setLayout getLayout setRenderer html redirect status body event var"],
  ["request", "query queries parseBody arrayBuffer bytes blob formData addValidatedData valid matchedRoutes routePath"],
].flatMap(named);

/**
 * The same under names that are common elsewhere, so that nobody could tell in a bundle who is called, and Hono's own answers to
 * errors and to what it does not find. Our own two apps need none of these, which a test holds; where anybody else imports Hono,
 * they stay.
 */
const UNCALLED_BY_US: readonly Uncalled[] = [
  ["hono-base", "errorHandler"],
  ["context", "get set json text header newResponse notFound"],
  ["request", "json text url bodyCache"],
].flatMap(named);

const without = (uncalled: readonly Uncalled[]): Plugin => ({
  name: "without-uncalled",
  setup: (step) => {
    step.onLoad({ filter: /\bhono\/dist\/(?:hono-base|context|request)\.js$/ }, async ({ path }) => {
      const members = uncalled.filter(({ file }) => file === basename(path, ".js")).map(({ member }) => member);
      return { contents: await withoutMembers(await readFile(path, "utf8"), members) };
    });
  },
});

/** Hono's getters, which are read; a call is of something else. */
const READ: readonly string[] = ["event", "var", "matchedRoutes", "routePath"];

/** The files of ours that import Hono. */
const APPS: readonly string[] = ["http/app.ts", "admin/create-admin.ts"].map((file) =>
  join(import.meta.dirname, "../src", file),
);

function isImportedByOthers({ inputs }: Metafile): boolean {
  return Object.entries(inputs).some(
    ([path, { imports }]) =>
      !path.includes("node_modules/") &&
      !APPS.includes(resolve(path)) &&
      imports.some((one) => one.path.includes("node_modules/hono/")),
  );
}

/** How a function is called, or handed on. A member of what is only read, as of a request, is something else's. */
const CALLED = "(?:\\?\\.)?(?:[(`]|\\.(?:bind|call|apply)\\b)";

function isUsed(member: string, code: string): boolean {
  return new RegExp(`\\.${member}${READ.includes(member) ? "\\b(?!\\()" : CALLED}`).test(code);
}

/**
 * As wrangler bundles for a deployment: its target, its conditions, its text modules, its constants. Once more with what is called
 * after all.
 */
async function bundled(entry: string, outfile: string, ours = UNCALLED_BY_US, uncalled = UNCALLED): Promise<Written> {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    sourcemap: "external",
    format: "esm",
    platform: "browser",
    target: TARGET,
    supported: { "import-source": true, using: true },
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    plugins: [without([...uncalled, ...ours])],
    loader: { ".md": "text" },
    define: {
      "process.env.NODE_ENV": JSON.stringify(MODE),
      "navigator.userAgent": '"Cloudflare-Workers"',
    },
  });
  const text = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  const code = text(".js");
  const others = uncalled.filter(({ member }) => !isUsed(member, code));
  const isOurs = ours.length === 0 || !isImportedByOthers(metafile);
  if (others.length < uncalled.length || !isOurs) return bundled(entry, outfile, isOurs ? ours : [], others);
  return { code, map: text(".js.map") };
}

/**
 * esbuild gives names by how often they are used in all of the file; here each function begins with the same few, so that
 * functions that are alike read alike, which is what compresses. Nothing that is called unsafe: see docs/decisions/0065.
 */
async function minified({ code, map }: Written): Promise<Written> {
  const module = await parse(code, { syntax: "ecmascript", target: TARGET });
  shortenTries(module);
  forgetScopes(module);
  // `passes: 0`: until another one changes nothing.
  return written(module, map, { compress: { passes: 0, ecma: 2020, toplevel: true } });
}

/** SQL and calls in fewer characters; the same statements, those near each other that are alike, and names given anew in this order: docs/decisions/0076, 0094. */
async function arranged({ code, map }: Written): Promise<Written> {
  const module = await parse(code, { syntax: "ecmascript", target: TARGET });
  shortenSql(module);
  shortenCalls(module);
  const alike = alikeOrder(movableStatements(module, code));
  const order = IS_ROUGH ? alike : nearerOrder(alike);
  module.body = declaredTogether(order.map(({ item }) => item));
  forgetScopes(module);
  return written(module, map, { compress: false });
}

/** The same with the statements where they make the upload smallest, by the names that they have now: docs/decisions/0142. */
async function settled({ code, map }: Written): Promise<Written> {
  const module = await parse(code, { syntax: "ecmascript", target: TARGET });
  module.body = declaredTogether(smallerOrder(movableStatements(module, code)).map(({ item }) => item));
  forgetScopes(module);
  return written(module, map, { compress: false, mangle: false });
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
  const arrangedOnce = await arranged(await minified(await bundled(entry, outfile)));
  const { code, map } = IS_ROUGH ? arrangedOnce : await settled(arrangedOnce);
  await mkdir(dirname(outfile), { recursive: true });
  await replace(`${outfile}.map`, map);
  await replace(outfile, `${code.trimEnd()}\n//# sourceMappingURL=${basename(outfile)}.map\n`);
}

await main();
