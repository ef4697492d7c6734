// The format of host entries in `upstreamBounds` and `authBounds`: a name, or `*.` and a suffix, with an optional port.

/** In lower case, as `URL` normalizes hosts. */
export const UPSTREAM_HOST = /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/;

/** An entry without a port matches all ports. */
export function isWithinHosts({ hostname, port, protocol }: URL, hosts: readonly string[]): boolean {
  const name = hostname.replace(/\.+$/, "");
  const requestedPort = port || (protocol === "http:" ? "80" : "443");
  return hosts.some((entry) => {
    const [host = "", allowedPort = requestedPort] = entry.split(":");
    return allowedPort === requestedPort && (host.startsWith("*.") ? name.endsWith(host.slice(1)) : name === host);
  });
}
