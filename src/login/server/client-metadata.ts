// Validates a client's metadata, from a registration or a document: name, redirect URIs, authentication method. Rejects
// redirect URIs that a browser would execute or parse differently.
// https://datatracker.ietf.org/doc/html/rfc7591#section-2

import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { LoginClient } from "./login-records.ts";

const MAX_NAME = 100;
const MAX_REDIRECTS = 50;
const MAX_REDIRECT_CHARACTERS = 2000;
/** Native apps listen on any free port: https://datatracker.ietf.org/doc/html/rfc8252#section-7.3 */
const LOOPBACK = /^(https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(\/.*)?$/;
/** Schemes that browsers or systems handle themselves, so that they are no app's own. */
const RESERVED_SCHEMES =
  /^(?:about|blob|chrome|data|file|filesystem|ftps?|https?|intent|jar|javascript|mailto|ms-.*|search-ms|sms|tel|vbscript|view-source|wss?):/;

export interface ClientMetadataError {
  readonly kind: "fault";
  readonly error: "invalid_redirect_uri" | "invalid_client_metadata";
  readonly why: string;
}

export type ClientMetadata = Pick<LoginClient, "name" | "site" | "redirects" | "method">;

const METHODS: readonly unknown[] = ["none", "client_secret_basic", "client_secret_post"];

/** Metadata of a registration. The default method is the one in RFC 7591, with a secret. */
export function parseRegistration(body: unknown): ClientMetadata | ClientMetadataError {
  if (!isObject(body)) return metadataError("the body must be a JSON object");
  const { redirect_uris: redirects, token_endpoint_auth_method: method = "client_secret_basic" } = body;
  if (!isList(redirects, isRedirect)) {
    const why =
      "redirect_uris must be https, http of localhost, 127.0.0.1 or [::1], or an app's own scheme, without a fragment";
    return { kind: "fault", error: "invalid_redirect_uri", why };
  }
  if (!METHODS.includes(method))
    return metadataError(`token_endpoint_auth_method must be one of ${METHODS.join(", ")}`);
  return flowErrorOf(body) ?? { ...displayDataOf(body), redirects, method: method as LoginClient["method"] };
}

/**
 * Metadata of the document at `id`. Invalid redirect URIs are dropped, so that one meant for another server does no
 * harm.
 */
export function parseClientDocument(id: string, document: unknown): ClientMetadata | ClientMetadataError {
  if (!isObject(document)) return metadataError("its metadata must be a JSON object");
  const {
    client_id: clientId,
    client_name: name,
    redirect_uris: all,
    token_endpoint_auth_method: method = "none",
  } = document;
  if (clientId !== id) return metadataError("its client_id must be the URL of its metadata document");
  if (typeof name !== "string") return metadataError("its client_name is missing");
  const redirects = Array.isArray(all) ? all.slice(0, MAX_REDIRECTS).filter(isRedirect) : [];
  if (redirects.length === 0) return metadataError("its redirect_uris are missing or not allowed");
  // ChatGPT's document prefers private_key_jwt and lists no other method.
  const { token_endpoint_auth_methods_supported: offered = [method], client_secret: secret } = document;
  if (!Array.isArray(offered) || !offered.includes("none"))
    return metadataError("its token_endpoint_auth_method must be none");
  if (secret !== undefined) return metadataError("its public metadata must not contain a client_secret");
  return flowErrorOf(document) ?? { ...displayDataOf(document), redirects, method: "none" };
}

export function metadataError(why: string): ClientMetadataError {
  return { kind: "fault", error: "invalid_client_metadata", why };
}

/** Further grant and response types are ignored. */
function flowErrorOf({
  grant_types: grants = ["authorization_code"],
  response_types: responses = ["code"],
}: JsonObject): ClientMetadataError | undefined {
  const isSupported =
    [grants, responses].every(Array.isArray) &&
    (grants as unknown[]).includes("authorization_code") &&
    (responses as unknown[]).includes("code");
  return isSupported
    ? undefined
    : metadataError("grant_types must include authorization_code, and response_types must include code");
}

function isList<T>(value: unknown, isOne: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.length > 0 && value.length <= MAX_REDIRECTS && value.every(isOne);
}

function displayDataOf({ client_name: name, client_uri: site }: JsonObject): Pick<LoginClient, "name" | "site"> {
  const isSite = typeof site === "string" && URL.canParse(site) && new URL(site).protocol === "https:";
  return { name: typeof name === "string" ? name.slice(0, MAX_NAME) : "", site: isSite ? site : undefined };
}

/**
 * Whether a client may have this redirect URI. It must be in the browser's normal form, so that it cannot be mistaken
 * for another one.
 */
export function isRedirect(text: unknown): text is string {
  if (typeof text !== "string" || text.length > MAX_REDIRECT_CHARACTERS || text.includes("#") || !URL.canParse(text))
    return false;
  const { href, protocol, username, password } = new URL(text);
  if ((href !== text && href !== `${text}/`) || username !== "" || password !== "") return false;
  // An app's own scheme: https://datatracker.ietf.org/doc/html/rfc8252#section-7.1
  return protocol === "https:" || isLoopbackRedirect(text) || (/^[^:]+:\/./.test(text) && !RESERVED_SCHEMES.test(text));
}

/** Whether the URI can lead to any program on the person's machine. */
export function isLoopbackRedirect(redirect: string): boolean {
  return LOOPBACK.test(redirect);
}

export function isRegisteredRedirect({ redirects }: Pick<LoginClient, "redirects">, redirect: string): boolean {
  const anyPort = withoutPort(redirect);
  return redirects.some((one) => one === redirect || (anyPort !== undefined && withoutPort(one) === anyPort));
}

/** Returns undefined if the port is significant. */
function withoutPort(redirect: string): string | undefined {
  const [, origin, path = "/"] = LOOPBACK.exec(redirect) ?? [];
  return origin && origin + path;
}
