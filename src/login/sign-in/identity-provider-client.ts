// The interface of a sign-in method: how it starts, how it finishes, and how a person is revalidated later.
// src/login/server issues our own grants and tokens.

import type { LoginContext } from "../login-context.ts";

/** Tokens of the provider, with which a tool may act for the person. They are stored sealed. */
export interface ProviderTokens {
  readonly access: string;
  readonly refresh?: string;
  /** Milliseconds since the epoch; absent if the provider gave none. */
  readonly expires?: number;
  readonly scope?: string;
}

/** A person who signed in. */
export interface ProviderIdentity {
  /** The issuer: the OpenID issuer, the origin of an OAuth2 provider's `authorizeUrl` or of `productUrl`, or `key`. */
  readonly issuer: string;
  /** Stable id of the person at the issuer; for a pasted key, the key's id. */
  readonly subject: string;
  readonly name?: string;
  readonly email?: string;
  readonly groups?: readonly string[];
  /** All claims about the person. The document decides which of them handlers see. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Message for a person who could not sign in: the reason and the next step. Never a provider's own text. */
export interface SignInFailure {
  readonly kind: "notSignedIn";
  readonly why: string;
  readonly next: string;
  /** The error of RFC 6749 section 4.1.2.1 for the client, if the person cannot do anything about it. */
  readonly error?: "access_denied" | "server_error" | "temporarily_unavailable";
}

export interface SignInSuccess {
  readonly kind: "signedIn";
  readonly person: ProviderIdentity;
  readonly provider?: ProviderTokens;
  /** The pasted key's hash, by which the tenant's key record is found. */
  readonly keyHash?: string;
}

/** The browser's destination, and state for its return: sealed in the transaction, at most 500 bytes. */
export interface SignInStart {
  readonly kind: "begun";
  readonly location: string;
  readonly providerState: Readonly<Record<string, string>>;
}

export type Revalidation =
  /** The person may still sign in; with tokens that replace the previous ones, and the person's current description. */
  | { readonly state: "confirmed"; readonly provider?: ProviderTokens; readonly person?: ProviderIdentity }
  /** The provider rejects or no longer knows the person, who must sign in again. */
  | { readonly state: "ended" }
  /** The provider is unavailable, or its description of the person is unusable; with new tokens, if it gave any. */
  | { readonly state: "away"; readonly provider?: ProviderTokens };

/**
 * `silent`: the provider gives no description any more. undefined: the description is unreadable, or is of another
 * person.
 */
export type CurrentPerson = ProviderIdentity | "silent" | undefined;

export interface IdentityProviderClient {
  /**
   * `state` must come back unchanged. `isSwitch`: ignore the person who has a session there. Absent if our own page
   * asks for the credential (`key`).
   */
  begin?(context: LoginContext, state: string, isSwitch?: boolean): Promise<SignInStart | SignInFailure>;
  /** `answer`: the query of the callback, or the form of our page. */
  finish(
    context: LoginContext,
    answer: URLSearchParams,
    providerState: Readonly<Record<string, string>>,
  ): Promise<SignInSuccess | SignInFailure>;
  /** Absent if there is no provider to ask. The person then signs in again after `signInHours`. */
  revalidate?(
    context: Pick<LoginContext, "tenantContext" | "login">,
    provider: ProviderTokens,
    person: ProviderIdentity,
  ): Promise<Revalidation>;
}
