// The Durable Object that keeps one tenant's content beside its authority: what is listed, searched and written here never stands
// before a lease or a revocation. Refuses calls for a tenant that is not there any more.

import { createStoreObject } from "../tenants/object/store-object.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { admissionStore, createAdmission, type AdmitCall } from "./admission.ts";
import { contentStore } from "./content-store.ts";
import { editOutboxStore } from "./edit-outbox.ts";

interface ContentHost extends StoreHost {
  readonly admit: AdmitCall;
}

/** Its name is what stands for the tenant elsewhere, and begins with the id, which has no "@". */
function createContentHost(base: StoreHost): ContentHost {
  const host = { ...base, tenant: base.tenant.split("@")[0] ?? "" };
  return { ...host, admit: createAdmission(host) };
}

export class ContentObject extends createStoreObject<Cloudflare.Env, ContentHost>(
  [contentStore, editOutboxStore, admissionStore],
  { hostOf: createContentHost, reject: ({ admit }, meant, isEnding) => admit(meant, isEnding), log: "content" },
) {}
