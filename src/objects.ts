/**
 * All Durable Object classes and entrypoints of a Worker, for the file that `main` of `wrangler.toml` names: `export *
 * from "tenantry/objects"`. A migration names the classes: `new_sqlite_classes = ["TenantObject", "ContentObject",
 * "SessionObject", "HubObject", "DirectoryObject", "PlatformObject", "UpstreamObject"]`. They need no bindings, and are
 * the same for every set of features; tables of absent features stay empty.
 *
 * @module
 */
// oxlint-disable oxc/no-barrel-file

import { editLogStore } from "./resources/edit-log-store.ts";
import { resultStore } from "./gateway/budget/result-store.ts";
import { gatewayStore } from "./gateway/gateway-store.ts";
import { reviewStore } from "./gateway/review/review-store.ts";
import type { Env } from "./endpoint/request-context.ts";
import { limitStore } from "./limits/limit-store.ts";
import { signingKeyStore } from "./login/identity/signing-key-store.ts";
import { issuerStore } from "./login/issuers/issuer-store.ts";
import { loginStore } from "./login/server/login-store.ts";
import { callAuditStore } from "./records/call-audit-store.ts";
import { usageStore } from "./records/usage-store.ts";
import { webhookStore } from "./records/webhook-store.ts";
import { authorityStore } from "./tenants/object/authority-store.ts";
import { endedSessionStore } from "./tenants/object/ended-session-store.ts";
import { errorLogStore } from "./tenants/object/error-log-store.ts";
import { policyStore } from "./tenants/object/policy-store.ts";
import { sectionHashStore } from "./tenants/object/section-hash-store.ts";
import { sectionStore } from "./tenants/object/section-store.ts";
import { statefulSessionStore } from "./tenants/object/stateful-session-store.ts";
import { directorySyncStore } from "./tenants/object/directory-sync-store.ts";
import { createStoreObject } from "./tenants/object/store-object.ts";
import { createTenantHost, type TenantHost } from "./tenants/object/tenant-host.ts";
import { answerAbsentTenant, rejectOtherTenant } from "./tenants/object/reject-other-tenant.ts";

export { PlatformObject } from "./admin/platform/platform-object.ts";
export { ContentObject } from "./resources/content-object.ts";
export { UpstreamRefreshes } from "./gateway/refresh-entrypoint.ts";
export { UpstreamObject } from "./gateway/sessions/upstream-object.ts";
export { StoredRuns } from "./endpoint/stored-runs-entrypoint.ts";
export { WebhookDeliveries } from "./records/webhook-entrypoint.ts";
export { SessionObject } from "./sessions/session-object.ts";
export { HubObject } from "./streams/hub-object.ts";
export { DirectoryObject } from "./tenants/directory/directory-object.ts";

/** Durable Object: the single source of truth for one tenant: its policy, keys, limits, logins and records. */
export class TenantObject extends createStoreObject<Env, TenantHost>(
  [
    authorityStore,
    endedSessionStore,
    statefulSessionStore,
    policyStore,
    sectionHashStore,
    sectionStore,
    directorySyncStore,
    limitStore,
    editLogStore,
    errorLogStore,
    gatewayStore,
    reviewStore,
    resultStore,
    issuerStore,
    loginStore,
    signingKeyStore,
    usageStore,
    callAuditStore,
    webhookStore,
  ],
  { hostOf: createTenantHost, reject: rejectOtherTenant, answerAbsent: answerAbsentTenant },
) {}
