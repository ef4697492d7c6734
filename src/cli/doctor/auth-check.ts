// Checks of an endpoint's authentication before any MCP message: who is admitted, the metadata of its login, and
// CORS. They never log in.

import { McpFault } from "../../mcp-client/fault.ts";
import { SUSPENDED_DATA } from "../../protocol/errors.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { failed, note, ok, skipped, type Finding } from "./finding.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { isRedirectStatus, metadataUrlIn, sendPing } from "./access.ts";

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 64 * 1024;

export interface AuthCheck {
  readonly findings: readonly Finding[];
  /**
   * "in": callers without a key are admitted. "to the key": a key is needed. "nowhere": there is no endpoint to
   * continue with.
   */
  readonly access: "in" | "to the key" | "nowhere";
}

/** Sends a request without a credential, and follows the answer. */
export async function checkAuth(endpoint: McpEndpoint, signal: AbortSignal): Promise<AuthCheck> {
  const anonymous = { ...endpoint, headers: {}, keySource: undefined };
  const { status, contentType, wwwAuthenticate, message } = await sendPing(anonymous, signal);
  if (status < 300) return { findings: [ok(AUTH_CHECK, "everybody: no key, no login")], access: "in" };
  if (CLOSED_STATUSES.has(status) || isRedirectStatus(status) || contentType === "text/html") {
    return { findings: [closedFinding(status, message)], access: "nowhere" };
  }
  // Servers with sessions refuse every request before `initialize`.
  if (status !== 401)
    return { findings: [ok(AUTH_CHECK, withDetail(`everybody, after initialize (${status})`, message))], access: "in" };
  const metadata = metadataUrlIn(wwwAuthenticate);
  const challengeFinding = checkChallenge(wwwAuthenticate);
  const findings =
    metadata === undefined
      ? [challengeFinding ?? ok(AUTH_CHECK, "callers with a key (401, without a login)"), await checkNoLogin(endpoint)]
      : [
          challengeFinding ?? ok(AUTH_CHECK, "callers who log in, or have a token (401)"),
          ...(await checkLogin(endpoint, metadata)),
        ];
  return { findings, access: "to the key" };
}

const AUTH_CHECK = "access";
const CLOSED_STATUSES: ReadonlySet<number> = new Set([403, 404]);

function closedFinding(status: number, detail: string | undefined): Finding {
  if (isRedirectStatus(status)) {
    const fix =
      "Give clients the new URL: most clients do not follow a redirect of a POST, and none sends its key there.";
    return failed(AUTH_CHECK, `every request is redirected (${status})`, fix);
  }
  if (status === 404) {
    const fix = "Check the tenant's name, and the path, which must end in /mcp/TENANT or /mcp/TENANT/PROFILE.";
    return failed(AUTH_CHECK, "there is no endpoint at this URL (404)", fix);
  }
  if (status === 403) {
    const fix =
      "Check whether the tenant is suspended (tenantry tenant show TENANT), and whether this host belongs to it.";
    return failed(AUTH_CHECK, withDetail("every caller is refused (403)", detail), fix);
  }
  const fix = "This is not the answer of an MCP endpoint: check that the URL is complete.";
  return failed(AUTH_CHECK, `a request without a credential is answered ${status}`, fix);
}

function withDetail(refusal: string, detail: string | undefined): string {
  return detail === undefined ? refusal : `${refusal}: ${detail}`;
}

/** RFC 9110: a 401 must name the scheme. Clients call a server broken if its challenge is missing. */
function checkChallenge(wwwAuthenticate: string | undefined): Finding | undefined {
  if (/^bearer\b/i.test(wwwAuthenticate ?? "")) return undefined;
  const fix = "Send WWW-Authenticate: Bearer with the 401 (RFC 6750).";
  return failed(AUTH_CHECK, "a 401 without WWW-Authenticate: Bearer", fix);
}

/**
 * After a 401, a client looks for a login. Its users then read that no login was found, not that the key is missing.
 */
async function checkNoLogin({ url }: McpEndpoint): Promise<Finding> {
  const { status } = await fetchJson(wellKnownUrl(url, "oauth-protected-resource"));
  const fix = "Give the client a key (tenantry connect shows where), or let people log in: docs/login.md.";
  return note("login", `there is none (${status}): claude.ai and chatgpt.com, which send no key, cannot connect`, fix);
}

async function checkLogin({ url }: McpEndpoint, metadata: string): Promise<Finding[]> {
  const metadataDocument = await fetchJson(metadata);
  const check = "login: the resource";
  const fix = "Serve this metadata: a client reads it before it opens a browser (docs/login.md).";
  if (metadataDocument.json === undefined)
    return [failed(check, `${metadata} answers ${metadataDocument.status}, without JSON`, fix)];
  const { resource, authorization_servers: servers } = metadataDocument.json;
  if (typeof resource !== "string" || !resourceCovers(resource, url)) {
    return [failed(check, `${metadata} is for ${String(resource)}, so clients refuse it for ${url}`, fix)];
  }
  const [issuer] = Array.isArray(servers) ? servers : [];
  if (typeof issuer !== "string" || !URL.canParse(issuer))
    return [failed(check, `${metadata} names no authorization server`, fix)];
  return [ok(check, `${metadata} names ${issuer}`), await checkIssuer(issuer)];
}

async function checkIssuer(issuer: string): Promise<Finding> {
  const check = "login: the server";
  const urls = ["oauth-authorization-server", "openid-configuration"].map((name) => wellKnownUrl(issuer, name));
  const attempts: string[] = [];
  for (const url of [...urls, `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`]) {
    const { json, status } = await fetchJson(url);
    attempts.push(`${url} (${status})`);
    if (json === undefined) continue;
    const missing = ["authorization_endpoint", "token_endpoint"].filter((member) => typeof json[member] !== "string");
    if (missing.length > 0)
      return failed(check, `${url} has no ${missing.join(", ")}`, "No client can log in without this.");
    const methods = json.code_challenge_methods_supported;
    if (!Array.isArray(methods) || !methods.includes("S256")) {
      return failed(
        check,
        `${url} does not list S256 (PKCE) in code_challenge_methods_supported`,
        "Clients refuse a server without it.",
      );
    }
    return ok(check, url);
  }
  return failed(
    check,
    `${issuer} has no metadata: ${attempts.join(", ")}`,
    "Serve the metadata at one of these URLs (RFC 8414).",
  );
}

export async function checkCredential(
  endpoint: McpEndpoint,
  access: AuthCheck["access"],
  signal: AbortSignal,
): Promise<Finding> {
  const check = "key";
  if (endpoint.keySource === undefined) return skipped(check, "no key given");
  const { status, wwwAuthenticate = "", message: detail, code } = await sendPing(endpoint, signal);
  const why = /error_description="([^"]*)"/.exec(wwwAuthenticate)?.[1];
  if (status === 401) {
    const fix =
      access === "in"
        ? "Leave the key out: this endpoint is open to everybody, and a key belongs to one tenant."
        : "Check the tenant's name, because a key belongs to one tenant. Copy the whole key again, or create another: tenantry key create TENANT --name NAME.";
    return failed(check, withDetail("the key is refused (401)", why), fix);
  }
  if (status === 403) {
    const fix =
      code === SUSPENDED_DATA.code
        ? "tenantry tenant show TENANT shows what is suspended, and tenantry resume ends it."
        : "The key may be for one profile only: see tenantry key list TENANT.";
    return failed(check, withDetail("the key is valid, but not allowed here (403)", detail), fix);
  }
  return ok(check, "the key is accepted");
}

/** Sends the preflight request that the page of an MCP client would send. */
export async function checkBrowserAccess({ url }: McpEndpoint, origin: string): Promise<Finding> {
  const check = "pages";
  const preflight = {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type, mcp-protocol-version, mcp-session-id",
    },
  };
  const fix = `Only clients in a browser need this. In tenantry, set allowedOrigins: ["${origin}"] in the tenant's document.`;
  const send = async (init: RequestInit) => {
    const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    return response;
  };
  const response = await send(preflight).catch((error: unknown) => error as Error);
  if (response instanceof Error) return note(check, `no answer (${response.message})`, fix);
  const allowed = response.headers.get("access-control-allow-origin");
  if (allowed !== origin && allowed !== "*")
    return note(check, `a page of ${origin} may not call it (${response.status})`, fix);
  // A server may accept every preflight, and still refuse the request itself.
  const request = { method: "POST", headers: { origin, "content-type": "application/json" }, body: "{}" };
  const postResponse = await send(request).catch(() => undefined);
  if (postResponse?.status === 403) return note(check, `a page of ${origin} may not call it (403)`, fix);
  const headers = (response.headers.get("access-control-allow-headers") ?? "").toLowerCase();
  const missing = ["authorization", "mcp-protocol-version", "mcp-session-id"].filter((name) => !headers.includes(name));
  if (missing.length > 0 && headers !== "*") return note(check, `a page may not send ${missing.join(", ")}`, fix);
  return ok(check, `a page of ${origin} may call it`);
}

interface FetchedJson {
  /** The status of the answer, or why there was none. */
  readonly status: number | string;
  readonly json?: JsonObject;
}

async function fetchJson(url: string): Promise<FetchedJson> {
  try {
    const headers = { accept: "application/json" };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = response.ok ? await readPrefix(response) : "";
    if (!response.ok) await response.body?.cancel();
    const json: unknown = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { status: response.status, ...(isObject(json) && { json }) };
  } catch (error) {
    if (error instanceof McpFault) throw error;
    return { status: (error as Error).name === "TimeoutError" ? "no answer" : (error as Error).message };
  }
}

/** Reads a bounded prefix: the answer comes from an unknown server, and may never end. */
async function readPrefix({ body }: Response): Promise<string> {
  let text = "";
  if (!body) return text;
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.length > MAX_BYTES) break;
  }
  return text;
}

/** RFC 8414 and RFC 9728: the well-known path goes between the host and the path. */
function wellKnownUrl(url: string, name: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}/.well-known/${name}${pathname === "/" ? "" : pathname}`;
}

/** RFC 9728, section 3.3, as clients apply it: the same origin, and the same path or a parent. */
function resourceCovers(resource: string, url: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [resourceUrl, endpointUrl] = [new URL(resource), new URL(url)];
  const folder = (path: string) => (path.endsWith("/") ? path : `${path}/`);
  return (
    resourceUrl.origin === endpointUrl.origin && folder(endpointUrl.pathname).startsWith(folder(resourceUrl.pathname))
  );
}
