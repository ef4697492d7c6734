// Whether an IP address is on the public internet. Refuses every range in IANA's special-purpose registries, and
// anything it cannot parse. https://www.iana.org/assignments/iana-ipv4-special-registry
// https://www.iana.org/assignments/iana-ipv6-special-registry

/** The last entry is not an IANA range: 168.63.129.16 is the address under which Azure machines reach their host. */
const SPECIAL_4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 168.63.129.16/32";
/**
 * IANA allocates only 2000::/3 for unicast. Mapped, translated, local and multicast addresses are all outside of it.
 */
const UNICAST = "2000::/3";
const SPECIAL_6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20";

/** Takes the form of `URL.hostname`: dotted, or in brackets. Returns undefined for a name. */
export function isPublicAddress(hostname: string): boolean | undefined {
  const isSix = hostname.startsWith("[");
  if (!isSix && !/^[\d.]+$/.test(hostname)) return undefined;
  const bits = bitsOf(isSix ? hostname.slice(1, -1) : hostname);
  const isIn = (ranges: string) => ranges.split(" ").some((range) => bits.startsWith(prefixOf(range)));
  return isSix ? isIn(UNICAST) && !isIn(SPECIAL_6) : !isIn(SPECIAL_4);
}

/** For an address in a DNS answer. `URL` normalizes any notation first. */
export function isPublicAnswer(address: string): boolean {
  const url = `http://${address.includes(":") ? `[${address}]` : address}`;
  return /^[\d.a-f:]+$/i.test(address) && URL.canParse(url) && isPublicAddress(new URL(url).hostname) === true;
}

function prefixOf(range: string): string {
  const [address = "", length] = range.split("/");
  return bitsOf(address).slice(0, Number(length));
}

function bitsOf(address: string): string {
  if (!address.includes(":"))
    return address
      .split(".")
      .map((part) => binary(Number(part), 8))
      .join("");
  const [head = [], tail = []] = address.split("::").map((half) => half.split(":").filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].map((group) => binary(Number.parseInt(group, 16), 16)).join("");
}

function binary(value: number, length: number): string {
  return value.toString(2).padStart(length, "0");
}
