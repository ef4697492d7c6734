// Owns the end of a tenant's object: it is closed, then erased, and remembers that for as long as a call that began
// before can go on writing. Then nothing at all is left.

import { omitUndefined } from "../../protocol/members.ts";
import type { TenantUid } from "./tenant-uid.ts";

/** As long as the longest time limit of a tool. */
export const TOMBSTONE_MS = 3_600_000;
const KEY = "closure";

/** `created`: of the tenant that ended; absent where none did. */
type StoredDeletion = { readonly created?: TenantUid } & (
  | { readonly state: "closing" }
  | { readonly state: "erased"; readonly until: number }
);

export interface DeletionState {
  /** Closing or erased: nothing may be written. */
  isClosed(): boolean;
  /** Which tenant of the name ended here last; undefined: none did that is remembered. */
  deletedUid(): TenantUid | undefined;
  /** The same while it is not erased yet. */
  closingUid(): TenantUid | undefined;
  close(uid: TenantUid): void;
  /** Another tenant takes the name. */
  reopen(): void;
  /** Until when an erased object must be remembered; undefined for one that is not erased. */
  erasedUntil(): number | undefined;
  /** Deletes everything stored; gives the time until which the object stays closed, milliseconds since the epoch. */
  erase(now: number): Promise<number>;
  /** Deletes even the memory of having been erased. */
  forget(): Promise<void>;
}

export function createDeletionState(storage: DurableObjectStorage): DeletionState {
  let deletion = storage.kv.get<StoredDeletion>(KEY);
  const set = (next: StoredDeletion | undefined) => {
    deletion = next;
    if (next) storage.kv.put(KEY, next);
    else storage.kv.delete(KEY);
  };
  return {
    isClosed: () => deletion !== undefined,
    deletedUid: () => deletion?.created,
    closingUid: () => (deletion?.state === "closing" ? deletion.created : undefined),
    close: (created) => {
      set({ state: "closing", created });
    },
    reopen: () => {
      set(undefined);
    },
    erasedUntil: () => (deletion?.state === "erased" ? deletion.until : undefined),
    erase: async (now) => {
      const { created } = deletion ?? {};
      await storage.deleteAll();
      const until = now + TOMBSTONE_MS;
      set({ state: "erased", until, ...omitUndefined({ created }) });
      return until;
    },
    forget: async () => {
      await storage.deleteAll();
      deletion = undefined;
    },
  };
}
