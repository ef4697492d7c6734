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
      ? [challengeFinding ?? ok(AUTH_CHECK, "who has a key (401, without a login)"), await checkNoLogin(endpoint)]
      : [
          challengeFinding ?? ok(AUTH_CHECK, "who logs in, or has a token (401)"),
          ...(await checkLogin(endpoint, metadata)),
        ];
  return { findings, access: "to the key" };
}

const AUTH_CHECK = "access";
const CLOSED_STATUSES: ReadonlySet<number> = new Set([403, 404]);

function closedFinding(status: number, detail: string | undefined): Finding {
  if (isRedirectStatus(status)) {
    const fix = "Give clients the URL that it leads to: most follow none with a POST, and none with a key.";
    return failed(AUTH_CHECK, `every request is redirected (${status})`, fix);
  }
  if (status === 404) {
    const fix = "Is the tenant's name right, and the path, which ends in /mcp/TENANT or /mcp/TENANT/PROFILE?";
    return failed(AUTH_CHECK, "there is no endpoint at this URL (404)", fix);
  }
  if (status === 403) {
    const fix = "Is the tenant suspended, which tenantry tenant show TENANT says, or this host not its own?";
    return failed(AUTH_CHECK, withDetail("every caller is refused (403)", detail), fix);
  }
  const fix = "This is no answer of an MCP endpoint: is the URL whole?";
  return failed(AUTH_CHECK, `a request without a credential is answered ${status}`, fix);
}

function withDetail(refusal: string, detail: string | undefined): string {
  return detail === undefined ? refusal : `${refusal}: ${detail}`;
}

/** RFC 9110: a 401 must name the scheme. Clients call a server broken if its challenge is missing. */
function checkChallenge(wwwAuthenticate: string | undefined): Finding | undefined {
  if (/^bearer\b/i.test(wwwAuthenticate ?? "")) return undefined;
  const fix = "Answer 401 with WWW-Authenticate: Bearer, as RFC 6750 has it.";
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
  const fix = "See docs/login.md: every client reads it before it opens a browser.";
  if (metadataDocument.json === undefined)
    return [failed(check, `${metadata} answers ${metadataDocument.status}, without JSON`, fix)];
  const { resource, authorization_servers: servers } = metadataDocument.json;
  if (typeof resource !== "string" || !resourceCovers(resource, url)) {
    return [failed(check, `${metadata} is about ${String(resource)}, and clients refuse that for ${url}`, fix)];
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
      return failed(check, `${url} has no ${missing.join(", ")}`, "No client can log in without.");
    const methods = json.code_challenge_methods_supported;
    if (!Array.isArray(methods) || !methods.includes("S256")) {
      return failed(check, `${url} does not say that it knows PKCE (S256)`, "Clients refuse a server without it.");
    }
    return ok(check, url);
  }
  return failed(check, `${issuer} has no metadata: ${attempts.join(", ")}`, "Serve them, as RFC 8414 has it.");
}

export async function checkCredential(
  endpoint: McpEndpoint,
  access: AuthCheck["access"],
  signal: AbortSignal,
): Promise<Finding> {
  const check = "key";
  if (endpoint.keySource === undefined) return skipped(check, "none given");
  const { status, wwwAuthenticate = "", message: detail, code } = await sendPing(endpoint, signal);
  const why = /error_description="([^"]*)"/.exec(wwwAuthenticate)?.[1];
  if (status === 401) {
    const fix =
      access === "in"
        ? "Leave it out: everybody is let in without. A key belongs to one tenant."
        : "Copy it again, whole, or make another: tenantry key create TENANT --name NAME. It belongs to one tenant.";
    return failed(check, withDetail("it is refused (401)", why), fix);
  }
  if (status === 403) {
    const fix =
      code === SUSPENDED_DATA.code
        ? "tenantry resume ends that; tenantry tenant show TENANT says what is suspended."
        : "A key may be for one profile alone: tenantry key list TENANT.";
    return failed(check, withDetail("it is known, and may not do this (403)", detail), fix);
  }
  return ok(check, "it is taken");
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
  const fix = `Clients in a browser need it; others do not. tenantry: allowedOrigins: ["${origin}"] in the tenant's document.`;
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
