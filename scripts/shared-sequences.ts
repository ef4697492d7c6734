// Which short sequences of characters texts in a row have in common, and what a text shares with those around it: what gzip
// would find again, which counts more if it is near. In flat arrays, for each sequence is asked for some thousand times.

/** In characters. Short ones count what is a little alike; where long ones are alike, more is saved, and all count. */
const LENGTHS = [4, 6, 9, 14];
/** What more texts than these have is near in any order. */
const COMMON = 200;
/** In characters: places in so many count as one when all of them are compared. */
export const STRETCH = 512;
/** What is shared counts within so many characters, since gzip looks no farther back, and more within fewer: it writes those in fewer bits. */
const STEPS = [
  { within: 32_000, counts: 1 },
  { within: 8192, counts: 0.12 },
  { within: 2048, counts: 0.12 },
  { within: 512, counts: 0.12 },
];

/** By distance in characters. */
const WORTH = Float64Array.from({ length: 32_000 }, (_, distance) =>
  STEPS.reduce((sum, { within, counts }) => (distance < within ? sum + counts : sum), 0),
);

function worthOf(distance: number): number {
  return distance < WORTH.length ? (WORTH[Math.max(0, distance)] ?? 0) : 0;
}

export class SharedSequences {
  /** By sequence: where its places begin, and where those of the next one do. */
  readonly #from: Int32Array;
  /** By place, those of one sequence in the order of the row: the text, where in it the sequence comes first, and where last. */
  readonly #text: Int32Array;
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** By text, three numbers for each of its sequences: which one, and where in it that comes first and last. */
  readonly #own: readonly Int32Array[];
  /** By text, in characters: where it stands. The one that is asked about counts as taken out. */
  readonly #starts: Int32Array;

  constructor(texts: readonly string[], starts: Int32Array) {
    const found = LENGTHS.flatMap((length) => placesOf(texts, length));
    const sizes = found.map((places) => places.length / 3);
    this.#from = new Int32Array(found.length + 1);
    for (const [sequence, size] of sizes.entries()) this.#from[sequence + 1] = at(this.#from, sequence) + size;
    const flat = found.flat();
    const column = (number: number): Int32Array => Int32Array.from(flat.filter((_, index) => index % 3 === number));
    [this.#text, this.#first, this.#last] = [column(0), column(1), column(2)];
    const own: number[][] = texts.map(() => []);
    for (const [sequence, places] of found.entries()) {
      for (let place = 0; place < places.length; place += 3)
        own[places[place] ?? 0]?.push(sequence, places[place + 1] ?? 0, places[place + 2] ?? 0);
    }
    this.#own = own.map((its) => Int32Array.from(its));
    this.#starts = starts;
  }

  /** What `text` would share if it stood at `start`, over what is lost where it stands between two that share. */
  sharedAt(text: number, start: number): number {
    const own = this.#own[text] ?? new Int32Array();
    let shared = 0;
    for (let one = 0; one < own.length; one += 3) {
      const until = at(this.#from, at(own, one) + 1);
      let before = -Infinity;
      let next = Infinity;
      for (let place = at(this.#from, at(own, one)); place < until; place += 1) {
        const holder = at(this.#text, place);
        if (holder === text) continue;
        const stands = at(this.#starts, holder);
        if (stands >= start) {
          next = stands + at(this.#first, place);
          break;
        }
        before = stands + at(this.#last, place);
      }
      shared += worthOf(start + at(own, one + 1) - before) + worthOf(next - start - at(own, one + 2));
      shared -= worthOf(next - before);
    }
    return shared;
  }

  /** By stretch: about what `sharedAt` would say there, the length of the text aside. */
  profile(text: number, profile: Float64Array): void {
    profile.fill(0);
    const own = this.#own[text] ?? new Int32Array();
    for (let one = 0; one < own.length; one += 3) {
      const until = at(this.#from, at(own, one) + 1);
      let before = -Infinity;
      for (let place = at(this.#from, at(own, one)); place < until; place += 1) {
        const holder = at(this.#text, place);
        if (holder === text) continue;
        const stands = at(this.#starts, holder);
        between(profile, before, stands + at(this.#first, place));
        before = stands + at(this.#last, place);
      }
      between(profile, before, Infinity);
    }
    // Until here, by how much each stretch is worth more than the one before it.
    for (let stretch = 1; stretch < profile.length; stretch += 1)
      profile[stretch] = (profile[stretch] ?? 0) + (profile[stretch - 1] ?? 0);
  }

  /** After `text` was moved in the row. */
  moved(text: number): void {
    const own = this.#own[text] ?? new Int32Array();
    for (let one = 0; one < own.length; one += 3) {
      const sequence = at(own, one);
      const from = at(this.#from, sequence);
      const until = at(this.#from, sequence + 1);
      let place = this.#text.subarray(from, until).indexOf(text) + from;
      for (; place > from && this.#isBefore(place, place - 1); place -= 1) this.#swap(place, place - 1);
      for (; place + 1 < until && this.#isBefore(place + 1, place); place += 1) this.#swap(place, place + 1);
    }
  }

  #isBefore(place: number, other: number): boolean {
    return at(this.#starts, at(this.#text, place)) < at(this.#starts, at(this.#text, other));
  }

  #swap(place: number, other: number): void {
    for (const column of [this.#text, this.#first, this.#last]) {
      const kept = at(column, place);
      column[place] = at(column, other);
      column[other] = kept;
    }
  }
}

/** Of each sequence that several texts have, three numbers for each of them: which it is, and where it comes first and last. */
function placesOf(texts: readonly string[], length: number): number[][] {
  const places = new Map<string, number[]>();
  for (const [number, text] of texts.entries()) {
    for (let start = 0; start + length <= text.length; start += 1) {
      const sequence = text.slice(start, start + length);
      const known = places.get(sequence);
      if (known?.at(-3) === number) known[known.length - 1] = start;
      else if (known) known.push(number, start, start);
      else places.set(sequence, [number, start, start]);
    }
  }
  return [...places.values()].filter((its) => its.length > 3 && its.length <= 3 * COMMON);
}

/** Adds by how much one sequence changes what a stretch is worth, from where it stood last to where it comes next. */
function between(profile: Float64Array, before: number, next: number): void {
  const end = profile.length - 1;
  const from = before < 0 ? 0 : Math.floor(before / STRETCH);
  const to = next === Infinity ? end : Math.min(end, Math.floor(next / STRETCH));
  const add = (first: number, last: number, worth: number): void => {
    profile[first] = (profile[first] ?? 0) + worth;
    if (last < end) profile[last + 1] = (profile[last + 1] ?? 0) - worth;
  };
  for (const { within, counts } of STEPS) {
    const far = Math.floor(within / STRETCH);
    if (before >= 0) add(from, Math.min(to, from + far), counts);
    if (next !== Infinity) add(Math.max(from, to - far), to, counts);
  }
  const lost = worthOf(next - before);
  if (lost > 0) add(from, to, -lost);
}

function at(numbers: Int32Array, index: number): number {
  return numbers[index] ?? 0;
}
