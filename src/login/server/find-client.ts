// Owns finding the client that somebody names by its id: one that registered, or a document, live, else as it last was,
// else as the operators pinned it. Refuses what is not known, and to ask strangers' servers as often as strangers like.

import { digest } from "../../auth/seal.ts";
import { Limiter } from "../../limits/limiter.ts";
import { allowedBy } from "../../outbound/outbound-door.ts";
import type { LoginVisit } from "../login-visit.ts";
import { isDocumentId, readClientDocument } from "./client-document.ts";
import { documentMetadata, type ClientFault, type ClientMetadata } from "./client-metadata.ts";
import type { StoredClient } from "./client-tables.ts";
import { loginOf } from "./login-door.ts";
import type { LoginClient } from "./login-records.ts";

/** Why a client cannot be used, for the person who is in front of it. */
export interface ClientRefusal {
  readonly kind: "clientRefusal";
  readonly why: string;
}

const LONGEST_ID = 2048;
/** What one address may have us read, or register, in a minute and a tenant. */
const MOST_A_MINUTE = 30;
/** A document that cannot be read is taken for so long as it was when it could. */
const LAST_GOOD_MS = 30 * 86_400_000;

/** Bound: twice MOST_METERS of limiter.ts. */
const limiter = new Limiter();

/** Seconds after which the address may ask for `what` again; undefined: it may now. */
export function waitOf(
  { address, ground }: Pick<LoginVisit, "address" | "ground">,
  what: string,
  most = MOST_A_MINUTE,
): number | undefined {
  const met = limiter.refuse(`${what} ${ground.tenant} ${address}`, { addressRefusals: most }, Date.now());
  return met && Math.ceil(met.waitMs / 1000);
}

type Visit = Pick<LoginVisit, "address" | "ground" | "login">;

export async function findClient(visit: Visit, id: string): Promise<LoginClient | ClientRefusal> {
  const { login } = visit;
  const mayBe = login.clients?.includes(id) ?? id.length <= LONGEST_ID;
  if (!mayBe)
    return refusal("This client is none of those that may be used here. Ask whoever runs this server to allow it");
  const stored = await loginOf(visit).client(id);
  if (!/^https?:/i.test(id)) return stored?.client ?? refusal("This client is not known here, or not any more");
  const env = envFor(visit, id);
  if (!isDocumentId(id, allowedBy(env)))
    return refusal("The id of this client is no URL of a document on the public internet");
  if (stored && Date.now() < stored.freshUntil) return stored.client;
  return (await readAnew(visit, id, env)) ?? (await asItWas(visit, id, stored));
}

/** What operators let tools reach inside of a network is nothing that strangers may have us read, unless it is a client of theirs. */
function envFor({ ground: { env }, login: { clients, pinned = {} } }: Visit, id: string): unknown {
  return clients || Object.hasOwn(pinned, id) ? env : { ...env, OUTBOUND_ALLOW: "" };
}

/** undefined: it cannot be read now. */
async function readAnew(visit: Visit, id: string, env: unknown): Promise<LoginClient | ClientRefusal | undefined> {
  const { ground } = visit;
  if (waitOf(visit, "read") !== undefined) return undefined;
  try {
    const now = Date.now();
    const { metadata, goodFor } = await readClientDocument(id, ground.tenant, env);
    if ("kind" in metadata) return wrongly(metadata);
    const client = await documentClient(id, metadata);
    // Where there is no room it is read each time.
    await loginOf(visit).keepClient({ client, freshUntil: now + goodFor });
    return client;
  } catch (error) {
    ground.onError(error);
    return undefined;
  }
}

async function asItWas(
  { login }: Visit,
  id: string,
  stored: StoredClient | null,
): Promise<LoginClient | ClientRefusal> {
  if (stored && Date.now() < stored.freshUntil + LAST_GOOD_MS) return stored.client;
  const { pinned = {} } = login;
  const metadata = Object.hasOwn(pinned, id) ? documentMetadata(id, pinned[id]) : undefined;
  if (!metadata) return refusal("The document of this client cannot be read now");
  return "kind" in metadata ? wrongly(metadata) : documentClient(id, metadata);
}

async function documentClient(id: string, metadata: ClientMetadata): Promise<LoginClient> {
  return { id, kind: "document", ...metadata, secretHash: null, digest: await metadataDigest(metadata) };
}

/** Identifies the metadata that a person consented to. Without redirect URIs: each is checked at `/authorize`. */
export function metadataDigest({ name, site, method }: ClientMetadata): Promise<string> {
  return digest(JSON.stringify([name, site, method]));
}

function wrongly({ why }: ClientFault): ClientRefusal {
  return refusal(`This client cannot be used: ${why}`);
}

function refusal(why: string): ClientRefusal {
  return { kind: "clientRefusal", why };
}
