// Owns what is said to a token endpoint, and what its answer gives: the same words for upstreams and for who signs people in.
// Refuses to send anything: whoever asks has a door and a patience of its own. https://datatracker.ietf.org/doc/html/rfc6749#section-5

import { isObject } from "../protocol/jsonrpc.ts";

/** How a client shows its secret: https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1 */
export interface TokenClient {
  readonly id: string;
  /** undefined: a public one. */
  readonly secret: string | undefined;
  readonly isBasic: boolean;
}

export interface TokenResponse {
  readonly access: string;
  readonly refresh?: string;
  /** How long it serves; absent: nobody said. NaN: nobody can tell what was said. */
  readonly seconds?: number;
  readonly scope?: string;
  readonly idToken: unknown;
}

/** No token serves for longer than a century: what is kept of times is numbers that JSON knows. */
const MAX_LIFETIME_S = 3_200_000_000;

type JsonMembers = Readonly<Record<string, unknown>>;

/** More than most servers give, and no more than a header takes. */
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

/** undefined: there is none that can be used as a bearer. Where no type is said, it is one. */
export function parseTokenResponse(body: JsonMembers): TokenResponse | undefined {
  const {
    access_token: access,
    refresh_token: refresh,
    token_type: type = "bearer",
    expires_in: lifecycle,
    scope,
  } = body;
  const isBearer =
    typeof access === "string" && TOKEN.test(access) && typeof type === "string" && /^bearer$/i.test(type);
  // GitHub refuses with 200.
  if (!isBearer || body["error"] !== undefined) return undefined;
  return {
    access,
    ...(typeof refresh === "string" && TOKEN.test(refresh) && { refresh }),
    ...(lifecycle !== undefined && {
      seconds: typeof lifecycle === "object" ? Number.NaN : Math.min(Number(lifecycle), MAX_LIFETIME_S),
    }),
    ...(typeof scope === "string" && { scope }),
    idToken: body["id_token"],
  };
}

/** undefined: it is no code, and may repeat what the server was sent. */
export function parseOAuthErrorCode(error: unknown): string | undefined {
  return typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? error : undefined;
}

/** GitHub and older servers answer with a form where they are not asked well, or whatever they are asked. */
export function parseTokenBody(text: string, type: string | null): JsonMembers | undefined {
  return type?.startsWith(FORM) ? Object.fromEntries(new URLSearchParams(text)) : parseJsonObject(text);
}

/** undefined: it is no object. An error of the platform would repeat what stands in the text. */
export function parseJsonObject(text: string): JsonMembers | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
