// Owns the port of a way to sign in: what begins it, what ends it, and how it is asked again later whether the person is
// still let in. Refuses grants and tokens of ours: src/login/server gives those.

import type { LoginContext } from "../login-context.ts";

/** Tokens of the provider, with which a tool may act for the person. They are stored sealed. */
export interface ProviderTokens {
  readonly access: string;
  readonly refresh?: string;
  /** Milliseconds since the epoch; absent: nobody said. */
  readonly expires?: number;
  readonly scope?: string;
}

/** Who signed in. */
export interface ProviderIdentity {
  /** Who vouches: the OpenID issuer, the origin of an OAuth2 provider's `authorizeUrl` or of `productUrl`, or `key`. */
  readonly issuer: string;
  /** The same person always has the same; where a key was pasted, the key's id. */
  readonly subject: string;
  readonly name?: string;
  readonly email?: string;
  readonly groups?: readonly string[];
  /** All that was said of the person; the document says what handlers are shown. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What somebody is told who could not sign in: why, and what to do next. Never what a provider said word for word. */
export interface SignInFailure {
  readonly kind: "notSignedIn";
  readonly why: string;
  readonly next: string;
  /** The error of RFC 6749 section 4.1.2.1 that the client gets when the person cannot do anything about it. */
  readonly error?: "access_denied" | "server_error" | "temporarily_unavailable";
}

export interface SignInSuccess {
  readonly kind: "signedIn";
  readonly person: ProviderIdentity;
  readonly provider?: ProviderTokens;
  /** The pasted key's hash, by which its grant in the tenant is found. */
  readonly keyHash?: string;
}

/** Where the browser goes, and what is needed when it comes back: kept sealed in the transaction, at most 500 bytes. */
export interface SignInStart {
  readonly kind: "begun";
  readonly location: string;
  readonly providerState: Readonly<Record<string, string>>;
}

export type Revalidation =
  /** Still let in; tokens that took the place of the ones asked with, and what is said of the person now. */
  | { readonly state: "confirmed"; readonly provider?: ProviderTokens; readonly person?: ProviderIdentity }
  /** The provider says that they are not, or has forgotten them: they have to sign in again. */
  | { readonly state: "ended" }
  /** It cannot be asked now, or said what is no description of the person; with tokens that it gave all the same. */
  | { readonly state: "away"; readonly provider?: ProviderTokens };

/** `silent`: the provider says nothing more of them. undefined: what it says cannot be read, or is somebody else. */
export type CurrentPerson = ProviderIdentity | "silent" | undefined;

export interface IdentityProviderClient {
  /**
   * `state`: what has to come back as it is. `isSwitch`: the person is not who has a session there. Absent where a page of
   * ours asks for what is needed (`key`).
   */
  begin?(context: LoginContext, state: string, isSwitch?: boolean): Promise<SignInStart | SignInFailure>;
  /** `answer`: what came back, as the query of the callback or the form of our page. */
  finish(
    context: LoginContext,
    answer: URLSearchParams,
    providerState: Readonly<Record<string, string>>,
  ): Promise<SignInSuccess | SignInFailure>;
  /** Absent: nobody can be asked, and the person signs in again when `signInHours` are over. */
  revalidate?(
    context: Pick<LoginContext, "tenantContext" | "login">,
    provider: ProviderTokens,
    person: ProviderIdentity,
  ): Promise<Revalidation>;
}
