// Responses of a tenant's authorization server other than its pages: redirects, errors, and JSON for programs.

import type { LoginContext } from "../login-context.ts";
import { pageResponse, type PageTenant } from "../pages/page.ts";
import { errorPage } from "../pages/error-page.ts";

export const RECONNECT_HINT = "Go back to the client. If it is not connected, connect it again.";
/** Shown too when a person returns to a page after their decision. */
export const EXPIRED_MESSAGE = "This sign-in was not started in this browser, has expired, or is already complete";

export function pageTenantOf({ tenantContext: { tenant: id, document } }: LoginContext): PageTenant {
  return { id, title: document.title };
}

/** An error for a person. */
export function errorPageResponse(context: LoginContext, why: string, next = RECONNECT_HINT, status = 400): Response {
  const title = "Not signed in";
  return pageResponse(errorPage({ tenant: pageTenantOf(context), title, why, next }), { status });
}

export function redirectTo(location: string, ...cookies: readonly string[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store", "referrer-policy": "no-referrer" });
  for (const one of cookies) headers.append("set-cookie", one);
  return new Response(null, { status: 303, headers });
}

/** https://datatracker.ietf.org/doc/html/rfc6749#section-5.2 */
export class OAuthError extends Error {
  readonly status: number;
  readonly error: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(error: string, why: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(why);
    this.error = error;
    this.status = status;
    this.headers = headers;
  }
}

export function jsonResponse(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(value, { status, headers: { "cache-control": "no-store", ...headers } });
}

/** Not `server_error`: clients react to that by starting over with the person, who can do nothing about it. */
export function unavailableError(why: string, seconds = 5): OAuthError {
  return new OAuthError("temporarily_unavailable", why, 503, { "retry-after": String(seconds) });
}

/** For a program: an OAuth error, or that a service is unavailable. */
export function oauthErrorResponse({ tenantContext }: Pick<LoginContext, "tenantContext">, error: unknown): Response {
  if (!(error instanceof OAuthError)) tenantContext.onError(error);
  const oauthError =
    error instanceof OAuthError ? error : unavailableError("this server cannot answer right now: try again");
  return jsonResponse(
    { error: oauthError.error, error_description: oauthError.message },
    oauthError.status,
    oauthError.headers,
  );
}

/** For a person. Leaves the transaction's cookie in place, so that the page can be reloaded. */
export function unavailablePageResponse(context: LoginContext, error: unknown): Response {
  context.tenantContext.onError(error);
  return errorPageResponse(
    context,
    "This server cannot answer right now",
    "Wait a moment, then reload this page.",
    503,
  );
}
