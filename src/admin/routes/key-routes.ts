// Owns the routes for a tenant's API keys: shown once, rotated with overlap, revoked by the lease rule.

import { createKey } from "../../auth/api-key.ts";
import { keyPrincipalId } from "../../auth/principal.ts";
import { MAX_KEYS } from "../../tenants/authority/key-tables.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { limitsInForce } from "../../limits/limit-table.ts";
import type { KeyRecord } from "../../tenants/authority/policy-records.ts";
import type { NewApiKey, RotateKey, Infer } from "../contract.ts";
import { acknowledge } from "../apply/acknowledge.ts";
import { fromNow, isoTime, untilInForce } from "../apply/in-force.ts";
import { pageFrom, positionOf } from "../page.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { routes, type Desk, type RouteAnswer } from "../route.ts";
import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import type { KeyParams } from "../endpoints/access-endpoints.ts";
import { KEY_ENDPOINTS } from "../endpoints/access-endpoints.ts";

/** The id of a key, and when it was made. */
const POSITION = /^[0-9A-Za-z]{10} \d{4}-\d\d-\d\dT\S+Z$/;
const DEFAULT_OVERLAP_SECONDS = 86_400;

export const keyRoutes = routes(KEY_ENDPOINTS, {
  "GET /tenants/{id}/keys": async (call) => {
    const { policy } = await findManaged(call, call.params.id);
    const { limit } = call.query;
    const [id = "", created = ""] = (positionOf("keys", call.query, POSITION) ?? "").split(" ");
    const rows = await policy.keyPage({ after: { id, created }, limit: limit + 1 });
    return { body: pageFrom("keys", rows.map(shown), limit, (key) => `${key.id} ${key.created}`) };
  },
  "POST /tenants/{id}/keys": async (call) => {
    const managed = await findManaged(call, call.params.id);
    const most = await check(call, managed, call.body);
    const { name, scopes = null, profile = null, expires } = call.body;
    const { id, token, hash } = await createKey();
    const ends = expires === undefined ? null : Date.parse(expires);
    const key = { id, hash, name, scopes, profile, expires: ends };
    const done = await managed.policy.addKey(key, call.caller, most);
    if (done.state === "full") throw full(`the tenant may have no more keys than ${most ?? MAX_KEYS}`);
    return { status: 201, body: { ...shown(await findKey(managed, id)), token } };
  },
  "POST /tenants/{id}/keys/self/rotate": async (call) => {
    const key = call.caller.name.slice(keyPrincipalId("").length);
    // What counts by caller would begin anew with each.
    return rotated(call, { ...call.params, key }, { ...call.body, leastAgeMs: DAY_MS });
  },
  "POST /tenants/{id}/keys/{key}/rotate": async (call) => rotated(call, call.params, call.body),
  "DELETE /tenants/{id}/keys/{key}": async (call) => {
    const { id, key } = call.params;
    const managed = await findManaged(call, id);
    await readRecord(managed);
    return acknowledge(managed, await managed.policy.revokeKey(key, call.caller), call);
  },
});

const DAY_MS = 86_400_000;
/** An answer may be lost, and the key in it with it: nobody else has that one. */
const ROTATED =
  "was rotated already. If the new one did not arrive, an operator or the tenant's administrator makes another";
const TOO_YOUNG = "A key that is less than a day old is made anew by an operator or the tenant's administrator";

async function rotated(
  desk: Desk,
  { id, key }: Infer<typeof KeyParams>,
  { overlapSeconds = DEFAULT_OVERLAP_SECONDS, leastAgeMs = 0 }: Infer<typeof RotateKey> & { leastAgeMs?: number },
): Promise<RouteAnswer> {
  const managed = await findManaged(desk, id);
  const { token, ...made } = await createKey();
  const most = limitOf(desk, await documentOf(managed));
  const rotation = { old: key, key: made, overlapMs: overlapSeconds * 1000, most };
  const done = await managed.policy.rotateKey({ ...rotation, leastAgeMs }, desk.caller);
  if (done.state === "absent") throw notFound(`key ${key}`);
  if (done.state === "rotated") throw new ProblemError("conflict", { detail: `The key ${key} ${ROTATED}` });
  if (done.state === "suspended") throw new ProblemError("forbidden", { detail: "Suspended" });
  if (done.state === "young") throw new ProblemError("conflict", { detail: TOO_YOUNG });
  if (done.state === "full") {
    throw full(`${most}, and one more in a rotation: others still overlap; overlapSeconds 0 ends the old key at once`);
  }
  // With an overlap nothing is withdrawn now; without, the old key ends like a revoked one.
  if (overlapSeconds === 0) await untilInForce(fromNow(await managed.policy.leftMs()));
  return { status: 201, body: { ...shown(await findKey(managed, made.id)), token } };
}

function full(rule: string): ProblemError {
  return new ProblemError("conflict", { errors: [{ field: "limits.keys", rule }] });
}

async function documentOf(managed: Managed): Promise<TenantDocument> {
  const { effective } = await readRecord(managed);
  return mergeDocuments([managed.tenant.base, effective]);
}

/** How many keys the tenant may have. */
function limitOf({ options }: Desk, { limits }: TenantDocument): number {
  return limitsInForce(options.catalog.limits, limits).keys;
}

/** Refuses scopes, profiles and times that cannot be. Returns how many keys the tenant may have. */
async function check(
  desk: Desk,
  managed: Managed,
  { scopes, profile, expires }: Infer<typeof NewApiKey>,
): Promise<number> {
  const document = await documentOf(managed);
  const unknown = (scopes ?? []).filter((name) => !Object.hasOwn(document.scopes ?? {}, name));
  const errors = unknown.map((name) => [`scopes.${scopes?.indexOf(name)}`, `there is no scope ${name}`] as const);
  if (errors.length > 0) throw invalidFields(...errors);
  if (profile !== undefined && !Object.hasOwn(document.profiles ?? {}, profile)) {
    throw invalidFields(["profile", `there is no profile ${profile}`]);
  }
  if (expires !== undefined && Date.parse(expires) <= Date.now()) throw invalidFields(["expires", "lies in the past"]);
  return limitOf(desk, document);
}

async function findKey({ policy }: Managed, id: string): Promise<KeyRecord> {
  const key = await policy.key(id);
  if (!key) throw notFound(`key ${id}`);
  return key;
}

function shown({ id, name, scopes, profile, created, expires, lastUsed, retires }: KeyRecord) {
  return { id, name, scopes, profile, created, expires: isoTime(expires), lastUsed, retires: isoTime(retires) };
}
