// The id that identifies a request in its client's error, in the log and in events. Created only when needed.

const ids = new WeakMap<Request, string>();

/** Gives a request that continues another request's work the same id. */
export function setRequestId(request: Request, id: string): void {
  ids.set(request, id);
}

/**
 * Cloudflare's ray id if there is one, so that its logs and ours agree. Outside Cloudflare, a client may choose the id.
 */
export function requestIdOf(request: Request): string {
  let id = ids.get(request);
  if (id === undefined) {
    const ray = request.headers.get("cf-ray") ?? "";
    id = /^[\w-]{1,64}$/.test(ray) ? ray : crypto.randomUUID();
    ids.set(request, id);
  }
  return id;
}
