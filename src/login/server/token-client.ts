// Owns which client sends a form to `/token` or `/revoke`: by its secret where it has one, in one of the two ways.
// https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1

import { hashToken } from "../../auth/api-key.ts";
import type { LoginVisit } from "../login-visit.ts";
import { OAuthError } from "./answers.ts";
import { repeatedIn } from "./authorize.ts";
import { findClient } from "./find-client.ts";
import type { LoginClient } from "./login-records.ts";

export interface ClientForm {
  readonly client: LoginClient;
  readonly form: URLSearchParams;
}

export async function clientForm(visit: LoginVisit): Promise<ClientForm> {
  const form = new URLSearchParams(visit.body);
  const twice = repeatedIn(form);
  if (twice !== undefined) throw new OAuthError("invalid_request", `${twice} is there twice`);
  const basic = basicOf(visit.request.headers.get("authorization"));
  const [id, secret] = basic ?? [form.get("client_id"), form.get("client_secret")];
  const wrong = (why: string) =>
    new OAuthError("invalid_client", why, 401, basic ? { "www-authenticate": 'Basic realm="tenantry"' } : {});
  if (id === null) throw wrong("client_id is missing");
  if (basic && (form.get("client_id") ?? id) !== id) throw wrong("there are two clients in one request");
  const client = await findClient(visit, id);
  if (client.kind === "clientRefusal") throw wrong(client.why);
  const { secretHash } = client;
  if (secretHash !== null && !isSame(secretHash, await hashToken(secret ?? ""))) throw wrong("the secret is wrong");
  return { client, form };
}

function basicOf(authorization: string | null): readonly [id: string, secret: string] | undefined {
  const [, encoded] = /^Basic +([\w+/-]+=*) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  try {
    const [id = "", ...secret] = atob(encoded).split(":");
    return [decoded(id), decoded(secret.join(":"))];
  } catch {
    return undefined;
  }
}

/** Both are form-encoded before. */
function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** In the same time, wherever they differ. */
function isSame(a: string, b: string): boolean {
  let differs = a.length ^ b.length;
  for (let at = 0; at < a.length; at += 1) differs |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return differs === 0;
}
