// Owns the name under which a caller stands in events: one that nobody can read back who has no key of the tenant's, and that is
// another one in another tenant. It changes when the tenant's keys are changed.

import { ANONYMOUS } from "../../auth/principal.ts";
import { toBase64Url, type KeyRing, type SealingKey } from "../../auth/seal.ts";

const imported = new WeakMap<SealingKey, CryptoKey>();
const SHOWN_BYTES = 8;

/** null: anonymous, or the tenant has no keys yet. */
export async function callerHash([key]: KeyRing, principal: string): Promise<string | null> {
  if (!key || principal === ANONYMOUS.id) return null;
  let known = imported.get(key);
  if (!known) {
    known = await crypto.subtle.importKey("raw", key.secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    imported.set(key, known);
  }
  const signed = await crypto.subtle.sign("HMAC", known, new TextEncoder().encode(`telemetry ${principal}`));
  return toBase64Url(new Uint8Array(signed).slice(0, SHOWN_BYTES));
}
