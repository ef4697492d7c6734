// `npm run api` writes api/*.md: what each entry of the package exports, and the types that an author meets there, as the compiler
// declares them. So each change of the public face is in a diff. `-- --check` writes nothing, and fails where a report is out of date.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { scriptOptions } from "./script-options.ts";

const { check } = scriptOptions(
  `npm run api [-- --check]

Writes api/*.md: what each entry of the package exports. 8 seconds.

  --check  write nothing, and fail where a page is out of date`,
  { check: { type: "boolean", default: false } },
);

const ROOT = join(import.meta.dirname, "..");
/**
 * What is in these may change: authors hand them on, or meet them in the compiler's words alone. `Endpoints` are in
 * `/admin/openapi.json`.
 */
const OPAQUE = new Set(
  "Call CallHost CauseCode CheckedReturn Configured Endpoints ErrorKey FromJsonSchema ObjectBindings".split(" "),
);
/** Authors export its classes, and look into none. */
const NAMES_ALONE = "objects";
const DECLARED = /^(?:export )?(?:declare )?((?:abstract )?(?:const|function|class|interface|type) (\w+))/;
const LISTED = /^(?:import|export)\s+(?:type )?\{([^}]*)\}\s+from "(\.[^"]+)"/;

/** A declaration's text, or where the name is from. */
type Name = string | readonly [file: string, name: string];

const folder = mkdtempSync(join(tmpdir(), "tenantry-api-"));
const modules = new Map<string, ReturnType<typeof read>>();

function read(file: string) {
  const names = new Map<string, Name>();
  const exported = new Set<string>();
  const text = readFileSync(join(folder, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
  // A statement begins in the first column. Comments and private members are no part of the face.
  for (const statement of text.replaceAll(/^\s*(?:#private;|private .*)?\n/gm, "").split(/^(?=[a-z])/m)) {
    const [, head = "", own] = DECLARED.exec(statement) ?? [];
    const [, list = "", path = ""] = LISTED.exec(statement) ?? [];
    const from = join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts"));
    const others = list.split(",").map((part) =>
      part
        .trim()
        .replace(/^type /, "")
        .split(" as "),
    );
    const earlier = names.get(own ?? "");
    // Of a function with several signatures, each is a statement.
    const before = typeof earlier === "string" ? earlier : "";
    if (own !== undefined) names.set(own, before + statement.replace(DECLARED, head));
    else for (const [name = "", here = name] of others) names.set(here, [from, name]);
    const added = own === undefined ? others.map((other) => other.at(-1) ?? "") : [own];
    if (statement.startsWith("export ")) for (const name of added.filter(Boolean)) exported.add(name);
  }
  return { names, exported };
}

function moduleOf(file: string) {
  const module = modules.get(file) ?? read(file);
  modules.set(file, module);
  return module;
}

/** Where a name is declared, and how; undefined: the platform has it. */
function find(file: string, name: string): { readonly file: string; readonly text: string } | undefined {
  const found = moduleOf(file).names.get(name);
  return typeof found === "string" ? { file, text: found } : found && find(...found);
}

/** `shown`: what reports before this one have. */
function report(title: string, entry: string, shown: Set<string>): string {
  const names = [...moduleOf(entry).exported].toSorted();
  const texts: string[] = [];
  const met = names.map((name) => ({ file: entry, name }));
  for (const { file, name } of title === NAMES_ALONE ? [] : met) {
    const found = OPAQUE.has(name) ? undefined : find(file, name);
    if (!found || shown.has(found.file + found.text)) continue;
    shown.add(found.file + found.text);
    texts.push(names.includes(name) ? `export ${found.text}` : found.text);
    for (const [word] of found.text.matchAll(/\b[A-Z]\w*\b/g)) met.push({ file: found.file, name: word });
  }
  const list = names.map((name) => `- ${name}\n`).join("");
  return `# ${title}\n\nWritten by \`npm run api\`.\n\n${list}\n\`\`\`ts\n${texts.toSorted().join("\n")}\`\`\`\n`;
}

const emit = ["--project", "scripts/tsconfig.build.json", "--emitDeclarationOnly", "--outDir", folder];
if (spawnSync("tsc", emit, { cwd: ROOT, stdio: "inherit" }).status !== 0) process.exit(1);
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  exports: Record<string, { readonly types?: string }>;
};
const shown = new Set<string>();
for (const [specifier, { types }] of Object.entries(manifest.exports)) {
  if (types === undefined) continue;
  const title = specifier.slice(2) || "tenantry";
  const path = `api/${title}.md`;
  const text = report(title, types.replace("./dist/", ""), shown);
  if (existsSync(join(ROOT, path)) && readFileSync(join(ROOT, path), "utf8") === text) continue;
  if (check) {
    console.error(`${path} is out of date: run npm run api, and look at the difference`);
    process.exitCode = 1;
  } else writeFileSync(join(ROOT, path), text);
}
rmSync(folder, { recursive: true });
