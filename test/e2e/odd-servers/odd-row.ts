// What a row of the odd-server table is: a server of era 2025 that works, but for one thing.

import type { Manner, Oddity } from "./odd-request.ts";

export const LISTS = ["tools", "prompts", "resources", "templates"] as const;
export type ListName = (typeof LISTS)[number];

/** What a caller may ask for: the tool `go`, the prompt `hello`, the resource `ID://note`. */
export type Request = "call" | "get" | "read";

export interface OddRow extends Manner {
  /** Unique in its kind, together with `list`. */
  readonly what: string;
  readonly odd: Oddity;
  /** Some client waits in vain. */
  readonly isSilent?: true;
  /** Asked for beside `call`. */
  readonly also?: readonly ("get" | "read")[];
  /** The one list that is odd. */
  readonly list?: ListName;
  /** The server's own words, in the error that it answers. */
  readonly words?: string;
  /** The rules want more than the stricter client gives. */
  readonly gateway?: Demand;
  /** The gateway is worse than both clients, and `tenantry doctor` or `upstream test` says this sentence. */
  readonly worse?: string;
}

export interface Demand {
  /** Nothing of it is lost. */
  readonly works?: true;
  /** All lists but the odd one are served. */
  readonly others?: true;
  /** A call ends in an error that says this. */
  readonly callFails?: RegExp;
  /** What the source lacks is said, and why. */
  readonly missing?: RegExp;
  /** The words of the server are in what is said of the source. */
  readonly saysWords?: true;
}

export interface OddKind {
  readonly kind: string;
  readonly rows: readonly OddRow[];
}

export const WORDS = "the shelf fell down";
export const WORKS = { gateway: { works: true } } as const;
