// Owns where a text is, as words of the full-text index: each beginning of its URI is one, and the whole is another, so an
// expression says what a caller sees and SQLite finds nothing else. Pure. Refuses patterns with a `*` inside, and more of
// them than can be asked quickly: it lets too much pass for them, and says so.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import { shapeOf } from "./seen-ranges.ts";

/** Of a URI, so many first characters are told apart by their beginnings. */
const PLACED = 128;

/** The index is asked with so many names and prefixes: each takes SQLite about as long as a word. */
const MAX_TERMS = 100;

/** What the index is asked with: only what all of `only` let pass, and whose URI begins with `prefix`. */
export interface Places {
  /** Goes around an expression; undefined: nothing is seen. */
  readonly among: ((match: string) => string) | undefined;
  /** Whether nothing is found that is not seen. */
  readonly isExact: boolean;
}

export function placeOf(uri: string): string {
  const words: string[] = [];
  let word = "";
  for (const character of uri.slice(0, PLACED)) words.push((word += spelled(character)));
  words.push(wholeOf(uri));
  return words.join(" ");
}

/** In letters and digits that no tokenizer takes apart, nor makes equal: `z` says that a code follows. */
function spelled(character: string): string {
  if (/[a-y0-9]/.test(character)) return character;
  const code = character.charCodeAt(0);
  return code < 256 ? `z${code.toString(16).padStart(2, "0")}` : `zu${code.toString(16).padStart(4, "0")}`;
}

const spelledAll = (text: string) => text.split("").map(spelled).join("");
const wholeOf = (uri: string) => `${spelledAll(uri)}zz`;

/** Stands in the place of a resource that a view hides which has a number. No beginning of a URI is spelled like it. */
export const hidingWord = (view: number) => `zv${view}`;

/** `view`: of a view that has a number. */
export function placesSeen(prefix: string, only: readonly Patterns[], view?: number): Places {
  if (only.some(hidesAll)) return { among: undefined, isExact: true };
  const asked = only.flatMap(({ allow = [], deny = [] }) => [...allow, ...deny]).length > MAX_TERMS ? [] : only;
  const allowed = asked.flatMap(({ allow }) => (allow ? [allow.map(shapeOf)] : []));
  const denied = asked.flatMap(({ deny = [] }) => deny.map(shapeOf));
  const within = allowed.filter((some) => !some.some(isAnywhere)).map((some) => anyOf(some.map(found)));
  if (prefix !== "") within.push(begins(prefix));
  const without = denied.filter(isPlaced).map(found);
  if (view !== undefined) without.push(`place : "${hidingWord(view)}"`);
  const but = without.length === 0 ? "" : ` NOT ${anyOf(without)}`;
  return {
    isExact: asked === only && prefix.length <= PLACED && [...allowed.flat(), ...denied].every(isPlaced),
    among: (match) => `(${[match, ...within].join(" AND ")})${but}`,
  };
}

function hidesAll({ allow, deny = [] }: Patterns): boolean {
  return allow?.length === 0 || deny.some((pattern) => /^\*+$/.test(pattern));
}

type Shape = ReturnType<typeof shapeOf>;

function isAnywhere({ prefix, of }: Shape): boolean {
  return of !== "one" && prefix === "";
}

/** Whether the index tells all that the pattern matches from all that it does not. */
function isPlaced({ prefix, of }: Shape): boolean {
  return of === "one" || (of === "all" && prefix.length <= PLACED);
}

function found({ prefix, of }: Shape): string {
  return of === "one" ? `place : "${wholeOf(prefix)}"` : begins(prefix);
}

function begins(prefix: string): string {
  return `place : "${spelledAll(prefix.slice(0, PLACED))}"`;
}

const anyOf = (terms: readonly string[]) => `(${[...new Set(terms)].join(" OR ")})`;
