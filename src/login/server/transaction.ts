// The state of a sign-in, which travels through the browser in a cookie of its own, sealed by the tenant's key ring.
// The server stores no part of it. Another tenant, or a later tenant of the same name, cannot open it.

import { seal, toBase64Url, unseal } from "../../auth/seal.ts";
import type { LoginContext } from "../login-context.ts";

/** Time to sign in and decide, in milliseconds. */
export const TRANSACTION_MS = 600_000;
/** Browsers store at most 4,096 bytes per cookie. */
const MAX_COOKIE = 3900;
/** Most open sign-ins per browser and tenant: more cookies would make requests too long for servers. */
const MAX_TRANSACTIONS = 4;

/** A client's request after validation. */
export interface AuthorizeRequest {
  readonly client: string;
  readonly redirect: string;
  readonly state: string | null;
  /** S256. */
  readonly challenge: string;
  readonly resource: string;
  readonly profile: string | null;
  /** Names of the tenant's scopes; null: none were requested. */
  readonly scopes: readonly string[] | null;
  /** The client asked for `offline_access`. */
  readonly offline: boolean;
}

/** One sign-in in one browser, from `/authorize` to the answer. */
export interface Transaction {
  /** Names the cookie. Also the `state` that a provider returns with the browser. */
  readonly nonce: string;
  /** null: the person wants their account page. */
  readonly request: AuthorizeRequest | null;
  /** State that the sign-in method needs back. */
  readonly providerState: Readonly<Record<string, string>>;
}

type Sealed<T> = T & { readonly until: number };

/**
 * Matches the names of `createNonce` and no other cookie: another tenant's cookie names may begin like this tenant's.
 */
const NONCE = /^(?!.*-account$)[\w-]{22}$/;

/** No leading hyphen, which a command line would read as an option. */
export function createNonce(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16))).replace(/^-/, "_");
}

/** `purpose` separates kinds of cookies, so that none is accepted as another. */
export function sealCookie(
  context: LoginContext,
  purpose: string,
  value: object,
  lifetimeMs = TRANSACTION_MS,
): Promise<string> {
  return seal(context.ring, purposeOf(context, purpose), JSON.stringify({ ...value, until: Date.now() + lifetimeMs }));
}

/** Returns undefined if the cookie is not this tenant's or has expired. */
export async function unsealCookie<T extends object>(
  context: LoginContext,
  purpose: string,
  text: string,
): Promise<T | undefined> {
  const opened = await unseal(context.ring, purposeOf(context, purpose), text);
  const value = opened === undefined ? undefined : (JSON.parse(opened) as Sealed<T>);
  return value && Date.now() < value.until ? value : undefined;
}

function purposeOf({ tenantContext: { tenant, created } }: LoginContext, purpose: string): string {
  return `login ${purpose} ${tenant} ${created}`;
}

/** The cookie that starts a transaction; undefined if it would be too long. */
export async function createTransactionCookie(
  context: LoginContext,
  transaction: Transaction,
): Promise<string | undefined> {
  const sealed = await sealCookie(context, "transaction", transaction);
  return sealed.length > MAX_COOKIE ? undefined : serializeCookie(context, transaction.nonce, sealed, TRANSACTION_MS);
}

export function expireCookie(context: LoginContext, name: string): string {
  return serializeCookie(context, name, "", 0);
}

/** Expires the oldest transactions, to make room for one more. */
export function expireOldestCookies(context: LoginContext): readonly string[] {
  const prefix = cookieName(context, "");
  // Browsers send older cookies first: https://datatracker.ietf.org/doc/html/rfc6265#section-5.4
  const nonces = cookiesOf(context).flatMap((one) => {
    const [name = ""] = one.split("=");
    const nonce = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    return NONCE.test(nonce) ? [nonce] : [];
  });
  return nonces.slice(0, 1 - MAX_TRANSACTIONS).map((nonce) => expireCookie(context, nonce));
}

/** Returns undefined if this browser has not started this transaction. */
export async function readTransaction(context: LoginContext, nonce: string): Promise<Transaction | undefined> {
  const opened = await unsealCookie<Transaction>(context, "transaction", readCookie(context, nonce));
  return opened?.nonce === nonce ? opened : undefined;
}

/** `name` identifies the cookie among the tenant's. */
export function serializeCookie(context: LoginContext, name: string, value: string, lifetimeMs: number): string {
  const secure = context.urls.issuer.startsWith("https:") ? "; Secure" : "";
  return `${cookieName(context, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${lifetimeMs / 1000}${secure}`;
}

/** Empty if there is no such cookie. */
export function readCookie(context: LoginContext, name: string): string {
  const prefix = `${cookieName(context, name)}=`;
  return (
    cookiesOf(context)
      .find((one) => one.startsWith(prefix))
      ?.slice(prefix.length) ?? ""
  );
}

function cookiesOf({ request }: LoginContext): readonly string[] {
  return (request.headers.get("cookie") ?? "").split(";").map((one) => one.trim());
}

/**
 * With the prefix, no other host and no plain http can set the cookie: https://datatracker.ietf.org/doc/html/rfc6265bis
 */
function cookieName({ urls, tenantContext }: LoginContext, name: string): string {
  return `${urls.issuer.startsWith("https:") ? "__Host-" : ""}tenantry-login-${tenantContext.tenant}-${name}`;
}

/** Whether a page of this host sent the form. Browsers say so with every POST. */
export function isSameOriginForm({ request, urls }: LoginContext): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  return request.headers.get("origin") === new URL(urls.issuer).origin;
}
