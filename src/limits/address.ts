// Owns the address by which callers without a credential are told apart: what Cloudflare saw, not what a client says.

import { digest } from "../auth/seal.ts";

/** "" where the platform names none. A network of IPv6 counts as one: whoever has one address of it has them all. */
export function addressOf(headers: Pick<Headers, "get">): string {
  const address = headers.get("cf-connecting-ip") ?? "";
  return address.includes(":") ? networkOf(address) : address;
}

const STORED_CHARACTERS = 16;

/** How an address is written down where something is kept: nobody reads there who came. */
export async function hashAddress(address: string): Promise<string> {
  return `address ${(await digest(address)).slice(0, STORED_CHARACTERS)}`;
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The /64 of an IPv6 address; of one that holds an IPv4 address, that address. */
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
