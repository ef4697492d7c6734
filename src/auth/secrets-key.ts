// Owns the Worker's own key ring, which seals the secrets that tenants store: `SECRETS_KEY` as a ring. Refuses a text
// that is not made of whole keys, so that a slip is found before anything is sealed with it.

import { digest, fromBase64Url, type KeyRing, type SealingKey } from "./seal.ts";

export interface SecretsKeyEnv {
  /** A Worker secret: 32 bytes in base64url, or several with commas between; the first seals, all of them open. */
  readonly SECRETS_KEY?: string;
}

const KEY_BYTES = 32;

/** The same text gives the same objects, because imported keys are cached by the object of their key. */
let cachedRing: { readonly text: string; readonly ring: KeyRing } | undefined;

/** `unset`: the Worker has no key; `broken`: a part of the text is no key. An operator can mend both. */
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
  // The id tells keys apart and gives nothing of the key away.
  return { id: (await digest(`SECRETS_KEY ${text}`)).slice(0, 8), secret };
}
