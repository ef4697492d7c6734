// Owns which tenant of a name is meant. One that is deleted and made again is another one: every call to a keeper of its
// state says which it means, and whatever is kept outside of its authority is kept under a name that no other one has.
// Refuses what is meant for another, however late it comes.

import { AppError } from "../../protocol/app-error.ts";
import { waitBeforeRetry } from "../cache/retry-if-idempotent.ts";

/** When a tenant was made, ISO 8601: no other one of its name, before or after it, has the same. */
export type TenantUid = string;

/** For asking who has a name now, and for what every tenant is told, whoever it is. Refused to whatever belongs to one. */
export const ANY_UID: TenantUid = "*";

/** The last three digits are by lot, so that two made within a millisecond differ. */
export function createTenantUid(now: number): TenantUid {
  const [random = 0] = crypto.getRandomValues(new Uint16Array(1));
  return `${new Date(now).toISOString().slice(0, -1)}${String(random % 1000).padStart(3, "0")}Z`;
}

/** What stands for the tenant in the names of objects and of bodies; `incarnation` "": nobody has the name. Ids have no "@". */
export function storageKey(tenant: string, uid: TenantUid): string {
  return uid === "" ? tenant : `${tenant}@${uid}`;
}

/** `gone`: what a call means is not, or not any more, what the object keeps; `busy`: the object is not ready for it yet. */
export type RpcRefusal = { readonly gone: true } | { readonly busy: true };
/** What became of a call. */
export type RpcResult = { readonly value: unknown } | RpcRefusal;

export { OTHER_RELEASE, UNRELEASED } from "../../telemetry/error-line.ts";

/**
 * What most leases are answered. Its text is sent in the place of this very object: with an answer that is an object the
 * platform makes a function that lets go of it, which costs more than the answer.
 */
export const UNCHANGED = { state: "unchanged" } as const;
/** What became of a call, as it is sent. */
export type RpcReply = RpcResult | typeof UNCHANGED.state;

/** Over RPC, an object that keeps tables has one for each method of theirs, as `policy.lease`. */
type RpcMethod = (uid: TenantUid, ...args: readonly unknown[]) => Promise<RpcReply>;

/** The same object for one incarnation: nobody who has this can mean another. */
export interface TenantStub {
  /** `method`: as in `policy.lease`. */
  call(method: string, args: readonly unknown[], isIdempotent: boolean): Promise<unknown>;
}

const BUSY_SECONDS = 2;

/**
 * The one way to a keeper. What it calls throws `unknownTenant` where the incarnation is gone, and `busy`. `find` gives a new stub:
 * the one that failed may be of no more use.
 */
export function createTenantStub(getObject: () => object, uid: TenantUid): TenantStub {
  const firstObject = getObject();
  return {
    call: async (method, args, isIdempotent) => {
      const invoke = (object: object) => ((object as Record<string, RpcMethod>)[method] as RpcMethod)(uid, ...args);
      let reply: RpcReply;
      try {
        reply = await invoke(firstObject);
      } catch (error) {
        if (!isIdempotent) throw error;
        await waitBeforeRetry(error);
        reply = await invoke(getObject());
      }
      if (reply === UNCHANGED.state) return UNCHANGED;
      if ("gone" in reply) throw new AppError("unknownTenant");
      if ("busy" in reply) throw new AppError("busy", { retryAfter: BUSY_SECONDS });
      return reply.value;
    },
  };
}

/** What was stored for a write goes where the write finds its tenant gone: nobody else would look for it. */
export async function withCleanup<T>(write: Promise<T>, cleanUp: () => Promise<unknown>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isUnknownTenant(error)) await cleanUp();
    throw error;
  }
}

/** Whether a call was refused because its tenant is not there any more. */
export function isUnknownTenant(error: unknown): boolean {
  return error instanceof AppError && error.key === "unknownTenant";
}
