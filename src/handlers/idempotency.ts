// Owns what a handler does at most once, in either era: claimed in the authority before it is begun, settled after it.

import { UserError } from "../protocol/user-error.ts";

/** What was done once may have been done: whoever calls has to look before they try again, and so has the operator. */
class UnknownOutcomeError extends UserError {
  override readonly isLogged = true;
}

/** The authority's half of `once`. */
export interface IdempotencyStore {
  claim(nonce: string, name: string): Promise<{ state: "claimed" | "unknown" } | { state: "settled"; value: string }>;
  settle(nonce: string, name: string, value: string): Promise<void>;
}

/**
 * What `act` returned, now or in an earlier try of the same call. Throws where an earlier try claimed it and did not
 * say what came of it: the work may have been done, so it is not done again.
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
      `"${name}" was begun by an earlier try of this call; whether it was done is not known`,
    );
  }
  const value = toJsonValue(await work());
  await claims.settle(nonce, name, JSON.stringify(value));
  return value;
}

/** The value as JSON gives it back; undefined becomes null. Throws for what cannot be written as JSON. */
export function toJsonValue(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
