// Routes that list, create and delete tenants.

import { diffDocuments, mergeDocuments } from "../../tenants/document/tenant-document.ts";
import { forgetName } from "../../tenants/directory/directory.ts";
import { retryingDirectory } from "../services/retrying-directory.ts";
import type { KnownTenants, DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { getCatalogNames } from "../services/load-tenant-catalog.ts";
import { applyDocument, isBaseOutdated, resolveDocument, type Intent } from "../services/apply-document.ts";
import { baseStore } from "../platform/base-store.ts";
import type { NewTenant, TenantSummary, Infer } from "../contract.ts";
import {
  resolveDeclaredTenant,
  policyOfAnyUid,
  getTenantHandle,
  createTenantHandle,
  findTenantByName,
  placementOf,
  requireTenantRecord,
  type TenantHandle,
} from "../services/tenant-handle.ts";
import { warningsMember } from "../services/check-name-references.ts";
import { mapConcurrent } from "../services/map-concurrent.ts";
import { deleteTenant } from "../services/tenant-deletion.ts";
import {
  publishHostnames,
  checkHostnames,
  reserveHostnames,
  releaseUnwrittenHostnames,
  type PreviousRecord,
} from "../services/hostnames.ts";
import { listDeclared, listEntries, listByIds, type ListRequest } from "../services/list-tenants.ts";
import { paginateRows, parsePosition, type PageParams } from "../page.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { TENANT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const tenantRoutes = defineRoutes(TENANT_ENDPOINTS, {
  "GET /tenants": async (context) => ({ body: await listTenants(context, context.query) }),
  "POST /tenants": async (context) => {
    const { dryRun, unknownNames } = context.query;
    const input = { ...context.body, unknownNames };
    if (dryRun) return { body: await previewTenant(context, input) };
    const created = await createTenant(context, input);
    return {
      status: 201,
      body: created,
      headers: { location: `${context.options.path ?? ""}/admin/v1/tenants/${created.id}` },
    };
  },
  "GET /tenants/{id}": async (context) => ({ body: await showTenant(context, context.params.id) }),
  "DELETE /tenants/{id}": async (context) => {
    const handle = await getTenantHandle(context, context.params.id);
    checkCreated(handle, context.query.created);
    await deleteTenant(context, handle);
    return {};
  },
});

/** Throws if the request names the tenant's creation time and another tenant has the name now. */
function checkCreated({ id, created }: TenantHandle, expected: string | undefined): void {
  if (expected === undefined || expected === created) return;
  throw new ProblemError("precondition-failed", {
    detail: `The tenant ${id} was deleted and created again, at ${created}`,
  });
}

type Summary = Infer<typeof TenantSummary>;

async function listTenants(context: AdminContext, query: PageParams) {
  const after = parsePosition("tenants", query);
  const { caller, options } = context;
  const input = { after: after ?? null, limit: query.limit + 1 };
  const isAfter = (id: string) => after === undefined || id > after;
  const ownIds = caller.tenants?.filter(isAfter);
  const { entries, declared } = ownIds ? await ownTenants(context, ownIds) : await allTenants(context, input);
  const names = new Set([...options.tenants.keys(), ...declared]);
  const inCode = [...names].map((id): Summary => ({
    id,
    created: null,
    state: "code",
    suspended: null,
  }));
  const directoryTenants = entries.filter(({ id }) => !options.tenants.has(id)).map(toSummary);
  const directoryIds = new Set(directoryTenants.map(({ id }) => id));
  const visible = [...inCode.filter(({ id }) => !directoryIds.has(id)), ...directoryTenants]
    .filter(({ id }) => isAfter(id) && (ownIds?.includes(id) ?? true))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const page = paginateRows("tenants", visible, query.limit, ({ id }) => id);
  return { ...page, items: await mapConcurrent(page.items, (item) => withState(context, item)) };
}

/** Asks the author's function about a tenant that it declared in the past. */
async function withState(context: AdminContext, item: Summary): Promise<Summary> {
  if (item.state !== "code" || context.options.tenants.has(item.id)) return item;
  // `onError` has received the failure. The list shows the state as unknown.
  const declared = await resolveDeclaredTenant(context, item.id).catch(() => null);
  return declared ? item : { ...item, state: declared === null ? "unknown" : "gone" };
}

/** Tenants in the directory. Of those that the author's function declares, only those ever requested. */
async function allTenants({ env, options }: AdminContext, input: ListRequest): Promise<KnownTenants> {
  const [entries, declared] = await Promise.all([
    listEntries(env, input),
    options.tenantResolver ? listDeclared(env, input) : [],
  ]);
  return { entries, declared };
}

/** Like `allTenants` for these ids, and includes declared tenants that were never requested. */
async function ownTenants(context: AdminContext, ids: readonly string[]): Promise<KnownTenants> {
  const { entries, declared } = await listByIds(context.env, ids);
  if (!context.options.tenantResolver) return { entries, declared: [] };
  const knownIds = new Set([...entries.map(({ id }) => id), ...declared]);
  const unresolvedIds = ids.filter((id) => !knownIds.has(id));
  const resolved = await Promise.all(
    unresolvedIds.map(async (id) => ((await resolveDeclaredTenant(context, id)) ? [id] : [])),
  );
  return { entries, declared: [...declared, ...resolved.flat()] };
}

function toSummary({ id, created, state, isSuspended }: DirectoryEntry): Summary {
  return { id, created, state, suspended: isSuspended };
}

async function showTenant(context: AdminContext, id: string) {
  const handle = await getTenantHandle(context, id);
  const record = await handle.policy.read(handle.entry === null);
  if (record) return toTenantShape(context, handle, record);
  const { entry } = handle;
  if (entry?.state !== "deleting") throw notFound(`tenant ${id}`);
  return toTenantShape(context, handle, {
    created: entry.created,
    revision: 0,
    own: {},
    effective: {},
    suspensions: [],
  });
}

type ShownRecord = Pick<TenantRecord, "created" | "revision" | "own" | "effective" | "suspensions">;

function toTenantShape(context: AdminContext, handle: TenantHandle, record: ShownRecord) {
  const { id, entry, tenant } = handle;
  const { created, revision, own, effective, suspensions } = record;
  return {
    id,
    created,
    state: entry === null ? (handle.isOrphaned ? ("gone" as const) : ("code" as const)) : entry.state,
    ...placementOf(handle),
    url: `${new URL(context.request.url).origin}${context.options.path ?? ""}/mcp/${id}`,
    revision,
    own,
    effective: mergeDocuments([tenant.base, effective]),
    suspended: suspensions.find(({ kind }) => kind === "tenant")?.note ?? null,
  };
}

type TenantCreation = Infer<typeof NewTenant> & Pick<Intent, "unknownNames">;

/** A dry run of `createTenant`: fails in the same cases and writes nothing. */
async function previewTenant(context: AdminContext, input: TenantCreation) {
  const { id, region = null, jurisdiction = null, document: own = {}, unknownNames } = input;
  const handle = await reserveTenant(context, { id, region, jurisdiction });
  const names = await getCatalogNames(context, handle, null);
  const { merged, warnings } = await resolveDocument(context, handle, { own, names }, { dryRun: true, unknownNames });
  await checkHostnames(context, handle, merged);
  const details = { changes: [...diffDocuments({}, own)], ...warningsMember(warnings) };
  return { revision: 0, changed: true, dryRun: true, effectiveAt: null, ...details };
}

async function createTenant(context: AdminContext, input: TenantCreation) {
  const { id, region = null, jurisdiction = null, document: own = {}, unknownNames } = input;
  const newHandle = await reserveTenant(context, { id, region, jurisdiction });
  // 1. Check everything before writing anything.
  const names = await getCatalogNames(context, newHandle, null);
  const { merged, warnings } = await resolveDocument(
    context,
    newHandle,
    { own, names },
    { dryRun: true, unknownNames },
  );
  await checkHostnames(context, newHandle, merged);
  // 2. The directory decides which tenant has the name; the tenant's own object follows.
  const directory = retryingDirectory(context.env, id);
  const entry = await directory.add(id, { region, jurisdiction });
  const handle = createTenantHandle(context, id, { entry, created: entry.created });
  const { effective, bases } = await resolveDocument(context, handle, { own, names }, { dryRun: false, unknownNames });
  await reserveHostnames(context, handle, merged, NO_RECORD);
  const creation = {
    created: entry.created,
    blocks: entry.blocks,
    own,
    effective,
    actor: context.caller,
    action: "create",
  };
  const result = await policyOfAnyUid(context, id, entry).create(creation);
  if (result.state !== "written") {
    await releaseUnwrittenHostnames(context, handle, merged, NO_RECORD);
    throw tenantIdTaken(id);
  }
  // Record the uses again: an operator who deleted a base meanwhile may have found no tenant behind the earlier
  // record.
  if (own.extends)
    await createRpcClient(platformStubOf(context.env), baseStore).resolveAndUse(
      { id, created: entry.created },
      own.extends,
      1,
    );
  // 3. A rollout may have written a base meanwhile, and visited before the tenant existed.
  if (await isBaseOutdated(context.env, { own, bases })) {
    const intent = { ifMatch: null, dryRun: false, wait: "never", action: "create" } as const;
    await applyDocument(context, handle, { ...intent, edit: (now) => now });
  }
  forgetName(id);
  await publishHostnames(context, handle, NO_RECORD, { merged, revision: result.revision });
  const record = await requireTenantRecord(handle);
  return { ...toTenantShape(context, handle, record), ...warningsMember(warnings) };
}

/** The state that a tenant's first document replaces. */
const NO_RECORD: PreviousRecord = { revision: 0, effective: { mode: "open" } };

type NewTenantPlacement = Pick<DirectoryEntry, "id" | "region" | "jurisdiction">;

/**
 * Prepares a new tenant. A directory entry without a tenant is left from a creation that was cut off, and is reused.
 */
async function reserveTenant(context: AdminContext, placement: NewTenantPlacement): Promise<TenantHandle> {
  const { id, jurisdiction } = placement;
  const { entry, declared } = await findTenantByName(context, id);
  if (declared) throw tenantIdTaken(id);
  if (entry && (entry.state !== "active" || entry.jurisdiction !== jurisdiction)) throw tenantIdTaken(id);
  const handle = newTenantHandle(
    context,
    id,
    entry ?? { ...placement, created: "", state: "active", isSuspended: false },
  );
  if (entry && (await policyOfAnyUid(context, id, entry).read(false))) throw tenantIdTaken(id);
  return handle;
}

function tenantIdTaken(id: string): ProblemError {
  return new ProblemError("conflict", { errors: [{ field: "id", rule: `${id} already exists` }] });
}

function newTenantHandle(context: AdminContext, id: string, entry: DirectoryEntry): TenantHandle {
  try {
    return createTenantHandle(context, id, { entry, created: entry.created });
  } catch (error) {
    if (entry.jurisdiction === null) throw error;
    throw invalidFields(["jurisdiction", `${entry.jurisdiction} is not available here`]);
  }
}
