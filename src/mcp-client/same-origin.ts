// Where credentials may go: they are meant for one origin only.

/**
 * Whether a URL leads to this origin with nothing of its own. The origin alone does not say: that of a `blob:` is the
 * origin inside of it, and a name and a password in a URL are no part of it.
 */
export function isSameOrigin(origin: string, { protocol, username, password, origin: urlOrigin }: URL): boolean {
  const isHttp = protocol === "https:" || protocol === "http:";
  return isHttp && username === "" && password === "" && urlOrigin === origin;
}
