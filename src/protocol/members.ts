// Owns checking the types of what an author wrote, for authors whose editor does not. Refuses to say what a member may be
// beyond its type: whoever defines it checks that.

import { isObject, type JsonObject } from "./jsonrpc.ts";

/** A member of this name is of this type wherever it stands. */
const TYPES = [
  ...["name", "title", "description", "mimeType", "instructions", "uri", "uriTemplate"].map(
    (name) => [name, "string"] as const,
  ),
  ...["handler", "read", "seed", "visible", "around", "authenticate"].map((name) => [name, "function"] as const),
];

/** Throws a TypeError that names the member, wherever it is not of its type. `needed`: members that must be there. */
export function checkMembers(what: string, members: object, needed: readonly string[] = []): void {
  for (const [name, type] of TYPES) {
    const { [name]: value } = members as JsonObject;
    if (value === undefined ? needed.includes(name) : typeof value !== type) {
      throw new TypeError(`${what}: ${name} is a ${type}`);
    }
  }
}

/** Throws a TypeError for what is no object, and for a member that is not `known`: nobody would look at it. */
export function refuseStray(what: string, members: unknown, known?: string): void {
  if (!isObject(members)) throw new TypeError(`${what} is an object`);
  const names = known?.split(" ") ?? Object.keys(members);
  const stray = Object.keys(members).find((member) => !names.includes(member));
  if (stray !== undefined) throw new TypeError(`${what}: ${stray} is no member of it, only ${names.join(", ")}`);
}

type Given<T> = {
  readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key];
} & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** The members that are there: JSON has no undefined. */
export function given<T extends object>(members: T): Given<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
