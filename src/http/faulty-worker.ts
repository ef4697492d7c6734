// Owns what a Worker answers that cannot serve anybody: to each request at once, with that request's own id, so that no
// client waits and whoever wrote the mistake reads it where they look.

import { failure } from "../protocol/errors.ts";
import { DEFAULT_MAX_BODY_BYTES, readBody } from "./body.ts";
import { respondEach } from "./respond-each.ts";

/** `why`: told to everybody; in a deployment that is no more than that it is not complete. */
export async function respondFaulty(request: Request, why: string): Promise<Response> {
  if (request.method !== "POST") {
    return new Response(`${why}\n`, { status: 500, headers: { "content-type": "text/plain; charset=utf-8" } });
  }
  return respondEach(request, await readBody(request, DEFAULT_MAX_BODY_BYTES), failure("internal", why));
}
