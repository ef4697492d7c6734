// What the tenants of the scaling table store: made from numbers alone, so that the Worker that stores it and the load that
// asks for it agree. Every tenant has as many texts about one topic, and as many that are read, however many it has in all.

/** Texts about one topic; as many as `search` returns at most. */
export const TOPIC_TEXTS = 10;
/** URIs that are read, spread evenly over the tenant; of the others nothing asks for the body. */
const READ = 10;
/** A word of every text. */
export const COMMON_WORD = "handbook";
const MANY = 100;
const LETTERS = 26;
const WORDS = 60;

/** The tenant whose clients ended many sessions; it stores nothing. */
export const ENDED_TENANT = "ended";

export const TENANTS: readonly string[] = [
  "ten",
  "page",
  "large",
  ENDED_TENANT,
  ...Array.from({ length: MANY }, (_, at) => oneOf(at)),
];

/** What is filled at once. */
export interface Part {
  tenant: string;
  /** How many resources the tenant has in the end. */
  size: number;
  from: number;
  to: number;
}

/** Sessions that are ended at once. */
export interface Endings {
  tenant: string;
  count: number;
}

export function oneOf(number: number): string {
  return `one-of-many-${number % MANY}`;
}

export function uriOf(number: number): string {
  return `docs://${Math.floor(number / 100)}/${number}`;
}

export function readNumber(n: number, size: number): number {
  return (n % READ) * (size / READ);
}

export function isRead(number: number, size: number): boolean {
  return number % (size / READ) === 0;
}

/** About 700 characters. Some words are in many texts and some in few, as in what people write. */
export function textOf(number: number): string {
  const words = Array.from({ length: WORDS }, (_, at) => word("w", (number * 31 + at * at * 7) % (20 + at * 40)));
  return `${COMMON_WORD} ${topicOf(number)} number ${number} ${words.join(" ")}`;
}

/** The word that this text and nine others have. */
export function topicOf(number: number): string {
  return word("topic", Math.floor(number / TOPIC_TEXTS));
}

/** Of one length, so that none begins with another: `search` also finds what a word begins. */
function word(kind: string, number: number): string {
  let letters = "";
  for (let rest = number; letters.length < 5; rest = Math.floor(rest / LETTERS)) {
    letters += String.fromCodePoint(97 + (rest % LETTERS));
  }
  return kind + letters;
}
