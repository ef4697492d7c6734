// Checks the types of an author's definitions at run time, for authors whose editor does not. Rules beyond the type are
// checked where a member is defined.

import { isObject, type JsonObject } from "./jsonrpc.ts";
import { didYouMean } from "./did-you-mean.ts";

/** A member of one of these names has this type wherever it occurs. */
const TYPES = Object.entries({
  "a string":
    "name title description mimeType instructions uri uriTemplate text version websiteUrl defaultTenant path src icon",
  "a function": "handler read seed visible around authenticate list beforeCall afterCall onError",
  "a boolean": "readOnlyHint destructiveHint idempotentHint openWorldHint required search",
  "a number": "priority size ttlMs closeAfterMs retryMs timeoutMs",
  "an object": "annotations cache limits scopes",
  "a list": "icons audience",
}).map(([type, names]) => [type, names.split(" ")] as const);

/** Throws a TypeError that names the first member of the wrong type. `needed`: required members. */
export function assertTypes(what: string, members: object, needed: readonly string[] = []): void {
  for (const [type, names] of TYPES) {
    for (const name of names) {
      const { [name]: value } = members as JsonObject;
      if (value === undefined ? needed.includes(name) : typeOf(value) !== type) {
        throw new TypeError(`${what}: ${name} ${typeRule(type, value)}`);
      }
    }
  }
}

/** Rule of an error text: `must be a function, not undefined`. */
export function typeRule(type: string, value: unknown): string {
  return `must be ${type}, not ${typeOf(value)}`;
}

export function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Throws a TypeError if options were passed to a function that has none. */
export function assertNoOptions(what: string, options: readonly unknown[]): void {
  if (options.length > 0) throw new TypeError(`${what}() takes no options`);
}

/**
 * Throws a TypeError for anything but an object, and for an unknown member, which would be ignored silently. With
 * `mayBeOthers`, unknown members are allowed unless they look like a misspelled known one.
 */
export function assertKnownKeys(what: string, members: unknown, knownKeys?: string, mayBeOthers = false): void {
  if (!isObject(members)) throw new TypeError(`${what} ${typeRule("an object", members)}`);
  const names = knownKeys?.split(" ") ?? Object.keys(members);
  for (const member of Object.keys(members)) {
    if (names.includes(member)) continue;
    const near = didYouMean(member, names) || suggestByAffix(member, names, mayBeOthers);
    if (mayBeOthers && near === "") continue;
    throw new TypeError(`${what}: unknown field ${member}, expected ${names.join(", ")}${near}`);
  }
}

/** Suggests `readOnlyHint` for `readOnly`, and `input` for `inputSchema` unless unknown members are allowed. */
function suggestByAffix(member: string, names: readonly string[], mayBeOthers: boolean): string {
  const isMeant = (name: string) => !mayBeOthers && name !== "" && member.startsWith(name);
  const name = names.find((one) => one === `${member}Hint` || isMeant(one));
  return name === undefined ? "" : `; did you mean "${name}"?`;
}

/** Returns undefined if the value is an integer in the range. */
export function integerRangeError(name: string, value: unknown, least: number, most: number): string | undefined {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return undefined;
  return `${name} must be a whole number from ${least} to ${most}`;
}

/** Like `assertKnownKeys`, and also checks the types. */
export function assertMemberTypes(what: string, members: unknown, knownKeys: string, needed?: readonly string[]): void {
  assertKnownKeys(what, members, knownKeys);
  assertTypes(what, members as object, needed);
}

type OmitUndefined<T> = {
  readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key];
} & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** Removes undefined members: JSON has no undefined. */
export function omitUndefined<T extends object>(members: T): OmitUndefined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
