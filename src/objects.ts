// `tenantry/objects`: all classes of a Worker, so that one line exports them: `export * from "tenantry/objects"`. They are the same
// whatever its features are; the tables of a feature that it does not have stay empty.
// oxlint-disable oxc/no-barrel-file

import { editLogStore } from "./content/store/edit-log.ts";
import { resultStore } from "./gateway/budget/result-tables.ts";
import { gatewayStore } from "./gateway/gateway-tables.ts";
import { reviewStore } from "./gateway/review/review-tables.ts";
import type { Env } from "./http/visit.ts";
import { limitStore } from "./limits/limit-tables.ts";
import { signingKeyStore } from "./login/identity/signing-key-tables.ts";
import { issuerStore } from "./login/issuers/issuer-tables.ts";
import { loginStore } from "./login/server/login-tables.ts";
import { callAuditStore } from "./records/call-audit-tables.ts";
import { usageStore } from "./records/usage-tables.ts";
import { webhookStore } from "./records/webhook-tables.ts";
import { authorityStore } from "./tenants/authority/authority-tables.ts";
import { endedSessionStore } from "./tenants/authority/ended-tables.ts";
import { errorLogStore } from "./tenants/authority/fault-tables.ts";
import { policyStore } from "./tenants/authority/policy-tables.ts";
import { sectionHashStore } from "./tenants/authority/section-rows.ts";
import { sectionStore } from "./tenants/authority/section-tables.ts";
import { statefulSessionStore } from "./tenants/authority/session-register.ts";
import { directorySyncStore } from "./tenants/authority/standing-tables.ts";
import { createStoreObject } from "./tenants/authority/tables-object.ts";
import { createTenantHost, type TenantHost } from "./tenants/authority/tenant-host.ts";
import { answerAbsentTenant, rejectOtherTenant } from "./tenants/authority/meant-tenant.ts";

export { PlatformObject } from "./admin/platform/platform-object.ts";
export { ContentObject } from "./content/store/content-object.ts";
export { UpstreamRefreshes } from "./gateway/refresh-entrypoint.ts";
export { UpstreamObject } from "./gateway/sessions/upstream-object.ts";
export { StoredRuns } from "./http/stored-runs-entrypoint.ts";
export { WebhookDeliveries } from "./http/webhook-entrypoint.ts";
export { SessionObject } from "./sessions/session-object.ts";
export { HubObject } from "./streams/hub-object.ts";
export { DirectoryObject } from "./tenants/directory/directory-object.ts";

/** A tenant's one authority. */
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
