// Owns what travels through the browser between a client's request and its answer: sealed by the tenant's ring, in a cookie
// of its own. Nothing of it is stored, and another tenant, or the next of its name, opens none of it.

import { seal, toBase64Url, unseal } from "../../auth/seal.ts";
import type { LoginVisit } from "../login-visit.ts";

/** How long somebody may take to sign in and decide. */
export const TAKES_MS = 600_000;
/** What browsers keep of a cookie is 4,096 bytes. */
const MOST_SEALED = 3900;
/** Of logins that are under way in a browser, in one tenant: with more its requests would be too long for servers. */
const MOST_BEGUN = 4;

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
  readonly kept: Readonly<Record<string, string>>;
}

type Sealed<T> = T & { readonly until: number };

/** As `newNonce` makes them, and no name of anything else: other tenants' names may begin as this one's do. */
const NONCE = /^(?!.*-account$)[\w-]{22}$/;

/** A command line would take what begins with a hyphen for an option. */
export function newNonce(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16))).replace(/^-/, "_");
}

/** `of`: what it is, so that none is taken for another. */
export function sealFor(visit: LoginVisit, of: string, value: object, forMs = TAKES_MS): Promise<string> {
  return seal(visit.ring, purposeOf(visit, of), JSON.stringify({ ...value, until: Date.now() + forMs }));
}

/** undefined: it is not this tenant's, or its time is over. */
export async function openFor<T extends object>(visit: LoginVisit, of: string, text: string): Promise<T | undefined> {
  const opened = await unseal(visit.ring, purposeOf(visit, of), text);
  const value = opened === undefined ? undefined : (JSON.parse(opened) as Sealed<T>);
  return value && Date.now() < value.until ? value : undefined;
}

function purposeOf({ ground: { tenant, created } }: LoginVisit, of: string): string {
  return `login ${of} ${tenant} ${created}`;
}

/** The cookie that begins it; undefined: it is too long for one. */
export async function beginCookie(visit: LoginVisit, transaction: Transaction): Promise<string | undefined> {
  const sealed = await sealFor(visit, "transaction", transaction);
  return sealed.length > MOST_SEALED ? undefined : cookie(visit, transaction.nonce, sealed, TAKES_MS);
}

export function endCookie(visit: LoginVisit, name: string): string {
  return cookie(visit, name, "", 0);
}

/** For those that were begun first, so that there is room for one more. */
export function endOldest(visit: LoginVisit): readonly string[] {
  const own = cookieName(visit, "");
  // Browsers send the older ones first: https://datatracker.ietf.org/doc/html/rfc6265#section-5.4
  const begun = cookiesOf(visit).flatMap((one) => {
    const [name = ""] = one.split("=");
    const nonce = name.startsWith(own) ? name.slice(own.length) : "";
    return NONCE.test(nonce) ? [nonce] : [];
  });
  return begun.slice(0, 1 - MOST_BEGUN).map((nonce) => endCookie(visit, nonce));
}

/** undefined: this browser has begun none of that name. */
export async function transactionOf(visit: LoginVisit, nonce: string): Promise<Transaction | undefined> {
  const found = await openFor<Transaction>(visit, "transaction", cookieOf(visit, nonce));
  return found?.nonce === nonce ? found : undefined;
}

/** `name`: what tells it from others of the tenant. */
export function cookie(visit: LoginVisit, name: string, value: string, forMs: number): string {
  const secure = visit.urls.issuer.startsWith("https:") ? "; Secure" : "";
  return `${cookieName(visit, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${forMs / 1000}${secure}`;
}

/** Empty where there is none. */
export function cookieOf(visit: LoginVisit, name: string): string {
  const wanted = `${cookieName(visit, name)}=`;
  return (
    cookiesOf(visit)
      .find((one) => one.startsWith(wanted))
      ?.slice(wanted.length) ?? ""
  );
}

function cookiesOf({ request }: LoginVisit): readonly string[] {
  return (request.headers.get("cookie") ?? "").split(";").map((one) => one.trim());
}

/** With the prefix no other host and no plain http can set it: https://datatracker.ietf.org/doc/html/rfc6265bis */
function cookieName({ urls, ground }: LoginVisit, name: string): string {
  return `${urls.issuer.startsWith("https:") ? "__Host-" : ""}tenantry-login-${ground.tenant}-${name}`;
}

/** Whether a form was sent by a page of this host. Browsers say so with every POST. */
export function isOwnForm({ request, urls }: LoginVisit): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  return request.headers.get("origin") === new URL(urls.issuer).origin;
}
