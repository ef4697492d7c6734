// Builds requests to an OAuth token endpoint and parses its responses, both for upstreams and for identity providers.
// Callers send the request with their own fetch and timeout. https://datatracker.ietf.org/doc/html/rfc6749#section-5

import { isObject } from "../protocol/jsonrpc.ts";

/** Client authentication: https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1 */
export interface TokenClient {
  readonly id: string;
  /** undefined for a public client. */
  readonly secret: string | undefined;
  readonly isBasic: boolean;
}

export interface TokenResponse {
  readonly access: string;
  readonly refresh?: string;
  /** Lifetime in seconds. Absent if the server did not say; NaN if the value is unusable. */
  readonly seconds?: number;
  readonly scope?: string;
  readonly idToken: unknown;
}

/** Caps a lifetime at about a century, so that the computed expiry stays a number that JSON can represent. */
const MAX_LIFETIME_S = 3_200_000_000;

type JsonMembers = Readonly<Record<string, unknown>>;

/** Longer than the tokens of most servers, and no longer than a header can be. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
export const ACCEPT_JSON = { accept: "application/json" } as const;
const FORM = "application/x-www-form-urlencoded";

export function createTokenRequest(
  { id, secret, isBasic }: TokenClient,
  form: Readonly<Record<string, string>>,
): { readonly method: string; readonly headers: Record<string, string>; readonly body: string } {
  const usesHeader = isBasic && secret !== undefined;
  const authorization = `Basic ${btoa([id, secret].map((text) => encodeURIComponent(text ?? "")).join(":"))}`;
  const clientFields = { client_id: id, ...(secret !== undefined && { client_secret: secret }) };
  return {
    method: "POST",
    headers: { ...ACCEPT_JSON, "content-type": FORM, ...(usesHeader && { authorization }) },
    body: new URLSearchParams({ ...form, ...(usesHeader ? {} : clientFields) }).toString(),
  };
}

/** Returns undefined if the response has no usable bearer token. A missing token type counts as bearer. */
export function parseTokenResponse(body: JsonMembers): TokenResponse | undefined {
  const {
    access_token: access,
    refresh_token: refresh,
    token_type: type = "bearer",
    expires_in: expiresIn,
    scope,
  } = body;
  const isBearer =
    typeof access === "string" && TOKEN.test(access) && typeof type === "string" && /^bearer$/i.test(type);
  // GitHub reports errors with status 200.
  if (!isBearer || body["error"] !== undefined) return undefined;
  return {
    access,
    ...(typeof refresh === "string" && TOKEN.test(refresh) && { refresh }),
    ...(expiresIn !== undefined && {
      seconds: typeof expiresIn === "object" ? Number.NaN : Math.min(Number(expiresIn), MAX_LIFETIME_S),
    }),
    ...(typeof scope === "string" && { scope }),
    idToken: body["id_token"],
  };
}

/** Returns undefined if the value is not an error code; such text could echo what the server was sent. */
export function parseOAuthErrorCode(error: unknown): string | undefined {
  return typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? error : undefined;
}

/** GitHub and some older servers answer with a form, either without an Accept header or always. */
export function parseTokenBody(text: string, type: string | null): JsonMembers | undefined {
  return type?.startsWith(FORM) ? Object.fromEntries(new URLSearchParams(text)) : parseJsonObject(text);
}

/**
 * Returns undefined if the text is not a JSON object. Never throws: the platform's error message would repeat parts of
 * the text.
 */
export function parseJsonObject(text: string): JsonMembers | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
