// Reads JSON text without building values: checks that it is JSON, and returns members exactly as written, so that a
// result can be passed on unchanged. Rejects what JSON.parse rejects, and nesting that could break a reader.
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
/** A number, true, false or null. */
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const FIRST_PRINTABLE = 0x20;
const LETTER_U = 0x75;
const SHORT_ESCAPES = new Set(Array.from('"\\/bfnrt', (char) => char.charCodeAt(0)));
const FOUR_DIGITS = /^[0-9a-fA-F]{4}$/;

export interface JsonMember {
  readonly name: string;
  /** Exactly as written. */
  readonly text: string;
}

/**
 * Members in order, including duplicates. Returns undefined if the text is not exactly one JSON object, or has more
 * than `max` members.
 */
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

/** The texts of the named members of an object. Returns undefined if any member occurs twice. */
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

/**
 * The elements exactly as written. Returns undefined if the text is not exactly one JSON array, or has more than `max`
 * elements.
 */
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
 * Whether any object in the text has two members of the same name: JSON.parse keeps the last, other parsers the first.
 * `normalized` is the value as JSON.stringify writes it.
 */
export function hasDuplicateMembers(text: string, normalized: string): boolean {
  return countColons(text) !== countColons(normalized);
}

/**
 * Counts colons outside of strings. Uses a loop, because a regular expression keeps a backtracking state for each
 * escape and overflows on millions of them.
 */
function countColons(json: string): number {
  let colons = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === COLON) colons += 1;
    else if (code === QUOTE) at = closingQuote(json, at);
  }
  return colons;
}

/**
 * Returns the text's length if there is no closing quote. Most of a text is in strings, and `indexOf` skips those fast.
 */
function closingQuote(json: string, opening: number): number {
  for (let at = json.indexOf('"', opening + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let escape = at;
    while (json.charCodeAt(escape - 1) === BACKSLASH) escape -= 1;
    if ((at - escape) % 2 === 0) return at;
  }
  return json.length;
}

export interface Nesting {
  /** Objects and arrays. */
  readonly containers: number;
  /** Members and elements, without the first of each container. */
  readonly values: number;
  readonly depth: number;
}

/** Stops counting at one container more than `max`. Does not check whether the text is JSON. */
export function nestingOf(json: string, max = Infinity): Nesting {
  let containers = 0;
  let values = 0;
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
    else if (code === COMMA) values += 1;
  }
  return { containers, values, depth };
}

export function countContainers(json: string, max = Infinity): number {
  return nestingOf(json, max).containers;
}

export interface JsonRange {
  /** The member's name, or undefined for an array element. */
  readonly name: string | undefined;
  readonly from: number;
  readonly to: number;
}

/**
 * Visits each value of the object or array that begins at `start`. Visits nothing for other values. Uses a callback,
 * because a text of some megabytes may have millions of values.
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

/** Replaces ranges, which must be in order. One pass, because there may be very many edits. */
export function applyJsonEdits(json: string, edits: readonly JsonEdit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, text } of edits) {
    parts.push(json.slice(at, from), text);
    at = to;
  }
  return parts.length === 0 ? json : parts.join("") + json.slice(at);
}

/** Sets a member of a JSON object and leaves everything else as written. */
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

/** Adds a string to the `_meta` of a result. A `_meta` that is not an object is replaced. */
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

  get at(): number {
    return this.#at;
  }

  isAt(code: number): boolean {
    return this.#next() === code;
  }

  /** Whether only white space is left. */
  isAtEnd(): boolean {
    return Number.isNaN(this.#next());
  }

  /** Reads a list of items between its brackets. */
  list(open: number, close: number, item: () => boolean): boolean {
    if (!this.#take(open)) return false;
    if (this.#take(close)) return true;
    do {
      if (!item()) return false;
    } while (this.#take(COMMA));
    return this.#take(close);
  }

  /** Reads a member's name and the colon after it. */
  name(): string | undefined {
    this.#next();
    const from = this.#at;
    if (!this.#string()) return undefined;
    const quoted = this.#text.slice(from, this.#at);
    if (!this.#take(COLON)) return undefined;
    return quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  /** Skips one value and returns where it began. */
  skip(): number | undefined {
    this.#next();
    const from = this.#at;
    return this.#value() ? from : undefined;
  }

  slice(): string | undefined {
    const from = this.skip();
    return from === undefined ? undefined : this.#text.slice(from, this.#at);
  }

  /** Not recursive, because the sender chooses the depth. */
  #value(): boolean {
    const closers: number[] = [];
    do {
      if (!this.#readUntilValue(closers)) return false;
    } while (this.#closeContainers(closers));
    return closers.length === 0;
  }

  /** Descends into containers to their first value, and reads that value if it is a scalar or an empty container. */
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

  /** After a value: closes the containers that end here. Returns true if another value must follow. */
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
    // A loop over char codes, because strings may have megabytes and most of a result is in them.
    for (let at = this.#at + 1; ; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (code === BACKSLASH) at = this.#escapeEnd(at);
      // Also matches NaN, which marks the end of the text.
      else if (!(code >= FIRST_PRINTABLE)) return false;
    }
  }

  /** Index of the last character of an escape, or Infinity if the escape is invalid. */
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

  /** Skips white space and returns the next char code, or NaN at the end. */
  #next(): number {
    const code = this.#text.charCodeAt(this.#at);
    if (code > 0x20) return code;
    this.#match(SPACE);
    return this.#text.charCodeAt(this.#at);
  }
}
