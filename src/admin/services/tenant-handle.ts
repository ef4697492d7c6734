// How the admin API reaches a tenant: its existence, its object and its record. Isolate caches are not used, so an
// operator sees the directory as it is.

import { contentStubOf, tenantStubOf } from "../../tenants/directory/tenant-stubs.ts";
import { contentStore, type ContentRpc } from "../../resources/content-store.ts";
import { editOutboxStore, type OutboxRpc } from "../../resources/edit-outbox.ts";
import type { NewResource } from "../../handlers/resource-store.ts";
import { createManagedTenant, isTenantId, type Tenant as Declared } from "../../tenants/document/tenant-definition.ts";
import { retryingDirectory } from "./retrying-directory.ts";
import type { DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import type { KeyRecord, TenantRecord } from "../../tenants/object/policy-records.ts";
import type { PolicyMethods } from "../../tenants/object/policy-rpc.ts";
import { policyStore } from "../../tenants/object/policy-store.ts";
import { DEFAULT_PLACEMENT } from "../../tenants/directory/placement.ts";
import { storageKey, ANY_UID, type TenantStub } from "../../tenants/object/tenant-uid.ts";
import { createRpcClient, type RpcClient } from "../../tenants/object/store.ts";
import type { TenantShape, Infer } from "../contract.ts";
import { notFound, ProblemError } from "../problem.ts";
import type { AdminContext, ResolvedTenant } from "../route.ts";

/** One tenant of a name: calls through this handle fail if another tenant has the name now. */
export interface TenantHandle extends ResolvedTenant {
  readonly id: string;
  readonly tenant: Declared<NewResource>;
  /** The tenant's prefix in the names of data outside the tenant object. */
  readonly storageKey: string;
  readonly policy: RpcClient<PolicyMethods>;
  readonly content: ContentRpc;
  /** Audit entries of edits that are not delivered yet. */
  readonly auditOutbox: OutboxRpc;
  readonly stub: () => TenantStub;
}

/** Uses the contract's types: the directory holds only values that came through the contract. */
export function placementOf({
  entry,
}: Pick<TenantHandle, "entry">): Pick<Infer<typeof TenantShape>, "region" | "jurisdiction"> {
  const { region, jurisdiction } = entry ?? DEFAULT_PLACEMENT;
  return { region, jurisdiction } as ReturnType<typeof placementOf>;
}

type AdminServices = Pick<AdminContext, "env" | "options">;

export function createTenantHandle(
  { env, options }: AdminServices,
  id: string,
  { entry, created, declared, isOrphaned = false }: ResolvedTenant,
): TenantHandle {
  const ref = { id, placement: entry ?? DEFAULT_PLACEMENT, uid: created };
  const stub = () => tenantStubOf(env, ref);
  const content = contentStubOf(env, ref);
  return {
    id,
    tenant: declared ?? options.tenants.get(id) ?? createManagedTenant(id),
    entry,
    created,
    isOrphaned,
    storageKey: storageKey(id, created),
    policy: createRpcClient(stub(), policyStore),
    content: createRpcClient(content, contentStore),
    auditOutbox: createRpcClient(content, editOutboxStore),
    stub,
  };
}

/** Addresses whichever tenant has the name, for calls that apply to any of them. */
export function policyOfAnyUid(
  { env }: Pick<AdminServices, "env">,
  id: string,
  entry: DirectoryEntry | null,
): RpcClient<PolicyMethods> {
  return createRpcClient(tenantStubOf(env, { id, placement: entry ?? DEFAULT_PLACEMENT, uid: ANY_UID }), policyStore);
}

/** The tenant that has the name now, in any state. Throws `not-found`. */
export async function resolveTenant(services: AdminServices, id: string): Promise<ResolvedTenant> {
  const { entry, declared } = await findTenantByName(services, id);
  if (entry) return { entry, created: entry.created };
  const isOrphaned = !declared && !services.options.tenants.has(id);
  if (isOrphaned && !(services.options.tenantResolver && (await retryingDirectory(services.env, id).isDeclared(id))))
    throw notFound(`tenant ${id}`);
  const created = await policyOfAnyUid(services, id, null).tenantUid(true);
  return { entry: null, created: created ?? "", declared, isOrphaned };
}

/** Finds a tenant by name: a tenant in code first, then a created one, then one that the author's function declares. */
export async function findTenantByName(
  services: AdminServices,
  id: string,
): Promise<Pick<ResolvedTenant, "entry" | "declared">> {
  const codeTenant = services.options.tenants.get(id);
  const { entry } = codeTenant ? { entry: null } : await retryingDirectory(services.env, id).lookup(id);
  return { entry, declared: entry ? undefined : await resolveDeclaredTenant(services, id) };
}

/** The declaration in code; the directory is not asked. Throws `busy` if the author's function fails. */
export async function resolveDeclaredTenant(
  { env, options }: AdminServices,
  id: string,
): Promise<Declared<NewResource> | undefined> {
  const codeTenant = options.tenants.get(id);
  if (codeTenant || !options.tenantResolver || !isTenantId(id)) return codeTenant;
  try {
    return await options.tenantResolver.resolve(id, env);
  } catch (error) {
    options.onError?.(error);
    const detail = `The function tenants in the Worker's code failed for ${id}`;
    throw new ProblemError("busy", { detail, headers: { "retry-after": "5" } });
  }
}

/** The tenant that the request resolved, or the tenant that has the name now if the path names none. */
export async function getTenantHandle(context: AdminContext, id: string): Promise<TenantHandle> {
  return createTenantHandle(context, id, await (context.resolvedTenant ?? resolveTenant(context, id)));
}

/** A tenant that exists and is not being deleted. Throws `not-found` or `conflict`. */
export async function requireTenant(context: AdminContext, id: string): Promise<TenantHandle> {
  const handle = await getTenantHandle(context, id);
  if (handle.isOrphaned) throw notFound(`tenant ${id}`);
  if (handle.entry?.state === "deleting") {
    throw new ProblemError("conflict", { detail: `The tenant ${id} is being deleted` });
  }
  return handle;
}

/** The tenant's record. Creates the record of a tenant in code that has none yet. Throws `not-found`. */
export async function requireTenantRecord({ id, entry, policy }: TenantHandle): Promise<TenantRecord> {
  const record = await policy.read(entry === null);
  if (!record) throw notFound(`tenant ${id}`);
  return record;
}

/** One of the tenant's keys. Throws `not-found`. */
export async function requireKey({ policy }: TenantHandle, id: string): Promise<KeyRecord> {
  const key = await policy.key(id);
  if (!key) throw notFound(`key ${id}`);
  return key;
}
