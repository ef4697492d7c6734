// The rules of the house that no linter knows, each as a function from a tree of files to what breaks it. Pure: reading
// the repository is the caller's, so that every rule can be shown a tree that breaks it.

import { posix } from "node:path";
import { type Import, importsOf, readsClockOrChance } from "./imports.ts";

/** Path from the root of the repository, with slashes, to text. */
export type Tree = ReadonlyMap<string, string>;

/** Entries of src, lowest first. An entry may import from its own folder and from entries before it. */
const RANKS = [
  "protocol",
  "mcp-client",
  "telemetry",
  "outbound",
  "auth",
  "tenants",
  "limits",
  "handlers",
  "resources",
  "catalog",
  "streams",
  "sessions",
  "deployment",
  "endpoint",
  "records",
  "gateway",
  "login",
  "connect",
  "admin",
  "app",
  "tenantry.ts",
  "objects.ts",
  "zod-mini.ts",
  "testing",
  "demo",
  "demo-worker.ts",
  "worker.ts",
  "cli",
];

/** All that a program outside of the Worker knows of it; the rest is HTTP. It reads servers as the gateway does. */
const KNOWN_TO_CLI =
  /^src\/(cli\/|protocol\/|mcp-client\/|connect\/recipes\/|admin\/(admin-client|contract)\.ts$|gateway\/(upstream-link|read-catalog|upstream-catalog)\.ts$)/;

/** Every import that is not a file of ours, and the only files of src that may have it. */
const PACKAGES: readonly { readonly name: RegExp; readonly files: RegExp }[] = [
  { name: /^cloudflare:workers$/, files: /(-(object|entrypoint)|\/directory\/namespaces)\.ts$/ },
  { name: /^eventsource-parser$/, files: /^src\/mcp-client\/server-sent-events\.ts$/ },
  { name: /^hono(\/|$)/, files: /^src\/(app|admin|login\/server)\// },
  // The writer that authors with zod/mini import.
  { name: /^zod\/(v4\/core|locales)$/, files: /^src\/zod-mini\.ts$/ },
  { name: /^zod$/, files: /^src\/admin\/(?!services\/|platform\/)/ },
  { name: /^jose$/, files: /^src\/(auth\/jwt|login\/(identity|issuers|operators)\/[a-z-]+)\.ts$/ },
  { name: /^oauth4webapi$/, files: /^src\/cli\/sign-in\// },
  { name: /^(node:.*|commander|yaml)$/, files: /^src\/cli\// },
];

/** A folder or file of one of these names collects whatever has no better place. */
const BANNED_NAMES = ["utils", "helpers", "common", "manager", "types", "index", "misc", "shared"];
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** May be switched off at a place in src that says so; whatever else is switched off is a rule that is none. */
const EXCEPTIONS = new Set(["no-console", "oxc/no-barrel-file"]);

/** Not in a URI: `file:///home/user/x` is an example there. */
const MACHINE_PATH = /(?:^|[^\w./~-])\/(?:work|root|home|Users|tmp)\/\w[^\s"'`)]*/g;

export const RULES = {
  "src imports only from a lower rank or its own folder": importsAgainstRank,
  "src has no import cycle, type imports included": importCycles,
  "src imports a package only where it belongs": strayPackages,
  "the demo is written against the public package": demoInside,
  "protocol reads no clock and no randomness": impureProtocol,
  "mcp-client reads the clock that it was given": clockOfItsOwn,
  "files and folders have kebab-case names that say something": badNames,
  "a name that src exports means one thing": namesTwice,
  "a row is written by the names of its columns": rowsByPlace,
  "src switches no rule off": switchedOff,
  "an error that src swallows says why nobody hears of it": swallowedErrors,
  "src calls eras by their date": eraWords,
  "the version that is shown is the version of the package": wrongVersion,
  "no file names a path of somebody's machine": machinePaths,
} satisfies Record<string, (tree: Tree) => string[]>;

export type RuleTitle = keyof typeof RULES;

function importsAgainstRank(tree: Tree): string[] {
  return sources(tree).flatMap(([file, text]) => {
    const from = entryOf(file);
    if (!RANKS.includes(from)) return [`${file}: src/${from} has no rank`];
    return importsOf(file, text).flatMap(({ specifier, target }) => {
      if (target === undefined) return [];
      if (!tree.has(target)) return [`${file}: ${specifier} is no file; imports end in .ts`];
      if (isText(file, target)) return [];
      if (!target.startsWith("src/")) return [`${file}: imports ${specifier} from outside src`];
      const to = entryOf(target);
      if (from === "cli") return KNOWN_TO_CLI.test(target) ? [] : [`${file}: ${from} imports ${target}`];
      return to === from || RANKS.indexOf(to) < RANKS.indexOf(from) ? [] : [`${file}: ${from} imports ${to}`];
    });
  });
}

/** The demo stores Markdown of this repository as resources; it is text, not code. */
function isText(file: string, target: string): boolean {
  return entryOf(file) === "demo" && target.endsWith(".md");
}

function importCycles(tree: Tree): string[] {
  const graph = new Map(
    sources(tree).map(([file, text]) => [file, importsOf(file, text).flatMap(({ target = "" }) => target)]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file].join(" → "));
    if (start >= 0 || done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}

function strayPackages(tree: Tree): string[] {
  const allowed = (file: string, { specifier, target }: Import): boolean =>
    target !== undefined || PACKAGES.some(({ name, files }) => name.test(specifier) && files.test(file));
  return sources(tree).flatMap(([file, text]) =>
    importsOf(file, text)
      .filter((found) => !allowed(file, found))
      .map(({ specifier }) => `${file}: imports ${specifier}`),
  );
}

function demoInside(tree: Tree): string[] {
  return sources(tree)
    .filter(([file]) => entryOf(file) === "demo")
    .flatMap(([file, text]) => importsOf(file, text).map(({ target = "" }) => ({ file, target })))
    .filter(({ target }) => target.startsWith("src/") && !["demo", "tenantry.ts"].includes(entryOf(target)))
    .map(({ file, target }) => `${file}: imports ${target}`);
}

function impureProtocol(tree: Tree): string[] {
  return sources(tree)
    .filter(([file]) => file.startsWith("src/protocol/"))
    .flatMap(([file, text]) => readsClockOrChance(file, text).map((what) => `${file}: uses ${what}`));
}

/** The one file that is a clock is exempt: it is what others are given. */
function clockOfItsOwn(tree: Tree): string[] {
  return sources(tree)
    .filter(([file]) => file.startsWith("src/mcp-client/") && file !== "src/mcp-client/clock.ts")
    .flatMap(([file, text]) => [
      ...readsClockOrChance(file, text).map((what) => `${file}: uses ${what}`),
      ...[...text.matchAll(/\bset(?:Timeout|Interval)\b|\bAbortSignal\.timeout\b/g)].map(
        ([what]) => `${file}: uses ${what}`,
      ),
    ]);
}

function badNames(tree: Tree): string[] {
  return [...tree.keys()]
    .filter((file) => /^(src|test|scripts|bench)\/.*\.ts$/.test(file))
    .filter((file) => {
      const names = file.replace(/(\.test|\.d)?\.ts$/, "").split("/");
      return names.some((name) => BANNED_NAMES.includes(name) || !KEBAB_CASE.test(name));
    });
}

/** A migration meets the table as it is then; a release that was rolled back to meets columns of the one after it. */
function rowsByPlace(tree: Tree): string[] {
  const byPlace = /INSERT(?: OR \w+)? INTO (\w+)\s+(?:VALUES|SELECT)[^"`]*\?/g;
  return sources(tree).flatMap(([file, text]) =>
    [...text.matchAll(byPlace)].map(([, table]) => `${file}: writes rows of ${table} by place`),
  );
}

const SWALLOWS = /catch \{\s*\}|\.catch\(\(\) => (?:\{\s*\}|undefined)\)/;

/** By a comment in the four lines before. Programs at a terminal have somebody who sees what happens. */
function swallowedErrors(tree: Tree): string[] {
  return sources(tree)
    .filter(([file]) => entryOf(file) !== "cli")
    .flatMap(([file, text]) => {
      const lines = text.split("\n");
      const says = (at: number) =>
        lines.slice(Math.max(0, at - 4), at + 1).some((line) => /^\s*\??\s*(?:\/\/|\*\/)/.test(line));
      return lines.flatMap((line, at) =>
        SWALLOWS.test(line) && !says(at) ? [`${file}:${at + 1}: ${line.trim()}`] : [],
      );
    });
}

/** The command line shows the version of its own package, wherever it is built from. */
const SAME_EVERYWHERE = new Set(["VERSION"]);

function namesTwice(tree: Tree): string[] {
  const homes = new Map<string, string[]>();
  const exported = /^export (?:async )?(?:function|const|class|interface|type|enum) (\w+)/gm;
  for (const [file, text] of sources(tree)) {
    for (const name of new Set([...text.matchAll(exported)].map((match) => match[1] ?? ""))) {
      if (!SAME_EVERYWHERE.has(name)) homes.set(name, [...(homes.get(name) ?? []), file]);
    }
  }
  return [...homes].filter(([, files]) => files.length > 1).map(([name, files]) => `${name}: ${files.join(", ")}`);
}

function switchedOff(tree: Tree): string[] {
  return sources(tree).flatMap(([file, text]) =>
    [...text.matchAll(/(?:oxlint|eslint)-disable(?:-next-line|-line)?\b([^\n]*)|@ts-(?:ignore|nocheck)/g)]
      .filter(([, rules = ""]) => {
        const named = (rules.split("--")[0] ?? "").split(/[\s,]+/).filter((name) => /\w/.test(name));
        return named.length === 0 || named.some((name) => !EXCEPTIONS.has(name));
      })
      .map(([comment]) => `${file}: ${comment.trim()}`),
  );
}

function eraWords(tree: Tree): string[] {
  return sources(tree).flatMap(([file, text]) =>
    [...text.matchAll(/\w*(?:legacy|modern)\w*/gi)].map(([word]) => `${file}: ${word}`),
  );
}

function wrongVersion(tree: Tree): string[] {
  const { version } = JSON.parse(tree.get("package.json") ?? "{}") as { version?: string };
  const shown = /VERSION = "([^"]*)"/.exec(tree.get("src/app/version.ts") ?? "")?.[1];
  return shown !== undefined && shown === version ? [] : [`package.json has ${version}, the server shows ${shown}`];
}

function machinePaths(tree: Tree): string[] {
  return [...tree].flatMap(([file, text]) =>
    [...text.matchAll(MACHINE_PATH)].map(([path]) => `${file}: ${path.slice(path.indexOf("/"))}`),
  );
}

function sources(tree: Tree): [string, string][] {
  return [...tree].filter(([file]) => file.startsWith("src/") && file.endsWith(".ts"));
}

/** `protocol` of src/protocol/methods/tools.ts, `worker.ts` of src/worker.ts. */
function entryOf(file: string): string {
  return posix.relative("src", file).split("/")[0] ?? "";
}
