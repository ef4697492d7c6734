// Owns who calls with a tenant's own API key, at a route that takes one and no operator's token. Refuses keys that are suspended,
// and says the same, as late, of a wrong key and of a tenant that is not there.

import { hashToken, keyIdOf } from "../auth/api-key.ts";
import { exposedBy } from "../auth/origin.ts";
import { bearerOf, keyPrincipalId } from "../auth/principal.ts";
import { addressOf } from "../limits/address.ts";
import { Limiter } from "../limits/limiter.ts";
import type { OperatorCaller } from "../deployment/operator-sign-in.ts";
import type { KeyGrant, LeaseAsk, TenantRecord } from "../tenants/authority/policy-records.ts";
import { mergeDocuments } from "../tenants/document/tenant-document.ts";
import { managedOf, meetTenant, type Managed } from "./apply/tenant-access.ts";
import { ProblemError } from "./problem.ts";
import type { AdminEnv, AdminOptions, MetTenant } from "./route.ts";

/** What is served from this lease is this one answer. */
const LEASE_MS = 50;

/** How often an address may try in a minute: each time an object is asked. */
const MOST_A_MINUTE = 100;
/** Bound: twice MOST_METERS of limiter.ts. */
const limiter = new Limiter();

interface Place {
  readonly env: AdminEnv;
  readonly options: AdminOptions;
}

/** Throws `limited` for who tries too often, `unauthorized` for whatever is no key of the tenant that works, `forbidden` for one that is suspended. */
export async function authenticateKey(request: Request, place: Place, id: string): Promise<OperatorCaller> {
  if (exposedBy(request)) throw new ProblemError("plain-http");
  const token = bearerOf(request.headers.get("authorization"));
  if (token === null || keyIdOf(token) === undefined) throw refused();
  countTry(limiter, request);
  const met = await meetTenant(place, id).catch((error: unknown) => {
    if (error instanceof ProblemError && error.key === "not-found") return undefined;
    throw error;
  });
  const key = await keyIn(place, id, met, await hashToken(token));
  return { name: keyPrincipalId(key.id), role: "tenant-admin", tenants: [id] };
}

/** Throws `limited` for an address that tries too often. */
export function countTry(tries: Limiter, { headers }: Pick<Request, "headers">): void {
  const tooOften = tries.refuse(addressOf(headers), { addressRefusals: MOST_A_MINUTE }, Date.now());
  if (!tooOften) return;
  throw new ProblemError("limited", { headers: { "retry-after": String(Math.ceil(tooOften.waitMs / 1000)) } });
}

async function keyIn(place: Place, id: string, met: MetTenant | undefined, keyHash: string): Promise<KeyGrant> {
  if (!met || met.isGone || met.entry?.state === "deleting") throw refused();
  const ask: LeaseAsk = { version: null, maxStalenessMs: LEASE_MS, inCode: met.entry === null, keyHash };
  const managed = managedOf(place, id, met);
  const lease = await managed.policy.lease(ask);
  const key = lease.state === "granted" ? lease.key : null;
  if (!key || key.person) throw refused();
  const record = await managed.policy.read(met.entry === null);
  if (!record) throw refused();
  refuseStopped(managed, record, key);
  return key;
}

/** A new key is another principal: nobody gets rid of a suspension so. */
function refuseStopped(managed: Managed, record: TenantRecord, key: KeyGrant): void {
  const { mode } = mergeDocuments([managed.tenant.base, record.effective]);
  if (mode === "oauth") throw new ProblemError("forbidden", { detail: "This tenant takes no keys" });
  const { suspensions } = record;
  const stopped = suspensions.find(
    ({ kind, name }) =>
      kind === "tenant" ||
      (kind === "principal" && name === keyPrincipalId(key.id)) ||
      (kind === "profile" && name === key.profile),
  );
  if (stopped) throw new ProblemError("forbidden", { detail: `Suspended: ${stopped.note}` });
}

function refused(): ProblemError {
  return new ProblemError("unauthorized", {
    detail: "The key is not known here, or has ended",
    headers: { "www-authenticate": 'Bearer realm="tenantry admin", error="invalid_token"' },
  });
}
