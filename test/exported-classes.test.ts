// A Worker exports each class that its features bring: without one of them it answers 500, wherever it is asked. Each entry file
// in the repository writes that list out, and is held here against what the features that it calls have.

import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
/** Without comments, which may name features that are not there. */
const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8").replaceAll(/^\s*\/\/.*$/gm, "");
const BASE = ["ContentObject", "DirectoryObject", "HubObject", "SessionObject", "StoredRuns", "TenantObject"];
/** By feature: what it adds, as `objects` in its source says. */
const ADDED: Readonly<Record<string, readonly string[]>> = {
  admin: ["PlatformObject"],
  gateway: ["UpstreamObject", "UpstreamRefreshes"],
  webhooks: ["WebhookDeliveries"],
};

const entries = ["src", "test/fixtures", "examples", "bench/workers"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((f) => `${folder}/${f}`),
  )
  .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
  .filter(
    (file) => /^export default /m.test(textOf(file)) && /^export (const|class|\{)[^;]*TenantObject/m.test(textOf(file)),
  );

/** With the Worker whose classes it hands on. */
function sourcesOf(file: string): string {
  const text = textOf(file);
  const handed =
    /import worker, \* as \w+ from "([^"]+)"/.exec(text)?.[1] ?? /from "(\.\/variants\.ts)"/.exec(text)?.[1];
  return handed === undefined ? text : text + sourcesOf(posix.join(posix.dirname(file), handed));
}

function exportedBy(text: string): Set<string> {
  const lists = [...text.matchAll(/^export (?:const )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) => names.split(","));
  const single = [...text.matchAll(/^export (?:const|class) (\w+)/gm)].map(([, name = ""]) => name);
  return new Set([...lists.map((name) => name.split(" as ").at(-1)?.trim() ?? ""), ...single]);
}

test("entry files are found", () => {
  expect(entries).toContain("src/worker.ts");
  expect(entries).toContain("test/fixtures/demo-worker.ts");
});

test.each(entries)("%s exports what its features bring", (file) => {
  const sources = sourcesOf(file);
  const features = Object.keys(ADDED).filter((name) => new RegExp(`\\b${name}\\(`).test(sources));
  const needed = [...BASE, ...features.flatMap((name) => ADDED[name] ?? [])];
  expect(
    needed.filter((name) => !exportedBy(textOf(file)).has(name)),
    file,
  ).toEqual([]);
});
