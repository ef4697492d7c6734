// Owns the end of a tenant's object: it is closed, then erased, and remembers that for as long as a call that began
// before can go on writing. Then nothing at all is left.

/** As long as the longest time limit of a tool. */
export const CLOSED_FOR_MS = 3_600_000;
const KEY = "closure";

type State = { readonly state: "closing" } | { readonly state: "erased"; readonly until: number };

export interface Closure {
  /** Closing or erased: nothing may be written. */
  isClosed(): boolean;
  setClosed(closed: boolean): void;
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
  // Release 0.1.0 made the row of a tenant in code and left the closure: its alarm must not delete what was kept since.
  if (closure?.state === "erased" && isTaken(storage.sql)) set(undefined);
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

/** Whether a tenant has the name now. */
function isTaken(sql: SqlStorage): boolean {
  const made = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'tenant'").toArray().length > 0;
  return made && sql.exec("SELECT 1 FROM tenant").toArray().length > 0;
}
