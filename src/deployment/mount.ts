// Where a Worker is mounted: under a path of another app, which may keep that path in the URL or strip it.

/** The path of a request below `mount`, with its leading slash. */
export function stripMountPath(mount: string, pathname: string): string {
  if (mount === "" || !pathname.startsWith(mount)) return pathname;
  const below = pathname.slice(mount.length);
  return below === "" || below.startsWith("/") ? below || "/" : pathname;
}

/** The URL as the client wrote it, including the mount path. */
export function publicUrl(request: Pick<Request, "url">, mount: string): URL {
  const url = new URL(request.url);
  url.pathname = mount + stripMountPath(mount, url.pathname);
  return url;
}

/** With such a mount path, a stripped and an unstripped URL could not be told apart. */
const RESERVED_PATH = /^\/(mcp|admin|gateway|healthz|readyz|\.well-known)(\/|$)/;

/** Removes a trailing slash; "" is the root. Throws a TypeError for an invalid path. */
export function parseMountPath(path: string): string {
  const mount = path.replace(/\/$/, "");
  if (RESERVED_PATH.test(mount)) throw new TypeError(`path "${path}": is reserved, use another path`);
  if (mount === "" || /^(\/[A-Za-z0-9._~-]+)+$/.test(mount)) return mount;
  throw new TypeError(`path "${path}": must begin with a slash, and have only letters, digits, ._~- and slashes`);
}
