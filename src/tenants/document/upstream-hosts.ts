// Owns how hosts are written of which upstreams may be: a name, or `*.` and the end of one, and perhaps a port. Pure.

/** In lower case, as `URL` has them. */
export const UPSTREAM_HOST = /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/;

/** One without a port stands for all of them. */
export function isWithinHosts({ hostname, port, protocol }: URL, hosts: readonly string[]): boolean {
  const name = hostname.replace(/\.+$/, "");
  const requestedPort = port || (protocol === "http:" ? "80" : "443");
  return hosts.some((entry) => {
    const [host = "", allowedPort = requestedPort] = entry.split(":");
    return allowedPort === requestedPort && (host.startsWith("*.") ? name.endsWith(host.slice(1)) : name === host);
  });
}
