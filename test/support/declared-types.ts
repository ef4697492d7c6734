// Owns reading declarations as text: which types the public ones speak of, and which of those an author cannot import.
// The compiler of this repository has no interface for programs.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const DECLARED = String.raw`^(?:export )?(?:declare )?(?:abstract )?(?:const|function|class|interface|type) `;
const EXPORTED = String.raw`^export (?:declare )?(?:abstract )?(?:function|class|interface|type) `;
const NAMES = /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from "(\.[^"]+)";/gm;

interface Place {
  readonly file: string;
  readonly name: string;
}

/**
 * Types that others export and `entry` does not, though a declaration that is reached from it speaks of them. `opaque`: names
 * into which nobody looks.
 */
export function unexportedTypes(folder: string, entry: string, opaque: ReadonlySet<string>): string[] {
  const program = new Program(folder);
  const open = program.exportedBy(entry);
  const known = new Set(open.map(keyOf));
  const missing: string[] = [];
  for (const place of open) {
    if (opaque.has(place.name)) continue;
    for (const found of program.spokenOf(place)) {
      if (known.has(keyOf(found)) || opaque.has(found.name)) continue;
      known.add(keyOf(found));
      open.push(found);
      if (program.isExported(found)) missing.push(`${found.name}, of which ${place.name} speaks`);
    }
  }
  return missing;
}

const keyOf = ({ file, name }: Place) => `${file} ${name}`;

class Program {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  exportedBy(entry: string): Place[] {
    const own = [...this.#textOf(entry).matchAll(new RegExp(`${EXPORTED}(\\w+)`, "gm"))];
    const others = [...this.#importsOf(entry).keys()];
    const names = new Set([...own.map(([, name = ""]) => name), ...others]);
    return [...names].flatMap((name) => this.#resolve(entry, name) ?? []);
  }

  isExported({ file, name }: Place): boolean {
    return new RegExp(`${EXPORTED}${name}\\b`, "m").test(this.#textOf(file));
  }

  spokenOf({ file, name }: Place): Place[] {
    const words = new Set(this.#declaration(file, name).match(/\b[A-Z]\w*\b/g));
    return [...words].flatMap((word) => (word === name ? [] : (this.#resolve(file, word) ?? [])));
  }

  /** All of it, without comments and what is private. */
  #declaration(file: string, name: string): string {
    const [, rest = ""] = this.#textOf(file).split(new RegExp(`${DECLARED}(?=${name}\\b)`, "m"));
    const [own = ""] = rest.split(new RegExp(`${DECLARED}|^export \\{|^import `, "m"));
    return own.replaceAll(/^\s*(?:private |#).*$/gm, "");
  }

  #resolve(file: string, name: string): Place | undefined {
    if (new RegExp(`${DECLARED}${name}\\b`, "m").test(this.#textOf(file))) return { file, name };
    const from = this.#importsOf(file).get(name);
    return from && this.#resolve(from.file, from.name);
  }

  #importsOf(file: string): ReadonlyMap<string, Place> {
    const all = new Map<string, Place>();
    for (const [, names = "", path = ""] of this.#textOf(file).matchAll(NAMES)) {
      const from = join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts"));
      for (const part of names.split(",")) {
        const [name = "", here = name] = part
          .trim()
          .replace(/^type /, "")
          .split(" as ");
        if (name !== "") all.set(here, { file: from, name });
      }
    }
    return all;
  }

  #textOf(file: string): string {
    const known = this.#texts.get(file);
    if (known !== undefined) return known;
    const text = readFileSync(join(this.#folder, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    this.#texts.set(file, text);
    return text;
  }
}
