// Owns what a handler does at most once, in either era: claimed in the authority before it is begun, settled after it.

/** The authority's half of `once`. */
export interface ClaimBook {
  claim(nonce: string, name: string): Promise<{ state: "claimed" | "unknown" } | { state: "settled"; value: string }>;
  settle(nonce: string, name: string, value: string): Promise<void>;
}

/** What `act` made, now or in an earlier try; throws when nobody knows whether an earlier try did it. */
export async function claimed(
  claims: ClaimBook,
  { nonce, name }: { readonly nonce: string; readonly name: string },
  act: () => unknown,
): Promise<unknown> {
  const claim = await claims.claim(nonce, name);
  if (claim.state === "settled") return JSON.parse(claim.value) as unknown;
  if (claim.state === "unknown") {
    throw new Error(`"${name}" was begun by an earlier try of this call; whether it was done is not known`);
  }
  const value = toJson(await act());
  await claims.settle(nonce, name, JSON.stringify(value));
  return value;
}

export function toJson(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
