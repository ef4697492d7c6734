// Owns the public keys of a tenant, by which its API verifies the tokens that signed-token.ts makes. They are everybody's.

import { remote } from "../../tenants/authority/tables.ts";
import type { LoginVisit } from "../login-visit.ts";
import { signs } from "./identity-ways.ts";
import { signingKeyTables } from "./signing-key-tables.ts";

/** Far shorter than a new key is published before it signs. */
const HEADERS = { "content-type": "application/jwk-set+json", "cache-control": "public, max-age=300" };

export async function jwksOf({ ground }: Pick<LoginVisit, "ground">): Promise<Response> {
  const { document, stub } = ground;
  const keys = signs(document) ? await remote(stub(), signingKeyTables).published() : [];
  return new Response(`{"keys":[${keys.join(",")}]}`, { headers: HEADERS });
}
