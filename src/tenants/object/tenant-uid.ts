// Distinguishes tenants of the same name: a tenant that is deleted and created again is another tenant. Every call to
// an object with tenant state says which tenant it means. Data outside the tenant object is stored under a name that no
// other tenant has. A call for another tenant is refused, however late it arrives.

import { AppError } from "../../protocol/app-error.ts";
import { waitBeforeRetry } from "../cache/retry-if-idempotent.ts";

/** When a tenant was created, ISO 8601. No earlier or later tenant of its name has the same uid. */
export type TenantUid = string;

/**
 * For asking which tenant has a name, and for messages to every tenant. Objects that belong to one tenant, such as the
 * content object, refuse it.
 */
export const ANY_UID: TenantUid = "*";

/** The last three digits are random, so that two tenants created in the same millisecond differ. */
export function createTenantUid(now: number): TenantUid {
  const [random = 0] = crypto.getRandomValues(new Uint16Array(1));
  return `${new Date(now).toISOString().slice(0, -1)}${String(random % 1000).padStart(3, "0")}Z`;
}

/** The tenant's prefix in the names of objects and bodies. `uid` "": no tenant has the name. Ids contain no "@". */
export function storageKey(tenant: string, uid: TenantUid): string {
  return uid === "" ? tenant : `${tenant}@${uid}`;
}

/**
 * `gone`: the object does not have the tenant that the call means, or not any more. `busy`: the object is not ready for
 * the call yet.
 */
export type RpcRefusal = { readonly gone: true } | { readonly busy: true };
export type RpcResult = { readonly value: unknown } | RpcRefusal;

export { OTHER_RELEASE, UNRELEASED } from "../../telemetry/error-line.ts";

/**
 * The most frequent answer to a lease request. The object sends its `state` text instead: for an answer that is an
 * object, the platform makes a disposer function, which costs more than the answer.
 */
export const UNCHANGED = { state: "unchanged" } as const;
/** The result of a call as it is sent. */
export type RpcReply = RpcResult | typeof UNCHANGED.state;

/** An object has one such RPC method for each method of its stores, such as `policy.lease`. */
type RpcMethod = (uid: TenantUid, ...args: readonly unknown[]) => Promise<RpcReply>;

/** An object's stub for one tenant uid. Code that has this stub cannot mean another tenant. */
export interface TenantStub {
  /** `method`: such as `policy.lease`. */
  call(method: string, args: readonly unknown[], isIdempotent: boolean): Promise<unknown>;
}

const BUSY_SECONDS = 2;

/**
 * The only way to call an object with tenant state. The call throws `unknownTenant` if the tenant is gone, and `busy`.
 * `getObject` makes a new stub: a failed stub may stay broken.
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

/** Deletes data that was stored for a write if the tenant turns out to be gone. Nothing else would find that data. */
export async function withCleanup<T>(write: Promise<T>, cleanUp: () => Promise<unknown>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isUnknownTenant(error)) await cleanUp();
    throw error;
  }
}

/** Whether a call was refused because its tenant is gone. */
export function isUnknownTenant(error: unknown): boolean {
  return error instanceof AppError && error.key === "unknownTenant";
}
