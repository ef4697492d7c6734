// Owns the end of a tenant's object: being closed, erased, and remembering that for as long as a call that began before
// can go on writing. Then nothing at all is left.

/** Longer than any call takes. */
export const CLOSED_FOR_MS = 3_600_000;
const KEY = "closure";

type State = { readonly state: "closing" } | { readonly state: "erased"; readonly until: number };

export interface Closure {
  isClosed(): boolean;
  setClosed(closed: boolean): void;
  /** Until when an erased object must be remembered; undefined for one that is not erased. */
  erasedUntil(): number | undefined;
  /** Says until when. */
  erase(now: number): Promise<number>;
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
    setClosed: (closed) => {
      set(closed ? { state: "closing" } : undefined);
    },
    erasedUntil: () => (closure?.state === "erased" ? closure.until : undefined),
    erase: async (now) => {
      await storage.deleteAll();
      const until = now + CLOSED_FOR_MS;
      set({ state: "erased", until });
      return until;
    },
    forget: async () => {
      await storage.deleteAll();
      closure = undefined;
    },
  };
}
