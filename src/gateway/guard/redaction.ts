// Owns that a credential which was sent to an upstream does not come back from there: it is cut out of whatever the
// upstream says. Refuses to look for very short ones, which stand in every text by chance.

import { repeatsMembers } from "../../mcp-client/json-text.ts";
import { isObject } from "../../protocol/jsonrpc.ts";

const SHORTEST = 8;
const IN_ITS_PLACE = "[redacted]";

export class Redaction {
  /** For these; most upstreams are sent none. */
  static of(secrets: readonly string[]): Redaction {
    return secrets.length === 0 ? NOTHING : new Redaction(secrets);
  }

  /** The longest first: one may be a part of another. */
  readonly #secrets: readonly string[];
  /** The same as they stand in a string of a JSON text. */
  readonly #written: readonly string[];

  constructor(secrets: readonly string[]) {
    // White space at the ends of a header is not sent.
    const sent = new Set(secrets.map((secret) => secret.trim()));
    this.#secrets = [...sent].filter(({ length }) => length >= SHORTEST).toSorted((a, b) => b.length - a.length);
    this.#written = this.#secrets.map((secret) => JSON.stringify(secret).slice(1, -1));
  }

  /** The same text where there is nothing to cut out. */
  json(text: string): string {
    if (this.#written.length === 0) return text;
    if (!this.#mayBeIn(text)) return text;
    const plain = plainly(text);
    if (!this.#isIn(plain)) return text;
    const cut = cutOut(plain, this.#written);
    // What was found may be a number, or begin with the letter of an escape: then the text is taken apart.
    return isJson(cut) ? cut : JSON.stringify(JSON.parse(text, (_name, value: unknown) => this.#cutValue(value)));
  }

  /** The same for what JSON can hold. */
  value<T>(value: T): T {
    if (this.#written.length === 0 || value === undefined) return value;
    const text = JSON.stringify(value);
    const cut = this.json(text);
    return cut === text ? value : (JSON.parse(cut) as T);
  }

  /** Some servers escape every slash: to undo that one by one takes a hundred times as long as to read it as JSON. */
  #mayBeIn(text: string): boolean {
    if (this.#isIn(text)) return true;
    if (!hasEscapes(text)) return false;
    const known = JSON.stringify(JSON.parse(text));
    return this.#isIn(known) || repeatsMembers(text, known);
  }

  #isIn(text: string): boolean {
    return this.#written.some((secret) => text.includes(secret));
  }

  #cutValue(value: unknown): unknown {
    if (typeof value === "string") return cutOut(value, this.#secrets);
    if (typeof value === "number")
      return this.#secrets.some((one) => String(value).includes(one)) ? IN_ITS_PLACE : value;
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [cutOut(name, this.#secrets), member]));
  }
}

/** An escape, or what follows a backslash and is none by that. */
const ESCAPES = /\\(?:u([\da-fA-F]{4})|(.))/g;

/** Those that JSON.stringify would not write. */
function hasEscapes(text: string): boolean {
  return text.includes("\\u") || text.includes("\\/");
}

/** The same JSON as JSON.stringify writes its strings: many servers escape what needs no escape, such as "+" or "/". */
function plainly(text: string): string {
  if (!hasEscapes(text)) return text;
  return text.replaceAll(ESCAPES, (whole, hex: string | undefined, char: string) => {
    if (hex === undefined) return char === "/" ? char : whole;
    const said = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\u0000-\u001f"\\]|\p{Surrogate}/u.test(said) ? whole : said;
  });
}

/** Bound: it has none and is never written. */
const NOTHING = new Redaction([]);

function cutOut(text: string, secrets: readonly string[]): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, IN_ITS_PLACE), text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
