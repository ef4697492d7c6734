// Owns looking into JSON without making values of it: whether a text is JSON at all, and the text of each member as it
// was written, so that a result can be passed on unchanged. Refuses what JSON.parse refuses, and nesting that could
// break a reader.
// https://www.rfc-editor.org/rfc/rfc8259

const MAX_DEPTH = 1000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const SPACE = /[ \t\n\r]*/y;
/** A number or one of the three words. */
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const FIRST_PRINTABLE = 0x20;
const LETTER_U = 0x75;
const SHORT_ESCAPES = new Set(Array.from('"\\/bfnrt', (char) => char.charCodeAt(0)));
const FOUR_DIGITS = /^[0-9a-fA-F]{4}$/;

export interface JsonMember {
  readonly name: string;
  /** As it stands in the text. */
  readonly text: string;
}

/** In order, repeated names too; undefined where the text is not one JSON object, or has more than `most` members. */
export function objectMembers(text: string, max: number): JsonMember[] | undefined {
  const scanner = new Scanner(text);
  const members: JsonMember[] = [];
  const member = (): boolean => {
    const name = scanner.name();
    const value = name === undefined ? undefined : scanner.slice();
    if (name === undefined || value === undefined || members.length === max) return false;
    members.push({ name, text: value });
    return true;
  };
  return scanner.list(OPEN_OBJECT, CLOSE_OBJECT, member) && scanner.isAtEnd() ? members : undefined;
}

/** The texts of some members of what is known to be an object; undefined where one of them stands there twice. */
export function getMembers(names: ReadonlySet<string>, text: string): ReadonlyMap<string, string> | undefined {
  const scanner = new Scanner(text);
  const members = new Map<string, string>();
  const member = (): boolean => {
    const name = scanner.name();
    const value = name === undefined ? undefined : scanner.slice();
    if (name === undefined || value === undefined || members.has(name)) return false;
    if (names.has(name)) members.set(name, value);
    return true;
  };
  return scanner.list(OPEN_OBJECT, CLOSE_OBJECT, member) ? members : undefined;
}

/** The elements as they stand in the text; undefined where it is not one JSON array, or has more than `most`. */
export function arrayElements(text: string, max: number): string[] | undefined {
  const scanner = new Scanner(text);
  const elements: string[] = [];
  const element = (): boolean => {
    const value = scanner.slice();
    if (value === undefined || elements.length === max) return false;
    elements.push(value);
    return true;
  };
  return scanner.list(OPEN_ARRAY, CLOSE_ARRAY, element) && scanner.isAtEnd() ? elements : undefined;
}

/**
 * Whether an object in a text has two members of one name, of which JSON.parse keeps the last and others the first.
 * `known`: the same as JSON.stringify writes it.
 */
export function hasDuplicateMembers(text: string, normalized: string): boolean {
  return countColons(text) !== countColons(normalized);
}

/** Those outside of strings. A loop: a pattern keeps a way back for each escape, and has no room for millions. */
function countColons(json: string): number {
  let colons = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === COLON) colons += 1;
    else if (code === QUOTE) at = closingQuote(json, at);
  }
  return colons;
}

/** Behind the end where there is none. Most of a text is in its strings, and `indexOf` passes over those in no time. */
function closingQuote(json: string, opening: number): number {
  for (let at = json.indexOf('"', opening + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let escape = at;
    while (json.charCodeAt(escape - 1) === BACKSLASH) escape -= 1;
    if ((at - escape) % 2 === 0) return at;
  }
  return json.length;
}

export interface Nesting {
  /** Objects and lists. */
  readonly containers: number;
  /** How many of them are within each other at most. */
  readonly depth: number;
}

/** Not counted further than to one container more than `most`. Nor is it seen whether the text is JSON. */
export function nestingOf(json: string, max = Infinity): Nesting {
  let containers = 0;
  let open = 0;
  let depth = 0;
  for (let at = 0; at < json.length && containers <= max; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(json, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      containers += 1;
      open += 1;
      if (open > depth) depth = open;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open -= 1;
  }
  return { containers, depth };
}

export function countContainers(json: string, max = Infinity): number {
  return nestingOf(json, max).containers;
}

export interface JsonRange {
  /** Of a member; undefined for an element. */
  readonly name: string | undefined;
  /** Where its value begins in the text, and where it has ended. */
  readonly from: number;
  readonly to: number;
}

/**
 * Shows where each value of the object or array stands that begins here; of none, and of what is neither, nothing. One at a
 * time: a text of some megabytes may have millions.
 */
export function forEachJsonRange(text: string, start: number, visitRange: (range: JsonRange) => void): void {
  const scanner = new Scanner(text, start);
  const isArray = scanner.isAt(OPEN_ARRAY);
  const item = (): boolean => {
    const name = isArray ? undefined : scanner.name();
    if (!isArray && name === undefined) return false;
    const from = scanner.skip();
    if (from === undefined) return false;
    visitRange({ name, from, to: scanner.at });
    return true;
  };
  const [open, close] = isArray ? [OPEN_ARRAY, CLOSE_ARRAY] : [OPEN_OBJECT, CLOSE_OBJECT];
  scanner.list(open, close, item);
}

export interface JsonEdit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The same text with other values in some places, which are in their order. In one pass: there may be as many as there is text. */
export function applyJsonEdits(json: string, edits: readonly JsonEdit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, text } of edits) {
    parts.push(json.slice(at, from), text);
    at = to;
  }
  return parts.length === 0 ? json : parts.join("") + json.slice(at);
}

/** The JSON of an object whose member of this name has this value, whatever it had; all else stays as it is written. */
export function withMember(json: string, name: string, value: string): string {
  let last: JsonRange | undefined;
  let existing: JsonRange | undefined;
  forEachJsonRange(json, 0, (place) => {
    last = place;
    if (place.name === name) existing = place;
  });
  if (existing) return applyJsonEdits(json, [{ from: existing.from, to: existing.to, text: value }]);
  const member = `${JSON.stringify(name)}:${value}`;
  return last ? applyJsonEdits(json, [{ from: last.to, to: last.to, text: `,${member}` }]) : `{${member}}`;
}

/** The JSON of a result whose `_meta` has this text too. A `_meta` that is no object is lost. */
export function withMeta(json: string, name: string, text: string): string {
  let meta = "{}";
  forEachJsonRange(json, 0, (place) => {
    if (place.name === "_meta" && json[place.from] === "{") meta = json.slice(place.from, place.to);
  });
  return withMember(json, "_meta", withMember(meta, name, JSON.stringify(text)));
}

class Scanner {
  readonly #text: string;
  #at: number;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.#at = at;
  }

  /** How far it has come. */
  get at(): number {
    return this.#at;
  }

  /** Whether this character comes next. */
  isAt(code: number): boolean {
    return this.#next() === code;
  }

  /** Whether only white space is left. */
  isAtEnd(): boolean {
    return Number.isNaN(this.#next());
  }

  /** A list of what `item` reads, in its brackets. */
  list(open: number, close: number, item: () => boolean): boolean {
    if (!this.#take(open)) return false;
    if (this.#take(close)) return true;
    do {
      if (!item()) return false;
    } while (this.#take(COMMA));
    return this.#take(close);
  }

  /** The name of a member and the colon behind it. */
  name(): string | undefined {
    this.#next();
    const from = this.#at;
    if (!this.#string()) return undefined;
    const quoted = this.#text.slice(from, this.#at);
    if (!this.#take(COLON)) return undefined;
    return quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  /** Goes behind one value, and says where it began. */
  skip(): number | undefined {
    this.#next();
    const from = this.#at;
    return this.#value() ? from : undefined;
  }

  /** The text of one value. */
  slice(): string | undefined {
    const from = this.skip();
    return from === undefined ? undefined : this.#text.slice(from, this.#at);
  }

  /** Without recursion: the depth is the other side's choice. */
  #value(): boolean {
    const closers: number[] = [];
    do {
      if (!this.#readUntilValue(closers)) return false;
    } while (this.#closeContainers(closers));
    return closers.length === 0;
  }

  /** Up to the end of a plain value, or to where the first value inside of a list begins. */
  #readUntilValue(closers: number[]): boolean {
    for (;;) {
      const code = this.#next();
      if (code !== OPEN_OBJECT && code !== OPEN_ARRAY) return code === QUOTE ? this.#string() : this.#match(PLAIN);
      this.#at += 1;
      const closer = code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      if (this.#take(closer)) return true;
      closers.push(closer);
      if (closers.length > MAX_DEPTH || !this.#nameIn(closer)) return false;
    }
  }

  /** Behind a value: closes what ends here. True where another value is due. */
  #closeContainers(closers: number[]): boolean {
    for (let closer = closers.at(-1); closer !== undefined; closer = closers.at(-1)) {
      if (this.#take(COMMA)) return this.#nameIn(closer);
      if (!this.#take(closer)) return false;
      closers.pop();
    }
    return false;
  }

  #nameIn(closer: number): boolean {
    return closer === CLOSE_ARRAY || this.name() !== undefined;
  }

  #string(): boolean {
    const text = this.#text;
    if (text.charCodeAt(this.#at) !== QUOTE) return false;
    // A loop over codes, because strings may have megabytes and most of a result is in them.
    for (let at = this.#at + 1; ; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (code === BACKSLASH) at = this.#escapeEnd(at);
      // NaN too, which stands behind the end of the text.
      else if (!(code >= FIRST_PRINTABLE)) return false;
    }
  }

  /** The last place of an escape; behind the end of the text where it is none. */
  #escapeEnd(at: number): number {
    const code = this.#text.charCodeAt(at + 1);
    if (code === LETTER_U) return FOUR_DIGITS.test(this.#text.slice(at + 2, at + 6)) ? at + 5 : Infinity;
    return SHORT_ESCAPES.has(code) ? at + 1 : Infinity;
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #take(code: number): boolean {
    if (this.#next() !== code) return false;
    this.#at += 1;
    return true;
  }

  /** Past white space; NaN at the end. */
  #next(): number {
    const code = this.#text.charCodeAt(this.#at);
    if (code > 0x20) return code;
    this.#match(SPACE);
    return this.#text.charCodeAt(this.#at);
  }
}
