// Owns `/token`: a code or a refresh token becomes new tokens, by one call to the tenant's authority.
// https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1-13#section-4.1.3

import { hashToken } from "../../auth/api-key.ts";
import type { LoginVisit } from "../login-visit.ts";
import { OAuthError } from "./answers.ts";
import { voucherOf } from "./grant-bearer.ts";
import { loginOf, refusalOfToken } from "./login-door.ts";
import { refreshTokens } from "./refresh.ts";
import { resourceOf } from "./resources.ts";
import { answerTokens, freshTokens, memberOf } from "./token-answer.ts";
import { clientForm } from "./token-client.ts";

const ACCESS_MINUTES = 60;
const MINUTE_MS = 60_000;

export async function answerToken(visit: LoginVisit): Promise<Response> {
  const { client, form } = await clientForm(visit);
  const named = form.getAll("resource");
  const resource = named.length === 0 ? null : resourceOf(visit.urls, visit.ground.document, named)?.resource;
  if (resource === undefined) throw new OAuthError("invalid_target", "resource names no endpoint of this tenant");
  const fresh = await freshTokens((visit.login.accessMinutes ?? ACCESS_MINUTES) * MINUTE_MS);
  const by = { client: client.id, digest: client.digest, voucher: voucherOf(visit.login), resource, ...fresh.hashes };
  const type = form.get("grant_type");
  if (type === "refresh_token") return refreshTokens(visit, memberOf(form, type), { fresh, by });
  if (type !== "authorization_code") {
    throw new OAuthError("unsupported_grant_type", "grant_type is authorization_code or refresh_token");
  }
  const [code, challenge] = await Promise.all([
    hashToken(memberOf(form, "code")),
    // As S256 has it.
    hashToken(memberOf(form, "code_verifier")),
  ]);
  const redeemed = await loginOf(visit).redeem({ ...by, code, challenge, redirect: form.get("redirect_uri") });
  if (redeemed.state === "refused") throw await refusalOfToken(redeemed);
  return answerTokens(fresh, redeemed);
}
