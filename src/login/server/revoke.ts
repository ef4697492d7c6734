// Owns `/revoke`: a client gives up what it was allowed, by either of its tokens. It is answered when no Worker takes them.
// https://datatracker.ietf.org/doc/html/rfc7009

import { hashToken } from "../../auth/api-key.ts";
import type { LoginVisit } from "../login-visit.ts";
import { untilEnded, loginOf } from "./login-door.ts";
import { memberOf } from "./token-answer.ts";
import { clientForm } from "./token-client.ts";

export async function answerRevoke(visit: LoginVisit): Promise<Response> {
  const { client, form } = await clientForm(visit);
  // A token that is none has been revoked already, as far as its client can tell.
  await untilEnded(await loginOf(visit).revoke(await hashToken(memberOf(form, "token")), client.id));
  return new Response(null, { headers: { "cache-control": "no-store" } });
}
