// CORS headers, without which a browser hides a response from a page's script.
// https://fetch.spec.whatwg.org/#http-cors-protocol

import { NO_STORE } from "./respond.ts";

const CORS_HEADERS = {
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers":
    "content-type, accept, authorization, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, traceparent, tracestate, baggage",
  "access-control-expose-headers": "mcp-session-id, www-authenticate, retry-after, ratelimit, ratelimit-policy",
  "access-control-max-age": "86400",
  ...NO_STORE,
};

/** Allows every requested header: the response must not reveal which headers a tenant's upstreams get. */
export function preflight(requested: string | null): Response {
  const requestedNames = (requested ?? "").toLowerCase().split(",");
  const names = requestedNames.map((name) => name.trim()).filter((name) => /^[\w!#$%&'+.^`|~-]+$/.test(name));
  const headers = new Headers(CORS_HEADERS);
  headers.set("access-control-allow-headers", [CORS_HEADERS["access-control-allow-headers"], ...names].join(", "));
  return new Response(null, { status: 204, headers });
}

export function withOrigin(response: Response, origin: string | null): Response {
  if (origin === null) return response;
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-expose-headers", CORS_HEADERS["access-control-expose-headers"]);
  response.headers.append("vary", "Origin");
  return response;
}
