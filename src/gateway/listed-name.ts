// The two names of an upstream's definition: the policy name, which rules compare, and the listed name, which clients
// see. Neither depends on other upstreams.

import { LISTED_NAME } from "../protocol/client-rules.ts";

const MAX_LISTED_LENGTH = 64;
const SEPARATOR = "__";
const HASH_CHARACTERS = 10;
const LISTED_HASH_CHARACTERS = 8;

/** `ID__OWN`. Documents, suspensions, blocks, limits and records use only this name. Clients may call it too. */
export function policyName(id: string, own: string): string {
  return `${id}${SEPARATOR}${own}`;
}

/**
 * The policy name if every client accepts it. Otherwise a name derived from it that ends with a hash of the own name.
 */
export function listedName(id: string, own: string): string {
  const fullName = policyName(id, own);
  if (LISTED_NAME.test(fullName)) return fullName;
  const prefix = fullName.slice(0, MAX_LISTED_LENGTH - LISTED_HASH_CHARACTERS - 1).replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${prefix}-${hashOf(own).slice(-LISTED_HASH_CHARACTERS)}`;
}

/** Splits a listed name into the upstream's id and the rest. Returns undefined if it has no id. */
export function splitName(listed: string): { readonly id: string; readonly rest: string } | undefined {
  const at = listed.indexOf(SEPARATOR);
  return at <= 0 ? undefined : { id: listed.slice(0, at), rest: listed.slice(at + SEPARATOR.length) };
}

/** A 50-bit hash that is not collision resistant. A forged collision harms only the upstream that lists both names. */
export function hashOf(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  const bits = BigInt(b >>> 0) * 0x1_0000_0000n + BigInt(a >>> 0);
  return (bits & 0x3_ffff_ffff_ffffn).toString(32).padStart(HASH_CHARACTERS, "0");
}
