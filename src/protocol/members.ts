// Owns checking the types of what an author wrote, for authors whose editor does not. Refuses to say what a member may be
// beyond its type: whoever defines it checks that.

import { isObject, type JsonObject } from "./jsonrpc.ts";
import { didYouMean } from "./did-you-mean.ts";

/** A member of this name is of this type wherever it stands. */
const TYPES = Object.entries({
  "a string":
    "name title description mimeType instructions uri uriTemplate text version websiteUrl defaultTenant path src icon",
  "a function": "handler read seed visible around authenticate list beforeCall afterCall onError",
  "a boolean": "readOnlyHint destructiveHint idempotentHint openWorldHint required search",
  "a number": "priority size ttlMs closeAfterMs retryMs timeoutMs",
  "an object": "annotations cache limits scopes",
  "a list": "icons audience",
}).map(([type, names]) => [type, names.split(" ")] as const);

/** Throws a TypeError that names the member, wherever it is not of its type. `needed`: members that must be there. */
export function assertTypes(what: string, members: object, needed: readonly string[] = []): void {
  for (const [type, names] of TYPES) {
    for (const name of names) {
      const { [name]: value } = members as JsonObject;
      if (value === undefined ? needed.includes(name) : typeOf(value) !== type) {
        throw new TypeError(`${what}: ${name} is ${type}`);
      }
    }
  }
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Throws a TypeError where a function was given something that looks at nothing. */
export function assertNoOptions(what: string, options: readonly unknown[]): void {
  if (options.length > 0) throw new TypeError(`${what}() has no options`);
}

/**
 * Throws a TypeError for what is no object, and for a member that is not `known`: nobody would look at it. Where there may
 * be others, only for one that was meant to be known.
 */
export function assertKnownKeys(what: string, members: unknown, knownKeys?: string, mayBeOthers = false): void {
  if (!isObject(members)) throw new TypeError(`${what} is an object`);
  const names = knownKeys?.split(" ") ?? Object.keys(members);
  for (const member of Object.keys(members)) {
    if (names.includes(member)) continue;
    const near = didYouMean(member, names) || (mayBeOthers ? "" : suggestByPrefix(member, names));
    if (mayBeOthers && near === "") continue;
    throw new TypeError(`${what}: ${member} is no member of it, only ${names.join(", ")}${near}`);
  }
}

/** As `inputSchema` by `input`, for who knows the words of the protocol. */
function suggestByPrefix(member: string, names: readonly string[]): string {
  const name = names.find((one) => one !== "" && member.startsWith(one));
  return name === undefined ? "" : `; did you mean "${name}"?`;
}

/** undefined: it is such a number. */
export function integerRangeError(name: string, value: unknown, least: number, most: number): string | undefined {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return undefined;
  return `${name} is a whole number from ${least} to ${most}`;
}

/** As `refuseStray`, and what is there is of its type. */
export function assertMemberTypes(what: string, members: unknown, knownKeys: string, needed?: readonly string[]): void {
  assertKnownKeys(what, members, knownKeys);
  assertTypes(what, members as object, needed);
}

type OmitUndefined<T> = {
  readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key];
} & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** The members that are there: JSON has no undefined. */
export function omitUndefined<T extends object>(members: T): OmitUndefined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
