// A fixture Worker as `wrangler deploy` would upload it, and starting one by itself.

import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, NoOpLog } from "miniflare";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import { oncePerRun } from "./once-per-run.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = join(ROOT, "test/fixtures/wrangler.toml");

export interface WorkerModule {
  readonly type: "ESModule" | "Text";
  readonly path: string;
  readonly contents: string;
}

export type Mode = "production" | "development";

/** `entry`: a file of test/fixtures, without its ending. Once for all test files; `mode`: whether as to be deployed. */
export async function bundleWorker(entry: string, mode: Mode = "production"): Promise<WorkerModule[]> {
  const folder = await oncePerRun(`${entry}-${mode}`, (made) => writeBundle(entry, mode, made));
  return readModules(folder, `${entry}.js`);
}

/** The same into a folder, without asking whether another file has made it; as wrangler bundles, in a second. */
export async function writeBundle(entry: string, mode: Mode, folder: string): Promise<void> {
  await build({
    entryPoints: [join(ROOT, `test/fixtures/${entry}.ts`)],
    outfile: join(folder, `${entry}.js`),
    bundle: true,
    sourcemap: "linked",
    format: "esm",
    platform: "browser",
    target: "es2024",
    supported: { "import-source": true, using: true },
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    loader: { ".md": "text" },
    define: { "process.env.NODE_ENV": JSON.stringify(mode), "navigator.userAgent": '"Cloudflare-Workers"' },
  });
}

export async function readModules(folder: string, main: string): Promise<WorkerModule[]> {
  const files = (await readdir(folder)).filter((file) => file !== "README.md" && /\.(?:js|md)$/.test(file));
  if (!files.includes(main)) throw new Error(`wrangler wrote no ${main}`);
  // workerd takes the first module as the Worker.
  const ordered = [main, ...files.filter((file) => file !== main)];
  return Promise.all(
    ordered.map(async (path) => ({
      type: extname(path) === ".js" ? ("ESModule" as const) : ("Text" as const),
      path,
      contents: await readFile(join(folder, path), "utf8"),
    })),
  );
}

export function compatibilityDate(): string {
  const date = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(readFileSync(CONFIG, "utf8"))?.[1];
  if (date === undefined) throw new Error(`${CONFIG} has no compatibility_date`);
  return date;
}

export interface OneWorker {
  /** `http://127.0.0.1:PORT`, without a path. */
  readonly origin: string;
  /** Everything in its log so far. */
  log(): string;
  /** `http://127.0.0.1:PORT` of the inspector, where it was started `inspected`. */
  inspector(): Promise<string>;
  /** Runs SQL in the database that the Worker has as `DB`. */
  database(sql: string): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly vars?: Readonly<Record<string, string>>;
  /** The KV namespace that it does not get, and classes that its configuration forgets. */
  readonly missingBindings?: readonly string[];
  /** Classes that no migration gave SQLite. */
  readonly classesWithoutSqlite?: readonly string[];
  /** Compatibility flags that the fixture needs, and the product does not. */
  readonly flags?: readonly string[];
  /** With a D1 database, which is `DB`. */
  readonly hasDatabase?: boolean;
  /** With an inspector, which looks into its heap. */
  readonly inspected?: boolean;
  /** MiB of its heap, beyond which it dies, as an isolate of the platform does at 128. */
  readonly heap?: number;
  /** A folder for what is stored, to start over it again; without one it goes with the Worker. */
  readonly storage?: string;
}

/** Of this process, for the files that run in it one after the other. */
const shared = new Map<string, Promise<OneWorker>>();

/** One that files share, each with tenants of its own. It stops when the process of the tests does. */
export function sharedWorker(
  entry: string,
  vars: Readonly<Record<string, string>> = {},
): Promise<Omit<OneWorker, "stop">> {
  const key = JSON.stringify([entry, vars]);
  const running = shared.get(key) ?? bundleWorker(entry).then((modules) => startWorker(modules, { vars }));
  shared.set(key, running);
  return running;
}

/** Read by Miniflare alone. */
const V8_FLAGS = "MINIFLARE_WORKERD_V8_FLAGS";

/** Rejects with what workerd said when the Worker does not start. */
export async function startWorker(
  modules: WorkerModule[],
  {
    vars = {},
    missingBindings = [],
    classesWithoutSqlite = [],
    flags = [],
    hasDatabase = false,
    inspected = false,
    heap,
    storage,
  }: StartOptions = {},
): Promise<OneWorker> {
  const objects = OBJECT_CLASSES.filter((name) => !missingBindings.includes(name));
  let log = "";
  if (heap !== undefined) process.env[V8_FLAGS] = `--max-heap-size=${heap}`;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new NoOpLog(),
      ...(inspected ? { inspectorPort: 0 } : {}),
      ...(storage === undefined ? {} : { resourcePersistencePath: storage }),
      handleStructuredLogs: ({ message }: { message: string }) => {
        log += `${message}\n`;
      },
      handleRuntimeStdio: (stdout: NodeJS.ReadableStream, stderr: NodeJS.ReadableStream) => {
        for (const stream of [stdout, stderr]) stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
      },
      workers: [
        {
          name: "one",
          modules,
          compatibilityDate: compatibilityDate(),
          compatibilityFlags: [...flags],
          bindings: { ...vars },
          kvNamespaces: ["BODIES"].filter((name) => !missingBindings.includes(name)),
          d1Databases: hasDatabase ? ["DB"] : [],
          additionalUnboundDurableObjects: objects.map((className) => ({
            className,
            useSQLite: !classesWithoutSqlite.includes(className),
          })),
          unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
        },
      ],
    }),
  );
  try {
    await miniflare.ready;
    // Not through Miniflare's own Worker in front of it, which is in the way of nothing but costs time.
    const { origin } = await miniflare.unsafeGetDirectURL("one");
    const inspector = async () => `http://${(await miniflare.getInspectorURL()).host}`;
    const database = async (sql: string) => void (await (await miniflare.getD1Database("DB", "one")).exec(sql));
    return { origin, log: () => log, inspector, database, stop: () => miniflare.dispose() };
  } catch (error) {
    // What did not start fails to stop, too, and says the same.
    await miniflare.dispose().catch(() => {});
    // workerd writes its log as JSON.
    throw new Error(`${String(error)}\n${log}`.replaceAll('\\"', '"'), { cause: error });
  } finally {
    delete process.env[V8_FLAGS];
  }
}
