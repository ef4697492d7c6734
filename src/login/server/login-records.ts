// Owns the shapes that cross between a tenant's object and the Workers that are its authorization server.

import type { Narrowing } from "../../auth/principal.ts";
import type { SignedIn } from "../sign-in/sign-in.ts";

/** A client as the authorization server knows it, whether it registered or has a document. */
export interface LoginClient {
  /** Chosen by us where it registered; the URL of its document else. */
  readonly id: string;
  readonly kind: "registered" | "document";
  readonly name: string;
  readonly site: string | undefined;
  /** Exact; a loopback one holds for any port. */
  readonly redirects: readonly string[];
  readonly method: "none" | "client_secret_basic" | "client_secret_post";
  /** `hashToken` of its secret; null: it has none. */
  readonly secretHash: string | null;
  /** Of its metadata: who consented to another is asked again. */
  readonly digest: string;
}

/** Somebody who signed in and has yet to decide. */
export interface SignInRecord {
  /** The id of the principal. */
  readonly principal: string;
  readonly person: SignedIn;
  /** Tokens of the provider, sealed; null: there are none. */
  readonly provider: string | null;
  /** Of the key that was pasted; null: none was. */
  readonly keyHash: string | null;
}

/** Who consented to what for whom. */
export interface Grant {
  readonly id: string;
  readonly client: Pick<LoginClient, "id" | "name" | "digest">;
  /** The id of the principal: `oauth ISSUER SUBJECT`, or `key ID` for who pasted a key. */
  readonly principal: string;
  readonly person: SignedIn;
  /** The endpoint's URL, and the profile that it has; null: none. */
  readonly resource: string;
  readonly profile: string | null;
  /** Names of the tenant's scopes; null: nothing limits the person. */
  readonly scopes: readonly string[] | null;
  /** `offline_access` was asked for. */
  readonly offline?: boolean;
  readonly narrowing: Narrowing;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly usedAt: number;
  /** When the provider was last known to let the person in. */
  readonly confirmedAt: number;
  readonly expires: number;
}
