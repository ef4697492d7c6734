// Owns the end of a tenant's object: it is closed, then erased, and remembers that for as long as a call that began
// before can go on writing. Then nothing at all is left.

import { given } from "../../protocol/members.ts";
import type { Incarnation } from "./incarnation.ts";

/** As long as the longest time limit of a tool. */
export const CLOSED_FOR_MS = 3_600_000;
const KEY = "closure";

/** `created`: of the tenant that ended; absent where none did. */
type State = { readonly created?: Incarnation } & (
  | { readonly state: "closing" }
  | { readonly state: "erased"; readonly until: number }
);

export interface Closure {
  /** Closing or erased: nothing may be written. */
  isClosed(): boolean;
  /** Which tenant of the name ended here last; undefined: none did that is remembered. */
  incarnation(): Incarnation | undefined;
  /** The same while it is not erased yet. */
  ending(): Incarnation | undefined;
  close(incarnation: Incarnation): void;
  /** Another tenant takes the name. */
  reopen(): void;
  /** Until when an erased object must be remembered; undefined for one that is not erased. */
  erasedUntil(): number | undefined;
  /** Deletes everything stored; gives the time until which the object stays closed, milliseconds since the epoch. */
  erase(now: number): Promise<number>;
  /** Deletes even the memory of having been erased. */
  forget(): Promise<void>;
}

export function createClosure(storage: DurableObjectStorage): Closure {
  let closure = storage.kv.get<State>(KEY);
  const set = (next: State | undefined) => {
    closure = next;
    if (next) storage.kv.put(KEY, next);
    else storage.kv.delete(KEY);
  };
  return {
    isClosed: () => closure !== undefined,
    incarnation: () => closure?.created,
    ending: () => (closure?.state === "closing" ? closure.created : undefined),
    close: (created) => {
      set({ state: "closing", created });
    },
    reopen: () => {
      set(undefined);
    },
    erasedUntil: () => (closure?.state === "erased" ? closure.until : undefined),
    erase: async (now) => {
      const { created } = closure ?? {};
      await storage.deleteAll();
      const until = now + CLOSED_FOR_MS;
      set({ state: "erased", until, ...given({ created }) });
      return until;
    },
    forget: async () => {
      await storage.deleteAll();
      closure = undefined;
    },
  };
}
