// What `wrangler deploy` uploads, which wrangler.toml names as its build step: a Worker as one file, in fewer bytes than
// wrangler makes of it, with a map to its source. For `wrangler dev` it is made the same way, since both may run at once, but
// says that this is development, as wrangler does. Arguments: the Worker's entry, and the file to write.

import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { transform } from "@swc/core";
import { build } from "esbuild";

interface Written {
  readonly code: string;
  /** The source map, as JSON. */
  readonly map: string;
}

/** Whether mistakes in definitions keep the Worker from starting, or are told to whoever asks it: src/deployment. */
const MODE = process.env["NODE_ENV"] ?? (process.env["WRANGLER_COMMAND"] === "dev" ? "development" : "production");

/** As wrangler bundles for a deployment: its target, its conditions, its text modules, its constants. */
async function bundled(entry: string, outfile: string): Promise<Written> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    write: false,
    minify: true,
    sourcemap: "external",
    format: "esm",
    platform: "browser",
    target: "es2024",
    supported: { "import-source": true, using: true },
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    loader: { ".md": "text" },
    define: {
      "process.env.NODE_ENV": JSON.stringify(MODE),
      "navigator.userAgent": '"Cloudflare-Workers"',
    },
  });
  const text = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  return { code: text(".js"), map: text(".js.map") };
}

/**
 * esbuild gives names by how often they are used in all of the file; here each function begins with the same few, so that
 * functions that are alike read alike, which is what compresses. Nothing that is called unsafe: see docs/decisions/0065.
 */
async function minified({ code, map }: Written): Promise<Written> {
  const { code: smaller, map: mapped } = await transform(code, {
    configFile: false,
    swcrc: false,
    isModule: true,
    minify: true,
    sourceMaps: true,
    inputSourceMap: map,
    jsc: {
      target: "es2024",
      parser: { syntax: "ecmascript" },
      // `passes: 0`: until another one changes nothing.
      minify: { module: true, compress: { passes: 0, ecma: 2020, toplevel: true }, mangle: { toplevel: true } },
    },
  });
  if (mapped === undefined) throw new Error("the minifier wrote no source map");
  return { code: smaller, map: mapped };
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
  const { code, map } = await minified(await bundled(entry, outfile));
  await mkdir(dirname(outfile), { recursive: true });
  await replace(`${outfile}.map`, map);
  await replace(outfile, `${code.trimEnd()}\n//# sourceMappingURL=${basename(outfile)}.map\n`);
}

await main();
