// The format of API keys (of tenants and operators) and of tokens of a tenant's own authorization server. A key is
// shown once; only a hash is stored, which cannot be reversed.

import { toBase64Url } from "./seal.ts";

/** The prefix tells people and secret scanners a tenant's key from an operator's key and from tokens. */
const PREFIXES = { tenant: "tnt", operator: "tno", access: "tna", refresh: "tnr" } as const;

export type KeyOwner = keyof typeof PREFIXES;

const ID_CHARACTERS = 10;
const SECRET_CHARACTERS = 32;
const CHECK_CHARACTERS = 6;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SHAPE = new RegExp(
  `^([a-z]{3})_([0-9A-Za-z]{${ID_CHARACTERS}})_([0-9A-Za-z]{${SECRET_CHARACTERS}})([0-9A-Za-z]{${CHECK_CHARACTERS}})$`,
);

export interface NewKey {
  readonly id: string;
  /** The key itself, shown once and stored nowhere. */
  readonly token: string;
  readonly hash: string;
}

function randomText(characters: number): string {
  let text = "";
  while (text.length < characters) {
    // 248 is the largest multiple of 62 in a byte: every character is equally likely.
    for (const byte of crypto.getRandomValues(new Uint8Array(characters))) {
      if (byte < 248 && text.length < characters) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}

export async function createKey(owner: KeyOwner = "tenant"): Promise<NewKey> {
  const id = randomText(ID_CHARACTERS);
  const body = `${PREFIXES[owner]}_${id}_${randomText(SECRET_CHARACTERS)}`;
  const token = body + checksum(body);
  return { id, token, hash: await hashToken(token) };
}

/** Returns undefined for a token of the wrong shape or checksum: a typing mistake or a guess costs no lookup. */
export function keyIdOf(token: string, owner: KeyOwner = "tenant"): string | undefined {
  const [, prefix, id] = SHAPE.exec(token) ?? [];
  if (prefix !== PREFIXES[owner] || id === undefined) return undefined;
  return checksum(token.slice(0, -CHECK_CHARACTERS)) === token.slice(-CHECK_CHARACTERS) ? id : undefined;
}

/** SHA-256 as base64url. The secret has 190 bits, so guessing needs no slower hash. */
export async function hashToken(token: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token))));
}

/** CRC-32 in base 62. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const char of text) {
    crc ^= char.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let remainder = (crc ^ 0xffffffff) >>> 0;
  let check = "";
  for (let at = 0; at < CHECK_CHARACTERS; at += 1) {
    check = ALPHABET.charAt(remainder % ALPHABET.length) + check;
    remainder = Math.floor(remainder / ALPHABET.length);
  }
  return check;
}
