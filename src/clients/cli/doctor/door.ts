// Owns what a client meets at the door of an endpoint, before it speaks: who is let in, what the metadata of a login say, and
// whether pages may call. Refuses to log in.

import { McpFault } from "../../../mcp-client/fault.ts";
import { SUSPENDED_DATA } from "../../../protocol/errors.ts";
import { isObject, type JsonObject } from "../../../protocol/jsonrpc.ts";
import { failed, note, ok, skipped, type Finding } from "./finding.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { leadsElsewhere, metadataUrlIn, pinged } from "./access.ts";

const WITHIN_MS = 15_000;
const MOST_BYTES = 64 * 1024;

export interface Entrance {
  readonly findings: readonly Finding[];
  /** `nowhere`: there is nothing to go into. */
  readonly leads: "in" | "to the key" | "nowhere";
}

/** What a request without any credential is told, and what that leads to. */
export async function entrance(endpoint: McpEndpoint, signal: AbortSignal): Promise<Entrance> {
  const stranger = { ...endpoint, headers: {}, keyFrom: undefined };
  const { status, contentType, wwwAuthenticate, said } = await pinged(stranger, signal);
  if (status < 300) return { findings: [ok(ENTRANCE, "everybody: no key, no login")], leads: "in" };
  if (SHUT.has(status) || leadsElsewhere(status) || contentType === "text/html") {
    return { findings: [shut(status, said)], leads: "nowhere" };
  }
  // Servers that keep sessions refuse whatever comes before `initialize`.
  if (status !== 401)
    return { findings: [ok(ENTRANCE, inWords(`everybody, after initialize (${status})`, said))], leads: "in" };
  const metadata = metadataUrlIn(wwwAuthenticate);
  const named = challenge(wwwAuthenticate);
  const findings =
    metadata === undefined
      ? [named ?? ok(ENTRANCE, "who has a key (401, without a login)"), await noLogin(endpoint)]
      : [named ?? ok(ENTRANCE, "who logs in, or has a token (401)"), ...(await login(endpoint, metadata))];
  return { findings, leads: "to the key" };
}

const ENTRANCE = "who gets in";
const SHUT: ReadonlySet<number> = new Set([403, 404]);

function shut(status: number, said: string | undefined): Finding {
  if (leadsElsewhere(status)) {
    const mend = "Give clients the URL that it leads to: most follow none with a POST, and none with a key.";
    return failed(ENTRANCE, `it sends whoever asks elsewhere (${status})`, mend);
  }
  if (status === 404) {
    const mend = "Is the tenant's name right, and the path, which ends in /mcp/TENANT or /mcp/TENANT/PROFILE?";
    return failed(ENTRANCE, "there is no endpoint at this URL (404)", mend);
  }
  if (status === 403) {
    const mend = "Is the tenant suspended, which tenantry tenant show TENANT says, or this host not its own?";
    return failed(ENTRANCE, inWords("refused, whoever asks (403)", said), mend);
  }
  const mend = "This is no answer of an MCP endpoint: is the URL whole?";
  return failed(ENTRANCE, `a request without a credential is answered ${status}`, mend);
}

function inWords(refusal: string, said: string | undefined): string {
  return said === undefined ? refusal : `${refusal}: ${said}`;
}

/** RFC 9110: a 401 names what is wanted. Clients that find nothing there say that the server is broken. */
function challenge(wwwAuthenticate: string | undefined): Finding | undefined {
  if (/^bearer\b/i.test(wwwAuthenticate ?? "")) return undefined;
  const mend = "Answer 401 with WWW-Authenticate: Bearer, as RFC 6750 has it.";
  return failed(ENTRANCE, "a 401 without WWW-Authenticate: Bearer", mend);
}

/** A client that gets a 401 looks here, and people then read that no login was found, not that their key is missing. */
async function noLogin({ url }: McpEndpoint): Promise<Finding> {
  const { status } = await got(wellKnown(url, "oauth-protected-resource"));
  const mend = "Give the client a key (tenantry connect shows where), or let people log in: docs/login.md.";
  return note("login", `there is none (${status}): claude.ai and chatgpt.com, which send no key, cannot connect`, mend);
}

async function login({ url }: McpEndpoint, metadata: string): Promise<Finding[]> {
  const about = await got(metadata);
  const step = "login: the resource";
  const mend = "See docs/login.md: every client reads it before it opens a browser.";
  if (about.json === undefined) return [failed(step, `${metadata} answers ${about.status}, without JSON`, mend)];
  const { resource, authorization_servers: servers } = about.json;
  if (typeof resource !== "string" || !covers(resource, url)) {
    return [failed(step, `${metadata} is about ${String(resource)}, and clients refuse that for ${url}`, mend)];
  }
  const [issuer] = Array.isArray(servers) ? servers : [];
  if (typeof issuer !== "string" || !URL.canParse(issuer))
    return [failed(step, `${metadata} names no authorization server`, mend)];
  return [ok(step, `${metadata} names ${issuer}`), await issuerAt(issuer)];
}

async function issuerAt(issuer: string): Promise<Finding> {
  const step = "login: the server";
  const places = ["oauth-authorization-server", "openid-configuration"].map((name) => wellKnown(issuer, name));
  const tried: string[] = [];
  for (const place of [...places, `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`]) {
    const { json, status } = await got(place);
    tried.push(`${place} (${status})`);
    if (json === undefined) continue;
    const lacking = ["authorization_endpoint", "token_endpoint"].filter((member) => typeof json[member] !== "string");
    if (lacking.length > 0)
      return failed(step, `${place} has no ${lacking.join(", ")}`, "No client can log in without.");
    const methods = json.code_challenge_methods_supported;
    if (!Array.isArray(methods) || !methods.includes("S256")) {
      return failed(step, `${place} does not say that it knows PKCE (S256)`, "Clients refuse a server without it.");
    }
    return ok(step, place);
  }
  return failed(step, `${issuer} has no metadata: ${tried.join(", ")}`, "Serve them, as RFC 8414 has it.");
}

/** The key or token that was given. */
export async function credential(
  endpoint: McpEndpoint,
  leads: Entrance["leads"],
  signal: AbortSignal,
): Promise<Finding> {
  const step = "key";
  if (endpoint.keyFrom === undefined) return skipped(step, "none given");
  const { status, wwwAuthenticate = "", said, code } = await pinged(endpoint, signal);
  const why = /error_description="([^"]*)"/.exec(wwwAuthenticate)?.[1];
  if (status === 401) {
    const mend =
      leads === "in"
        ? "Leave it out: everybody is let in without. A key belongs to one tenant."
        : "Copy it again, whole, or make another: tenantry key create TENANT --name NAME. It belongs to one tenant.";
    return failed(step, inWords("it is refused (401)", why), mend);
  }
  if (status === 403) {
    const mend =
      code === SUSPENDED_DATA.code
        ? "tenantry resume ends that; tenantry tenant show TENANT says what is suspended."
        : "A key may be for one profile alone: tenantry key list TENANT.";
    return failed(step, inWords("it is known, and may not do this (403)", said), mend);
  }
  return ok(step, "it is taken");
}

/** As the page of an MCP client asks before its first request. */
export async function pages({ url }: McpEndpoint, origin: string): Promise<Finding> {
  const step = "pages";
  const asked = {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type, mcp-protocol-version, mcp-session-id",
    },
  };
  const mend = `Clients in a browser need it; others do not. tenantry: allowedOrigins: ["${origin}"] in the tenant's document.`;
  const ask = async (init: RequestInit) => {
    const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(WITHIN_MS) });
    await response.body?.cancel();
    return response;
  };
  const response = await ask(asked).catch((error: unknown) => error as Error);
  if (response instanceof Error) return note(step, `no answer (${response.message})`, mend);
  const allowed = response.headers.get("access-control-allow-origin");
  if (allowed !== origin && allowed !== "*")
    return note(step, `a page of ${origin} may not call it (${response.status})`, mend);
  // A server may answer every preflight alike, and refuse the request itself.
  const sent = { method: "POST", headers: { origin, "content-type": "application/json" }, body: "{}" };
  const posted = await ask(sent).catch(() => undefined);
  if (posted?.status === 403) return note(step, `a page of ${origin} may not call it (403)`, mend);
  const headers = (response.headers.get("access-control-allow-headers") ?? "").toLowerCase();
  const lacking = ["authorization", "mcp-protocol-version", "mcp-session-id"].filter((name) => !headers.includes(name));
  if (lacking.length > 0 && headers !== "*") return note(step, `a page may not send ${lacking.join(", ")}`, mend);
  return ok(step, `a page of ${origin} may call it`);
}

interface Got {
  /** Of the answer, or why there was none. */
  readonly status: number | string;
  readonly json?: JsonObject;
}

async function got(url: string): Promise<Got> {
  try {
    const headers = { accept: "application/json" };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    const text = response.ok ? await beginningOf(response) : "";
    if (!response.ok) await response.body?.cancel();
    const json: unknown = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { status: response.status, ...(isObject(json) && { json }) };
  } catch (error) {
    if (error instanceof McpFault) throw error;
    return { status: (error as Error).name === "TimeoutError" ? "no answer" : (error as Error).message };
  }
}

/** Who answers is a stranger, who may never end. */
async function beginningOf({ body }: Response): Promise<string> {
  let text = "";
  if (!body) return text;
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.length > MOST_BYTES) break;
  }
  return text;
}

/** RFC 8414 and RFC 9728: between the host and the path. */
function wellKnown(url: string, name: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}/.well-known/${name}${pathname === "/" ? "" : pathname}`;
}

/** RFC 9728, section 3.3, as clients hold it: the same origin, and the path or one above. */
function covers(resource: string, url: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [about, asked] = [new URL(resource), new URL(url)];
  const folder = (path: string) => (path.endsWith("/") ? path : `${path}/`);
  return about.origin === asked.origin && folder(asked.pathname).startsWith(folder(about.pathname));
}
