// The Durable Object for one tenant's content, beside the tenant object: lists, searches and writes here never delay a
// lease or a revocation. Rejects calls for a deleted tenant.

import { createStoreObject } from "../tenants/object/store-object.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { admissionStore, createAdmission, type AdmitCall } from "./admission.ts";
import { contentStore } from "./content-store.ts";
import { editOutboxStore } from "./edit-outbox.ts";

interface ContentHost extends StoreHost {
  readonly admit: AdmitCall;
}

/** The object's name is the tenant's storage key. It begins with the tenant's id, which has no "@". */
function createContentHost(base: StoreHost): ContentHost {
  const host = { ...base, tenant: base.tenant.split("@")[0] ?? "" };
  return { ...host, admit: createAdmission(host) };
}

/** Durable Object: the stored resources of one tenant. Their bodies are in KV. */
export class ContentObject extends createStoreObject<Cloudflare.Env, ContentHost>(
  [contentStore, editOutboxStore, admissionStore],
  { hostOf: createContentHost, reject: ({ admit }, uid, isEnding) => admit(uid, isEnding), log: "content" },
) {}
