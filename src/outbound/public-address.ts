// Owns which IP addresses are on the public internet, of those that a URL or a name server wrote. Refuses everything that
// IANA's special-purpose registries name, and what it cannot read. Pure.
// https://www.iana.org/assignments/iana-ipv4-special-registry https://www.iana.org/assignments/iana-ipv6-special-registry

/** The last of IPv4 is no special range, but the address under which Azure's machines find their host. */
const SPECIAL_4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 168.63.129.16/32";
/** Of IPv6 only 2000::/3 is handed out: mapped, translated, local and multicast addresses are all outside of it. */
const UNICAST = "2000::/3";
const SPECIAL_6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20";

/** As `URL.hostname` has it: dotted, or in brackets. undefined: it is a name. */
export function isPublicAddress(hostname: string): boolean | undefined {
  const isSix = hostname.startsWith("[");
  if (!isSix && !/^[\d.]+$/.test(hostname)) return undefined;
  const bits = bitsOf(isSix ? hostname.slice(1, -1) : hostname);
  const isIn = (ranges: string) => ranges.split(" ").some((range) => bits.startsWith(prefixOf(range)));
  return isSix ? isIn(UNICAST) && !isIn(SPECIAL_6) : !isIn(SPECIAL_4);
}

/** For what a name server answers: any notation that a URL can hold is brought into the one that it has there. */
export function isPublicAnswer(address: string): boolean {
  const url = `http://${address.includes(":") ? `[${address}]` : address}`;
  return /^[\d.a-f:]+$/i.test(address) && URL.canParse(url) && isPublicAddress(new URL(url).hostname) === true;
}

function prefixOf(range: string): string {
  const [address = "", length] = range.split("/");
  return bitsOf(address).slice(0, Number(length));
}

/** As a text of zeros and ones. */
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
