// Owns where a Worker is mounted: under a path of somebody's app, with that path still in the URL or taken off by the app.

/** The path of a request below where the Worker is mounted. */
export function pathBelow(mount: string, pathname: string): string {
  if (mount === "" || !pathname.startsWith(mount)) return pathname;
  const below = pathname.slice(mount.length);
  return below === "" || below.startsWith("/") ? below || "/" : pathname;
}

/** The URL of a request as its client has it. */
export function publicUrl(request: Pick<Request, "url">, mount: string): URL {
  const url = new URL(request.url);
  url.pathname = mount + pathBelow(mount, url.pathname);
  return url;
}

/** Throws a TypeError for what is no path; one slash at the end does not matter. */
export function mountPath(path: string): string {
  const mount = path.replace(/\/$/, "");
  if (mount === "" || /^(\/[A-Za-z0-9._~-]+)+$/.test(mount)) return mount;
  throw new TypeError(`path "${path}": begins with a slash and has letters, digits and ._~- between its slashes`);
}
