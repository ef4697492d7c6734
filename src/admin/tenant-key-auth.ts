// Authenticates a caller with a tenant's own API key, on routes that take no operator token. Suspended keys are
// refused. A wrong key and a missing tenant get the same answer after the same time.

import { hashToken, keyIdOf } from "../auth/api-key.ts";
import { insecureTransportError } from "../auth/origin.ts";
import { parseBearer, keyPrincipalId } from "../auth/principal.ts";
import { addressOf } from "../limits/address.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import type { OperatorCaller } from "../deployment/operator-sign-in.ts";
import type { KeyGrant, LeaseRequest, TenantRecord } from "../tenants/object/policy-records.ts";
import { mergeDocuments } from "../tenants/document/tenant-document.ts";
import { createTenantHandle, resolveTenant, type TenantHandle } from "./services/tenant-handle.ts";
import { ProblemError } from "./problem.ts";
import type { AdminEnv, AdminOptions, ResolvedTenant } from "./route.ts";

/** The lease covers only this one answer. */
const LEASE_MS = 50;

/** For one address. Bounded because each try calls a Durable Object. */
const MAX_TRIES_PER_MINUTE = 100;
/** Bound: twice MAX_METERS of rate-limiter.ts. */
const limiter = new RateLimiter();

interface KeyAuthServices {
  readonly env: AdminEnv;
  readonly options: AdminOptions;
}

/**
 * Throws `limited` for an address that tries too often, `unauthorized` unless the token is a working key of the
 * tenant, and `forbidden` for a suspended key.
 */
export async function authenticateTenantKey(
  request: Request,
  services: KeyAuthServices,
  id: string,
): Promise<OperatorCaller> {
  if (insecureTransportError(request)) throw new ProblemError("plain-http");
  const token = parseBearer(request.headers.get("authorization"));
  if (token === null || keyIdOf(token) === undefined) throw invalidKey();
  limitTries(limiter, request);
  const resolvedTenant = await resolveTenant(services, id).catch((error: unknown) => {
    if (error instanceof ProblemError && error.key === "not-found") return undefined;
    throw error;
  });
  const key = await getValidKey(services, id, resolvedTenant, await hashToken(token));
  return { name: keyPrincipalId(key.id), role: "tenant-admin", tenants: [id] };
}

/** Throws `limited` for an address that tries too often. */
export function limitTries(tries: RateLimiter, { headers }: Pick<Request, "headers">): void {
  const rejection = tries.countRefusal(addressOf(headers), { addressRefusals: MAX_TRIES_PER_MINUTE }, Date.now());
  if (!rejection) return;
  throw new ProblemError("limited", { headers: { "retry-after": String(Math.ceil(rejection.waitMs / 1000)) } });
}

async function getValidKey(
  services: KeyAuthServices,
  id: string,
  resolvedTenant: ResolvedTenant | undefined,
  keyHash: string,
): Promise<KeyGrant> {
  if (!resolvedTenant || resolvedTenant.isOrphaned || resolvedTenant.entry?.state === "deleting") throw invalidKey();
  const leaseRequest: LeaseRequest = {
    version: null,
    maxStalenessMs: LEASE_MS,
    inCode: resolvedTenant.entry === null,
    keyHash,
  };
  const handle = createTenantHandle(services, id, resolvedTenant);
  const lease = await handle.policy.lease(leaseRequest);
  const key = lease.state === "granted" ? lease.key : null;
  if (!key || key.person) throw invalidKey();
  const record = await handle.policy.read(resolvedTenant.entry === null);
  if (!record) throw invalidKey();
  rejectSuspendedKey(handle, record, key);
  return key;
}

/** A rotated key is a new principal, so a suspended key must not rotate itself: that would end the suspension. */
function rejectSuspendedKey(handle: TenantHandle, record: TenantRecord, key: KeyGrant): void {
  const { mode } = mergeDocuments([handle.tenant.base, record.effective]);
  if (mode === "oauth") throw new ProblemError("forbidden", { detail: "This tenant takes no keys" });
  const { suspensions } = record;
  const suspension = suspensions.find(
    ({ kind, name }) =>
      kind === "tenant" ||
      (kind === "principal" && name === keyPrincipalId(key.id)) ||
      (kind === "profile" && name === key.profile),
  );
  if (suspension) throw new ProblemError("forbidden", { detail: `Suspended: ${suspension.note}` });
}

function invalidKey(): ProblemError {
  return new ProblemError("unauthorized", {
    detail: "The key is unknown, expired or revoked",
    headers: { "www-authenticate": 'Bearer realm="tenantry admin", error="invalid_token"' },
  });
}
