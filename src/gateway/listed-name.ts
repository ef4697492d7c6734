// Owns the names under which what an upstream offers is listed: `ID__name`, the same whatever its neighbours are called.
// Pure. A name that clients would refuse is shortened, with a hash of the whole in its end.

/** The longest name that every client takes. */
export const LONGEST_LISTED = 64;
const SEPARATOR = "__";
const HASH_CHARACTERS = 10;
/** Where a name of full length ends in this form, it could be a shortened one: so it is given a hash of its own. */
const LOOKS_SHORTENED = /-[0-9a-v]{10}$/;
const ILLEGAL = /[^A-Za-z0-9_.-]/g;

export function listedName(id: string, name: string): string {
  const whole = `${id}${SEPARATOR}${name}`;
  // A caller may name something of megabytes: one more than there is room for is enough to tell.
  const legal = whole.slice(0, LONGEST_LISTED + 1).replaceAll(ILLEGAL, "_");
  const isFull = legal.length === LONGEST_LISTED && LOOKS_SHORTENED.test(legal);
  if (legal === whole && legal.length <= LONGEST_LISTED && !isFull) return whole;
  const room = LONGEST_LISTED - HASH_CHARACTERS - 1;
  return `${legal.slice(0, room).padEnd(room, "_")}-${hashOf(name)}`;
}

/** The id of the upstream in a listed name, and what follows it; undefined for a name that has none. */
export function splitName(listed: string): { readonly id: string; readonly rest: string } | undefined {
  const at = listed.indexOf(SEPARATOR);
  return at <= 0 ? undefined : { id: listed.slice(0, at), rest: listed.slice(at + SEPARATOR.length) };
}

/** 50 bits of two mixed products. Whoever makes two names meet in it harms only the upstream that lists both. */
export function hashOf(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  const bits = BigInt(b >>> 0) * 0x1_0000_0000n + BigInt(a >>> 0);
  return (bits & 0x3_ffff_ffff_ffffn).toString(32).padStart(HASH_CHARACTERS, "0");
}
