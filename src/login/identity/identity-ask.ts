// Owns the shapes of asking for a token as a person: what each way is given, and what it gives.

import type { Person } from "../../auth/principal.ts";
import type { IdentityGround, TendGround } from "../../deployment/deployment.ts";
import type { IdentityDocument } from "../../tenants/document/tenant-document.ts";

export interface IdentityAsk {
  readonly ground: IdentityGround;
  /** The same, for what speaks to an authorization server. */
  readonly tend: TendGround;
  readonly person: Person;
  readonly way: IdentityDocument;
  readonly audience: string;
  readonly scopes: readonly string[];
}

export interface IdentityToken {
  readonly token: string;
  /** When it ends, milliseconds since the epoch. */
  readonly until: number;
}
