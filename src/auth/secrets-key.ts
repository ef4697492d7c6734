// Owns the Worker's key for what rests with the platform: the text of `SECRETS_KEY` as a ring. Refuses anything that is
// not made of whole keys, so that a slip is found before something is sealed with it.

import { digest, fromBase64Url, type KeyRing, type SealingKey } from "./seal.ts";

export interface SecretsKeyEnv {
  /** A Worker secret: 32 bytes in base64url; several with commas between, of which the first seals and all open. */
  readonly SECRETS_KEY?: string;
}

const KEY_BYTES = 32;

/** The same ring stays the same object, because imported keys hang on it. */
let known: { readonly text: string; readonly ring: KeyRing } | undefined;

/** `unset` and `broken` are for people to mend. */
export async function secretsRing({ SECRETS_KEY: text = "" }: SecretsKeyEnv): Promise<KeyRing | "unset" | "broken"> {
  if (text === "") return "unset";
  if (known?.text === text) return known.ring;
  const keys = await Promise.all(text.split(",").map((part) => keyOf(part.trim())));
  const ring = keys.filter((key) => key !== undefined);
  if (ring.length < keys.length) return "broken";
  known = { text, ring };
  return ring;
}

async function keyOf(text: string): Promise<SealingKey | undefined> {
  const secret = fromBase64Url(text);
  if (secret?.length !== KEY_BYTES) return undefined;
  // Tells keys apart, and nothing else about them.
  return { id: (await digest(`SECRETS_KEY ${text}`)).slice(0, 8), secret };
}
