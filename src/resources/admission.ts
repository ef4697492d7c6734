// Admits calls to a tenant's content object. The first call asks the tenant object whether the tenant exists; the
// answer is stored.

import { isUnknownTenant, createTenantStub, type TenantUid, type RpcRefusal } from "../tenants/object/tenant-uid.ts";
import { authorityStore } from "../tenants/object/authority-store.ts";
import {
  createRpcClient,
  type RpcInterface,
  type RpcClient,
  type StoreHost,
  type Store,
} from "../tenants/object/store.ts";
import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { objectsIn } from "../tenants/directory/placement.ts";

/** undefined: the call may continue. `busy`: the tenant object did not answer. `gone`: there is no such tenant. */
type AdmissionResult = RpcRefusal | undefined;

export type AdmitCall = (uid: TenantUid, isClosing: boolean) => AdmissionResult | Promise<AdmissionResult>;

export const admissionStore: Store = {
  name: "admission",
  methods: {},
  migrations: ["CREATE TABLE content_tenant (one INTEGER PRIMARY KEY CHECK (one = 1), created TEXT NOT NULL)"],
  open: () => ({ methods: {} }),
};

/** The tenant whose content this object stores; undefined before the first call. */
export function contentOwnerOf(sql: SqlStorage): TenantUid | undefined {
  return sql.exec<{ created: string }>("SELECT created FROM content_tenant").toArray()[0]?.created;
}

/** A client with which the content object calls the tenant object. */
export function authorityClientOf<Methods extends object>(
  { env, tenant, jurisdiction }: StoreHost,
  created: TenantUid,
  calls: RpcInterface<Methods>,
): RpcClient<Methods> {
  const object = () => objectsIn(namespaceOf(env, "TenantObject"), jurisdiction).getByName(tenant);
  return createRpcClient(createTenantStub(object, created), calls);
}

export function createAdmission(host: StoreHost): AdmitCall {
  let ownerUid = contentOwnerOf(host.sql);
  let pendingCheck: Promise<void> | undefined;

  const checkTenant = async (uid: TenantUid) => {
    await authorityClientOf(host, uid, authorityStore).exists();
    if (host.deletion.isClosed()) return;
    host.sql.exec("INSERT OR REPLACE INTO content_tenant (one, created) VALUES (1, ?)", uid);
    ownerUid = uid;
  };
  const admitFirst = async (uid: TenantUid): Promise<AdmissionResult> => {
    try {
      await (pendingCheck ??= checkTenant(uid).finally(() => (pendingCheck = undefined)));
    } catch (error) {
      return isUnknownTenant(error) ? { gone: true } : { busy: true };
    }
    return ownerUid === uid && !host.deletion.isClosed() ? undefined : { gone: true };
  };

  return (uid, isClosing) => {
    if (isClosing) return undefined;
    if (host.deletion.isClosed()) return { gone: true };
    if (ownerUid === undefined) return admitFirst(uid);
    return ownerUid === uid ? undefined : { gone: true };
  };
}
