// Owns what travels through the browser between a client's request and its answer: sealed by the tenant's ring, in a cookie
// of its own. Nothing of it is stored, and another tenant, or the next of its name, opens none of it.

import { seal, toBase64Url, unseal } from "../../auth/seal.ts";
import type { LoginContext } from "../login-context.ts";

/** How long somebody may take to sign in and decide. */
export const TRANSACTION_MS = 600_000;
/** What browsers keep of a cookie is 4,096 bytes. */
const MAX_COOKIE = 3900;
/** Of logins that are under way in a browser, in one tenant: with more its requests would be too long for servers. */
const MAX_TRANSACTIONS = 4;

/** What a client asked for, once it was checked. */
export interface AuthorizeRequest {
  readonly client: string;
  readonly redirect: string;
  readonly state: string | null;
  /** S256. */
  readonly challenge: string;
  readonly resource: string;
  readonly profile: string | null;
  /** Names of the tenant's scopes; null: none were asked for. */
  readonly scopes: readonly string[] | null;
  /** `offline_access` was asked for. */
  readonly offline: boolean;
}

/** From `/authorize` to the answer, in one browser. */
export interface Transaction {
  /** Names its cookie, and is the `state` with which a provider sends the browser back. */
  readonly nonce: string;
  /** null: the person comes for the page of their grants. */
  readonly request: AuthorizeRequest | null;
  /** What the way to sign in wants back. */
  readonly providerState: Readonly<Record<string, string>>;
}

type Sealed<T> = T & { readonly until: number };

/** As `newNonce` makes them, and no name of anything else: other tenants' names may begin as this one's do. */
const NONCE = /^(?!.*-account$)[\w-]{22}$/;

/** A command line would take what begins with a hyphen for an option. */
export function createNonce(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16))).replace(/^-/, "_");
}

/** `of`: what it is, so that none is taken for another. */
export function sealCookie(
  context: LoginContext,
  purpose: string,
  value: object,
  lifetimeMs = TRANSACTION_MS,
): Promise<string> {
  return seal(context.ring, purposeOf(context, purpose), JSON.stringify({ ...value, until: Date.now() + lifetimeMs }));
}

/** undefined: it is not this tenant's, or its time is over. */
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

/** The cookie that begins it; undefined: it is too long for one. */
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

/** For those that were begun first, so that there is room for one more. */
export function expireOldestCookies(context: LoginContext): readonly string[] {
  const prefix = cookieName(context, "");
  // Browsers send the older ones first: https://datatracker.ietf.org/doc/html/rfc6265#section-5.4
  const nonces = cookiesOf(context).flatMap((one) => {
    const [name = ""] = one.split("=");
    const nonce = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    return NONCE.test(nonce) ? [nonce] : [];
  });
  return nonces.slice(0, 1 - MAX_TRANSACTIONS).map((nonce) => expireCookie(context, nonce));
}

/** undefined: this browser has begun none of that name. */
export async function readTransaction(context: LoginContext, nonce: string): Promise<Transaction | undefined> {
  const opened = await unsealCookie<Transaction>(context, "transaction", readCookie(context, nonce));
  return opened?.nonce === nonce ? opened : undefined;
}

/** `name`: what tells it from others of the tenant. */
export function serializeCookie(context: LoginContext, name: string, value: string, lifetimeMs: number): string {
  const secure = context.urls.issuer.startsWith("https:") ? "; Secure" : "";
  return `${cookieName(context, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${lifetimeMs / 1000}${secure}`;
}

/** Empty where there is none. */
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

/** With the prefix no other host and no plain http can set it: https://datatracker.ietf.org/doc/html/rfc6265bis */
function cookieName({ urls, tenantContext }: LoginContext, name: string): string {
  return `${urls.issuer.startsWith("https:") ? "__Host-" : ""}tenantry-login-${tenantContext.tenant}-${name}`;
}

/** Whether a form was sent by a page of this host. Browsers say so with every POST. */
export function isSameOriginForm({ request, urls }: LoginContext): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  return request.headers.get("origin") === new URL(urls.issuer).origin;
}
