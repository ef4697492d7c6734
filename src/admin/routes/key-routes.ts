// Routes for a tenant's API keys. A key is shown once and rotated with an overlap. A revocation is in effect once the
// leases have expired.

import { createKey } from "../../auth/api-key.ts";
import { keyPrincipalId } from "../../auth/principal.ts";
import { mergeDocuments } from "../../tenants/document/tenant-document.ts";
import type { KeyRecord, TenantRecord } from "../../tenants/object/policy-records.ts";
import type { NewApiKey, RotateKey, Infer } from "../contract.ts";
import { confirmWithdrawal, deadlineFrom, isoTime, waitForLeases } from "../services/propagation.ts";
import { paginateRows, parsePosition } from "../page.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminContext, type RouteResponse } from "../route.ts";
import { effectiveLimitsOf } from "../services/limit-rules.ts";
import { requireKey, requireTenant, requireTenantRecord, type TenantHandle } from "../services/tenant-handle.ts";
import type { KeyParams } from "../endpoints/access-endpoints.ts";
import { KEY_ENDPOINTS } from "../endpoints/access-endpoints.ts";

const KEY_POSITION = /^[0-9A-Za-z]{10} \d{4}-\d\d-\d\dT\S+Z$/;
const DEFAULT_OVERLAP_SECONDS = 86_400;

export const keyRoutes = defineRoutes(KEY_ENDPOINTS, {
  "GET /tenants/{id}/keys": async (context) => {
    const { policy } = await requireTenant(context, context.params.id);
    const { limit } = context.query;
    const [id = "", created = ""] = (parsePosition("keys", context.query, KEY_POSITION) ?? "").split(" ");
    const rows = await policy.keyPage({ after: { id, created }, limit: limit + 1 });
    return { body: paginateRows("keys", rows.map(toApiKey), limit, (key) => `${key.id} ${key.created}`) };
  },
  "POST /tenants/{id}/keys": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    const record = await requireTenantRecord(handle);
    checkNewKey(handle, record, context.body);
    const { keys: maxKeys } = effectiveLimitsOf(context, handle, record);
    const { name, scopes = null, profile = null, expires } = context.body;
    const { id, token, hash } = await createKey();
    const expiresAt = expires === undefined ? null : Date.parse(expires);
    const key = { id, hash, name, scopes, profile, expires: expiresAt };
    const result = await handle.policy.addKey(key, context.caller, maxKeys);
    if (result.state === "full") throw keyLimitReached(`at most ${maxKeys} keys: revoke a key first`);
    return { status: 201, body: { ...toApiKey(await requireKey(handle, id)), token } };
  },
  "POST /tenants/{id}/keys/self/rotate": async (context) => {
    const key = context.caller.name.slice(keyPrincipalId("").length);
    // Limits for each caller start afresh with each key, so a key rotates itself at most once a day.
    return rotateKey(context, { ...context.params, key }, { ...context.body, minAgeMs: DAY_MS });
  },
  "POST /tenants/{id}/keys/{key}/rotate": async (context) => rotateKey(context, context.params, context.body),
  "DELETE /tenants/{id}/keys/{key}": async (context) => {
    const { id, key } = context.params;
    const handle = await requireTenant(context, id);
    await requireTenantRecord(handle);
    return confirmWithdrawal(handle, await handle.policy.revokeKey(key, context.caller), context);
  },
});

const DAY_MS = 86_400_000;
/** The answer with the new key may be lost, and no one else has that key. */
const ALREADY_ROTATED =
  "was rotated already. If you did not get the new key, ask an operator or the tenant's administrator for one";
const TOO_YOUNG = "The key is less than a day old: only an operator or the tenant's administrator can rotate it";

async function rotateKey(
  context: AdminContext,
  { id, key }: Infer<typeof KeyParams>,
  { overlapSeconds = DEFAULT_OVERLAP_SECONDS, minAgeMs = 0 }: Infer<typeof RotateKey> & { minAgeMs?: number },
): Promise<RouteResponse> {
  const handle = await requireTenant(context, id);
  const { token, ...newKey } = await createKey();
  const { keys: maxKeys } = effectiveLimitsOf(context, handle, await requireTenantRecord(handle));
  const rotation = { old: key, key: newKey, overlapMs: overlapSeconds * 1000, maxKeys };
  const result = await handle.policy.rotateKey({ ...rotation, minAgeMs }, context.caller);
  if (result.state === "absent") throw notFound(`key ${key}`);
  if (result.state === "rotated") throw new ProblemError("conflict", { detail: `The key ${key} ${ALREADY_ROTATED}` });
  if (result.state === "suspended") throw new ProblemError("forbidden", { detail: `The key ${key} is suspended` });
  if (result.state === "young") throw new ProblemError("conflict", { detail: TOO_YOUNG });
  if (result.state === "full") {
    throw keyLimitReached(
      `at most ${maxKeys} keys, and one more during a rotation: wait for other rotations, or set overlapSeconds to 0`,
    );
  }
  // With an overlap, nothing is withdrawn now. Without one, the old key ends like a revoked key.
  if (overlapSeconds === 0) await waitForLeases(deadlineFrom(await handle.policy.leftMs()));
  return { status: 201, body: { ...toApiKey(await requireKey(handle, newKey.id)), token } };
}

function keyLimitReached(rule: string): ProblemError {
  return new ProblemError("conflict", { errors: [{ field: "limits.keys", rule }] });
}

/** Rejects invalid scopes, profiles and times. */
function checkNewKey(
  { tenant }: TenantHandle,
  { effective }: TenantRecord,
  { scopes, profile, expires }: Infer<typeof NewApiKey>,
): void {
  const document = mergeDocuments([tenant.base, effective]);
  const unknown = (scopes ?? []).filter((name) => !Object.hasOwn(document.scopes ?? {}, name));
  const errors = unknown.map((name) => [`scopes.${scopes?.indexOf(name)}`, `there is no scope ${name}`] as const);
  if (errors.length > 0) throw invalidFields(...errors);
  if (profile !== undefined && !Object.hasOwn(document.profiles ?? {}, profile)) {
    throw invalidFields(["profile", `there is no profile ${profile}`]);
  }
  if (expires !== undefined && Date.parse(expires) <= Date.now()) throw invalidFields(["expires", "is in the past"]);
}

function toApiKey({ id, name, scopes, profile, created, expires, lastUsed, retires }: KeyRecord) {
  return { id, name, scopes, profile, created, expires: isoTime(expires), lastUsed, retires: isoTime(retires) };
}
