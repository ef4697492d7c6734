// Sealing: short texts that travel through a client, which only the keys of one ring can create or read. The caller
// binds a text's meaning and owner in `purpose` and payload.

/** One key of a ring. `secret` is 32 bytes for AES-256-GCM. */
export interface SealingKey {
  readonly id: string;
  readonly secret: Uint8Array<ArrayBuffer>;
}

/** The first key seals; every key can open what it sealed. */
export type KeyRing = readonly SealingKey[];

/** Identifies a version of a tenant's ring. */
export function keyIdsOf(ring: KeyRing): string {
  return ring.map(({ id }) => id).join();
}

const IV_BYTES = 12;
const cryptoKeys = new WeakMap<SealingKey, CryptoKey>();

async function importSealingKey(key: SealingKey): Promise<CryptoKey> {
  const cached = cryptoKeys.get(key);
  if (cached) return cached;
  const importedKey = await crypto.subtle.importKey("raw", key.secret, "AES-GCM", false, ["encrypt", "decrypt"]);
  cryptoKeys.set(key, importedKey);
  return importedKey;
}

/**
 * `purpose` is bound to the text, so that a session id can never be read as a request state. Releases open texts that
 * other releases sealed: a payload that an earlier release would misread needs another purpose, or a marker, as in
 * `requestState`.
 */
export async function seal(ring: KeyRing, purpose: string, payload: string): Promise<string> {
  const [key] = ring;
  if (!key) throw new Error("a key ring must have at least one key");
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(purpose) },
    await importSealingKey(key),
    new TextEncoder().encode(payload),
  );
  const bytes = new Uint8Array(IV_BYTES + sealed.byteLength);
  bytes.set(iv);
  bytes.set(new Uint8Array(sealed), IV_BYTES);
  return `${key.id}.${toBase64Url(bytes)}`;
}

/** Returns the payload; undefined for anything that this ring did not seal for this purpose. */
export async function unseal(ring: KeyRing, purpose: string, text: string): Promise<string | undefined> {
  const dot = text.indexOf(".");
  const key = ring.find((candidate) => candidate.id === text.slice(0, dot));
  const bytes = fromBase64Url(text.slice(dot + 1));
  if (!key || !bytes || bytes.length <= IV_BYTES) return undefined;
  try {
    const plaintext = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: bytes.slice(0, IV_BYTES), additionalData: new TextEncoder().encode(purpose) },
      await importSealingKey(key),
      bytes.slice(IV_BYTES),
    );
    return new TextDecoder().decode(plaintext);
  } catch {
    return undefined;
  }
}

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    binary += String.fromCodePoint(...bytes.subarray(at, at + 8192));
  }
  return btoa(binary);
}

export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Each value has exactly one encoding: a text that differs only in the unused bits of its last character is rejected.
 */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    return toBase64Url(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** SHA-256, shortened to 22 base64url characters (132 bits). */
export async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toBase64Url(new Uint8Array(hash)).slice(0, 22);
}

/** JSON with sorted keys: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
