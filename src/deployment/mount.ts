// Owns where a Worker is mounted: under a path of somebody's app, which may leave that path in the URL or take it off.

/** The path of a request below `mount`, with its leading slash. */
export function stripMountPath(mount: string, pathname: string): string {
  if (mount === "" || !pathname.startsWith(mount)) return pathname;
  const below = pathname.slice(mount.length);
  return below === "" || below.startsWith("/") ? below || "/" : pathname;
}

/** The URL of a request as its client wrote it, with the path of the mount. */
export function publicUrl(request: Pick<Request, "url">, mount: string): URL {
  const url = new URL(request.url);
  url.pathname = mount + stripMountPath(mount, url.pathname);
  return url;
}

/** With such a mount nobody could tell whether it was taken off. */
const RESERVED_PATH = /^\/(mcp|admin|gateway|healthz|readyz|\.well-known)(\/|$)/;

/** The path without a slash at its end; "" is the root. Throws a TypeError for what is no path. */
export function parseMountPath(path: string): string {
  const mount = path.replace(/\/$/, "");
  if (RESERVED_PATH.test(mount)) throw new TypeError(`path "${path}": is served below it`);
  if (mount === "" || /^(\/[A-Za-z0-9._~-]+)+$/.test(mount)) return mount;
  throw new TypeError(`path "${path}": begins with a slash and has letters, digits and ._~- between its slashes`);
}
