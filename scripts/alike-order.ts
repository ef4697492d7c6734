// Texts in an order in which those that are alike stand near each other, which is what gzip compresses: it looks 32 KiB back.
// One after the other, whichever shares most with what stands just before it, over what it would share with any other place.
// Nothing is drawn: the same texts give the same order.

interface Ordered<T> {
  readonly text: string;
  /** Those that must stand before it. */
  readonly after: ReadonlySet<T>;
}

/** In characters: what is shared is counted in sequences of so many. */
const SEQUENCE = 5;
/** What more texts than these have is near in any order. */
const COMMON = 200;
/** In characters: how far back something counts as near. */
const NEAR = 32_000;
/** Added to all that a text could share, so that the shortest texts do not always come first. */
const RESERVE = 200;

interface Text<T> {
  readonly one: T;
  readonly sequences: readonly Sequence<T>[];
  /** What all of its sequences count. */
  readonly total: number;
  /** What those count of which some other text would be near in an order that is no order. */
  readonly usual: number;
  waitsFor: number;
  /** What those of its sequences count that are near. */
  shared: number;
}

interface Sequence<T> {
  /** More for what few have. */
  readonly counts: number;
  readonly usual: number;
  readonly texts: Text<T>[];
  /** How many texts that are near have it. */
  near: number;
}

export function alikeOrder<T extends Ordered<T>>(ones: readonly T[]): T[] {
  return inOrder(countedTexts(ones));
}

function countedTexts<T extends Ordered<T>>(ones: readonly T[]): Text<T>[] {
  const holders = new Map<string, number>();
  const sequencesOf = ones.map(({ text }) => {
    const its = new Set<string>();
    for (let at = 0; at + SEQUENCE <= text.length; at += 1) its.add(text.slice(at, at + SEQUENCE));
    for (const sequence of its) holders.set(sequence, (holders.get(sequence) ?? 0) + 1);
    return its;
  });
  const chances = chancesToBeNear(ones.reduce((sum, { text }) => sum + text.length, 0));
  const known = new Map<string, Sequence<T>>();
  for (const [sequence, count] of holders) {
    if (count < 2 || count > COMMON) continue;
    const counts = Math.clz32(count) - Math.clz32(ones.length) + 1;
    known.set(sequence, { counts, usual: counts * (chances[count - 1] ?? 0), texts: [], near: 0 });
  }
  return ones.map((one, at) => {
    const sequences = [...(sequencesOf[at] ?? [])].flatMap((sequence) => known.get(sequence) ?? []);
    const total = sequences.reduce((sum, { counts }) => sum + counts, 0);
    const usual = sequences.reduce((sum, sequence) => sum + sequence.usual, 0);
    const text: Text<T> = { one, sequences, total, usual, waitsFor: 0, shared: 0 };
    for (const { texts } of sequences) texts.push(text);
    return text;
  });
}

/** That some of so many texts, from none to `COMMON`, is near to a place among all that are `length` together. */
function chancesToBeNear(length: number): number[] {
  const chances = [0];
  for (let chance = 0; chances.length <= COMMON; chances.push(chance))
    chance += (1 - chance) * Math.min(1, NEAR / length);
  return chances;
}

function inOrder<T extends Ordered<T>>(texts: readonly Text<T>[]): T[] {
  const left = new Set(texts);
  for (const text of texts) {
    text.waitsFor = text.one.after.size;
    text.shared = 0;
    for (const sequence of text.sequences) sequence.near = 0;
  }
  const waiting = Map.groupBy(
    texts.flatMap((text) => [...text.one.after].map((before) => ({ before, text }))),
    ({ before }) => before,
  );
  const order: Text<T>[] = [];
  let [near, gone] = [0, 0];
  while (left.size > 0) {
    const next = mostAlike(left);
    left.delete(next);
    order.push(next);
    for (const { text } of waiting.get(next.one) ?? []) text.waitsFor -= 1;
    comeNear(next);
    near += next.one.text.length;
    for (let last = order[gone]; last !== undefined && last !== next && near > NEAR; last = order[gone]) {
      leave(last);
      near -= last.one.text.length;
      gone += 1;
    }
  }
  return order.map(({ one }) => one);
}

function mostAlike<T>(left: ReadonlySet<Text<T>>): Text<T> {
  let best: Text<T> | undefined;
  let most = -Infinity;
  for (const text of left) {
    if (text.waitsFor > 0) continue;
    const more = (text.shared - text.usual) / (text.total + RESERVE);
    if (more > most) [best, most] = [text, more];
  }
  if (best === undefined) throw new Error("these wait for each other");
  return best;
}

function comeNear<T>({ sequences }: Text<T>): void {
  for (const sequence of sequences) {
    if (sequence.near === 0) for (const text of sequence.texts) text.shared += sequence.counts;
    sequence.near += 1;
  }
}

function leave<T>({ sequences }: Text<T>): void {
  for (const sequence of sequences) {
    sequence.near -= 1;
    if (sequence.near === 0) for (const text of sequence.texts) text.shared -= sequence.counts;
  }
}
