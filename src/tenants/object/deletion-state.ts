// The end of a tenant object: it is closed, then erased. It remembers that for as long as an earlier call may still
// write. Then everything is deleted.

import { omitUndefined } from "../../protocol/members.ts";
import type { TenantUid } from "./tenant-uid.ts";

/** As long as the longest time limit of a tool. */
export const TOMBSTONE_MS = 3_600_000;
const KEY = "closure";

/** `created`: the uid of the deleted tenant; absent if there was none. */
type StoredDeletion = { readonly created?: TenantUid } & (
  | { readonly state: "closing" }
  | { readonly state: "erased"; readonly until: number }
);

export interface DeletionState {
  /** Closing or erased: nothing may be written. */
  isClosed(): boolean;
  /** The uid of the last tenant of this name that was deleted here; undefined if none is remembered. */
  deletedUid(): TenantUid | undefined;
  /** The same uid, until the object is erased. */
  closingUid(): TenantUid | undefined;
  close(uid: TenantUid): void;
  /** Another tenant takes the name. */
  reopen(): void;
  /** Until when an erased object must be remembered; undefined if it is not erased. */
  erasedUntil(): number | undefined;
  /** Deletes all storage. Returns until when the object stays closed, in milliseconds since the epoch. */
  erase(now: number): Promise<number>;
  /** Deletes even the record of the erasure. */
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
