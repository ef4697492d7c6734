// The client address that identifies a caller without a credential. It comes from Cloudflare, so a client cannot forge
// it.

import { digest } from "../auth/seal.ts";

/**
 * "" if the platform gives no address. An IPv6 network (/64) counts as one address: a client with one address of it has
 * them all.
 */
export function addressOf(headers: Pick<Headers, "get">): string {
  const address = headers.get("cf-connecting-ip") ?? "";
  return address.includes(":") ? networkOf(address) : address;
}

const STORED_CHARACTERS = 16;

/** The form of an address in storage: a hash, so that stored data does not reveal the client. */
export async function hashAddress(address: string): Promise<string> {
  return `address ${(await digest(address)).slice(0, STORED_CHARACTERS)}`;
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The /64 of an IPv6 address, or the IPv4 address inside an IPv4-mapped one. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill("0"), ...after].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
