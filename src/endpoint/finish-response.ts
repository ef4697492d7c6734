import type { Deployment } from "../deployment/deployment.ts";
import type { Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { cancelBody } from "../streams/request-body.ts";
import { withOrigin } from "./cors.ts";
import { copyErrorKey, eraOf, respondFailure } from "./respond.ts";

/**
 * The exit of the MCP endpoints, `/gateway` and login: a header that all their responses need is set here. The admin
 * API, `/healthz` and `/readyz` have their own. A failure becomes an MCP error, or a page for a browser. `origin`: the
 * Origin that may read the response.
 */
export function finishResponse(
  deployment: Deployment,
  request: Request,
  answer: Response | Failure,
  origin: string | null = null,
): Response {
  return withOrigin(isFailure(answer) ? rejectRequest(deployment, request, answer) : answer, origin);
}

function rejectRequest({ pages, path }: Deployment, request: Request, reason: Failure): Response {
  cancelBody(request);
  const rejection = respondFailure(eraOf(request), undefined, reason);
  return pages && isBrowserNavigation(request)
    ? copyErrorKey(rejection, pages.renderRejection(request, path, rejection, reason))
    : rejection;
}

/** Whether the request comes from a browser's address bar. */
export function isBrowserNavigation({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") && (headers.get("accept") ?? "").toLowerCase().includes("text/html");
}
