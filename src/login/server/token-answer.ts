// Owns new tokens as they are made, and as a client gets them.

import { createKey } from "../../auth/api-key.ts";
import { answerJson, OAuthError } from "./answers.ts";
import type { TokensGiven, NewTokens } from "./token-rows.ts";

/** Made before the authority is asked, which learns their hashes. */
export interface FreshTokens {
  readonly access: string;
  readonly refresh: string;
  readonly hashes: NewTokens;
}

export async function freshTokens(accessMs: number): Promise<FreshTokens> {
  const [access, refresh] = await Promise.all([createKey("access"), createKey("refresh")]);
  const hashes = { access: access.hash, refresh: refresh.hash, accessMs };
  return { access: access.token, refresh: refresh.token, hashes };
}

export function memberOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null) throw new OAuthError("invalid_request", `${name} is missing`);
  return value;
}

export function answerTokens(
  { access, refresh }: Pick<FreshTokens, "access" | "refresh">,
  { grant: { scopes, offline }, lastsMs }: TokensGiven,
): Response {
  // A client may refuse a name that it did not ask for.
  const scope = [...(scopes ?? []), ...(offline ? ["offline_access"] : [])].join(" ");
  return answerJson({
    access_token: access,
    token_type: "Bearer",
    expires_in: Math.max(1, Math.floor(lastsMs / 1000)),
    refresh_token: refresh,
    ...(scope !== "" && { scope }),
  });
}
