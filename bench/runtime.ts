// Bundles a Worker the way production does (wrangler, same date) and runs it in a workerd of its own.
// Requests go straight to the Worker: miniflare's usual front Worker would cost more CPU than what is measured.
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
const moduleTypes: Record<string, "ESModule" | "Text" | "CompiledWasm" | "Data"> = {
  ".js": "ESModule",
  ".mjs": "ESModule",
  ".txt": "Text",
  ".md": "Text",
  ".wasm": "CompiledWasm",
  ".bin": "Data",
};

interface WorkerModule {
  type: "ESModule" | "Text" | "CompiledWasm" | "Data";
  path: string;
  contents: Uint8Array<ArrayBuffer>;
}

export interface Bundle {
  /** The entry first: workerd takes the first module as the Worker. */
  modules: WorkerModule[];
  gzipBytes: number;
}

export interface Bindings {
  /** Binding name to class name; where they are the same the Worker is not bound to its own, and has them of its exports. */
  durableObjects?: Record<string, string>;
  kvNamespaces?: string[];
  vars?: Record<string, string>;
}

export interface Running {
  url: URL;
  pid: number;
  stop: () => Promise<void>;
}

/** The settings of wrangler.toml that change what runs or how it is built; the bench has no bindings of its own there. */
function productionSettings(root: string): { lines: string[]; date: string; flags: string[] } {
  const text = readFileSync(join(root, "wrangler.toml"), "utf8").split(/^\[/m)[0] ?? "";
  const lines = text
    .split("\n")
    .filter((line) => /^(compatibility_(date|flags)|no_bundle|minify|keep_names|rules)\s*=/.test(line));
  const date = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(text)?.[1];
  if (date === undefined) throw new Error("wrangler.toml has no compatibility_date");
  const flags = /^compatibility_flags\s*=\s*\[([^\]]*)\]/m.exec(text)?.[1] ?? "";
  return { lines, date, flags: [...flags.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "") };
}

/** What a Worker of the bench is bound to: what wrangler.toml of its checkout binds. */
export function bindingsOf(root: string): Bindings {
  const text = readFileSync(join(root, "wrangler.toml"), "utf8");
  const older = [...text.matchAll(/^name = "(\w+)"\nclass_name = "(\w+)"/gm)];
  const [, listed = ""] = /^new_sqlite_classes = \[([^\]]*)\]/m.exec(text) ?? [];
  const classes = [...listed.matchAll(/"(\w+)"/g)].map(([, name = ""]) => ["", name, name] as const);
  const objects = older.length > 0 ? older : classes;
  const stores = [...text.matchAll(/^\[\[kv_namespaces\]\]\nbinding = "(\w+)"/gm)];
  return {
    durableObjects: Object.fromEntries(objects.map(([, name = "", className = ""]) => [name, className])),
    kvNamespaces: stores.map(([, name = ""]) => name),
  };
}

/** Workers that the build step of an older checkout makes, where it has one. */
const OURS = /^(?:workers|\.\.\/src)\//;
const MINIFIED = ["minify = true", "keep_names = false"];

const builds = new Map<string, Promise<Bundle>>();

/** As it is uploaded: `entry` is a path from the folder of the bench in the checkout at `root`. Each is made once. */
export function bundle(entry: string, scratch: string, root = ROOT): Promise<Bundle> {
  const key = JSON.stringify([entry, scratch, root]);
  const making = builds.get(key) ?? make(entry, scratch, root);
  builds.set(key, making);
  return making;
}

async function make(entry: string, scratch: string, root: string): Promise<Bundle> {
  const name = basename(entry, extname(entry));
  const directory = join(scratch, name);
  const outdir = join(directory, "out");
  const config = join(directory, "wrangler.toml");
  await mkdir(directory, { recursive: true });
  const source = join(root, "bench", entry);
  const { lines } = productionSettings(root);
  const builder = join(root, "scripts/bundle-worker.ts");
  const [main = source, ...settings] =
    existsSync(builder) && OURS.test(entry)
      ? steppedBuild({ builder, source, built: join(directory, "built", `${name}.js`) }, lines)
      : [source, ...lines.filter((line) => !/^(?:no_bundle|minify)\b/.test(line)), ...MINIFIED];
  await writeFile(config, ['name = "bench"', `main = ${JSON.stringify(main)}`, ...settings, ""].join("\n"));
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const options = ["deploy", "--dry-run", "--config", config, "--outdir", outdir];
  const { NODE_ENV: _ofVitest, ...env } = process.env;
  await promisify(execFile)(process.execPath, [wrangler, ...options], {
    cwd: directory,
    env: { ...env, WRANGLER_SEND_METRICS: "false" },
  });
  return readBundle(outdir, `${name}.js`);
}

interface Step {
  readonly builder: string;
  readonly source: string;
  readonly built: string;
}

function steppedBuild({ builder, source, built }: Step, lines: readonly string[]): readonly string[] {
  const command = [process.execPath, builder, source, built].join(" ");
  return [built, ...lines, "[build]", `command = ${JSON.stringify(command)}`];
}

async function readBundle(outdir: string, main: string): Promise<Bundle> {
  const files = (await readdir(outdir)).filter((file) => file !== "README.md" && extname(file) in moduleTypes);
  files.sort((a, b) => Number(b === main) - Number(a === main));
  const modules = files.map((file) => ({
    type: moduleTypes[extname(file)] ?? "Data",
    path: file,
    contents: new Uint8Array(readFileSync(join(outdir, file))),
  }));
  if (modules[0]?.path !== main) throw new Error(`wrangler wrote no ${main}`);
  return { modules, gzipBytes: modules.reduce((sum, module) => sum + gzipSync(module.contents).length, 0) };
}

export async function start(bundled: Bundle, bindings: Bindings = {}): Promise<Running> {
  const { miniflare, ...running } = await launch({ workers: [workerOf("bench", bundled, bindings)] });
  return { ...running, stop: () => miniflare.dispose() };
}

export interface Inspected extends Running {
  inspector: URL;
}

/**
 * The same with its objects in an isolate of their own, as production has them, and an inspector. `storage`: a folder for what
 * they store.
 */
export async function startApart(bundled: Bundle, bindings: Bindings, storage: string): Promise<Inspected> {
  const objects = workerOf("objects", bundled, bindings);
  const workers = [workerOf("bench", bundled, bindings, objects.name), objects];
  const { miniflare, ...running } = await launch({ workers, inspectorPort: 0, resourcePersistencePath: storage });
  return { ...running, inspector: await miniflare.getInspectorURL(), stop: () => miniflare.dispose() };
}

/** `objectsIn`: the Worker that has the classes. */
function workerOf(name: string, bundled: Bundle, bindings: Bindings, objectsIn?: string) {
  const { date, flags } = productionSettings(ROOT);
  const classes = Object.entries(bindings.durableObjects ?? {});
  const isExported = ([binding, className]: [string, string]) => objectsIn === undefined && binding === className;
  const bound = classes.filter((one) => !isExported(one));
  const elsewhere = objectsIn === undefined ? {} : { scriptName: objectsIn };
  return {
    name,
    modules: bundled.modules,
    compatibilityDate: date,
    compatibilityFlags: flags,
    durableObjects: Object.fromEntries(
      bound.map(([binding, className]) => [binding, { className, useSQLite: true, ...elsewhere }]),
    ),
    additionalUnboundDurableObjects: classes
      .filter(isExported)
      .map(([, className]) => ({ className, useSQLite: true })),
    kvNamespaces: bindings.kvNamespaces ?? [],
    bindings: bindings.vars ?? {},
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  };
}

async function launch(options: {
  workers: ReturnType<typeof workerOf>[];
  inspectorPort?: number;
  resourcePersistencePath?: string;
}) {
  const before = new Set(workerdChildren());
  const miniflare = new Miniflare(convertV4MiniflareOptions(options));
  try {
    await miniflare.ready;
    const url = await miniflare.unsafeGetDirectURL("bench");
    const pid = workerdChildren().find((child) => !before.has(child));
    if (pid === undefined) throw new Error("no workerd process appeared");
    return { url, pid, miniflare };
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
}

function workerdChildren(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(isWorkerdChild);
}

function isWorkerdChild(pid: number): boolean {
  try {
    const [, comm, rest = ""] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return comm === "workerd" && Number(rest.split(" ")[1]) === process.pid;
  } catch {
    return false; // it ended between the listing and the look
  }
}
