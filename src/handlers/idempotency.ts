// `once` for both eras: the tenant object records a claim before the work starts, and its result afterwards.

import { UserError } from "../protocol/user-error.ts";

/** The work may have been done. The client must check before retrying, and the operator is told too. */
class UnknownOutcomeError extends UserError {
  override readonly isLogged = true;
}

/** The tenant object's part of `once`. */
export interface IdempotencyStore {
  claim(nonce: string, name: string): Promise<{ state: "claimed" | "unknown" } | { state: "settled"; value: string }>;
  settle(nonce: string, name: string, value: string): Promise<void>;
}

/**
 * Resolves to the result of `work`, from this run or from an earlier run of the same call. Throws if an earlier run
 * claimed it and recorded no result: the work may have been done, so it is not done again.
 */
export async function runOnce(
  claims: IdempotencyStore,
  { nonce, name }: { readonly nonce: string; readonly name: string },
  work: () => unknown,
): Promise<unknown> {
  const claim = await claims.claim(nonce, name);
  if (claim.state === "settled") return JSON.parse(claim.value) as unknown;
  if (claim.state === "unknown") {
    throw new UnknownOutcomeError(
      `ctx.once "${name}" was started by an earlier attempt of this call, and its outcome is unknown`,
    );
  }
  const value = toJsonValue(await work());
  await claims.settle(nonce, name, JSON.stringify(value));
  return value;
}

/** The value after a round trip through JSON; undefined becomes null. Throws if the value cannot be written as JSON. */
export function toJsonValue(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
