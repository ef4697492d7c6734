// The Worker's own key ring, `SECRETS_KEY`, which seals the secrets that tenants store. A text with an invalid key is
// rejected as a whole, so that a typing mistake is found before anything is sealed with it.

import { digest, fromBase64Url, type KeyRing, type SealingKey } from "./seal.ts";

export interface SecretsKeyEnv {
  /**
   * Worker secret that encrypts tenants' secrets: 32 bytes in base64url, or several such keys separated by commas. The
   * first key encrypts; all of them decrypt.
   */
  readonly SECRETS_KEY?: string;
}

const KEY_BYTES = 32;

/** The same text returns the same objects, because imported keys are cached by their key object. */
let cachedRing: { readonly text: string; readonly ring: KeyRing } | undefined;

/** `unset`: the Worker has no key. `broken`: a part of the text is not a key. An operator can fix both. */
export async function getSecretsRing({ SECRETS_KEY: text = "" }: SecretsKeyEnv): Promise<KeyRing | "unset" | "broken"> {
  if (text === "") return "unset";
  if (cachedRing?.text === text) return cachedRing.ring;
  const keys = await Promise.all(text.split(",").map((part) => parseSealingKey(part.trim())));
  const ring = keys.filter((key) => key !== undefined);
  if (ring.length < keys.length) return "broken";
  cachedRing = { text, ring };
  return ring;
}

async function parseSealingKey(text: string): Promise<SealingKey | undefined> {
  const secret = fromBase64Url(text);
  if (secret?.length !== KEY_BYTES) return undefined;
  // The id tells keys apart and reveals nothing about the key.
  return { id: (await digest(`SECRETS_KEY ${text}`)).slice(0, 8), secret };
}
