// Owns what a Worker answers that cannot serve anybody. Each request is answered at once and with its own id, so that
// no client waits, and the author reads the mistake in the client.

import { failure } from "../protocol/errors.ts";
import { giveUpBody, MESSAGE_PACE, RequestBody } from "../streams/request-body.ts";
import { DEFAULT_MAX_BODY_BYTES, textOf } from "./body.ts";
import { respondEach } from "./respond-each.ts";
import { NO_STORE } from "./respond.ts";

/** `why` is told to everybody, so in a deployment it must say no more than that the deployment is not complete. */
export async function respondFaulty(request: Request, why: string): Promise<Response> {
  if (request.method !== "POST" || request.bodyUsed) {
    giveUpBody(request);
    const headers = { "content-type": "text/plain; charset=utf-8", ...NO_STORE };
    return new Response(`${why}\n`, { status: 500, headers });
  }
  const body = new RequestBody(request, MESSAGE_PACE);
  try {
    return respondEach(request, await textOf(body, DEFAULT_MAX_BODY_BYTES), failure("internal", why));
  } finally {
    body.release();
  }
}
