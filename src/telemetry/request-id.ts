// Owns the id by which a request is found again: in what its client was told, in the log, in events. Refuses to make one that
// nobody needs.

const ids = new WeakMap<Request, string>();

/** A request that goes on with the work of another one has its id. */
export function setRequestId(request: Request, id: string): void {
  ids.set(request, id);
}

/**
 * Cloudflare's ray where there is one, so that its logs and ours agree; made only when somebody needs it. Elsewhere whoever
 * asks may write one.
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
