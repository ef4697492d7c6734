/**
 * Whether a URL has this origin and carries no credentials of its own, so that the origin's credentials may go there.
 * The origin alone is not enough: a `blob:` URL has the origin inside of it, and a user name and password are not part
 * of an origin.
 */
export function isSameOrigin(origin: string, { protocol, username, password, origin: urlOrigin }: URL): boolean {
  const isHttp = protocol === "https:" || protocol === "http:";
  return isHttp && username === "" && password === "" && urlOrigin === origin;
}
