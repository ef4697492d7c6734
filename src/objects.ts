// `tenantry/objects`: all classes of a Worker, so that one line exports them: `export * from "tenantry/objects"`. They are the same
// whatever its features are; the tables of a feature that it does not have stay empty.
// oxlint-disable oxc/no-barrel-file

import { editLog } from "./content/store/edit-log.ts";
import { resultTables } from "./gateway/budget/result-tables.ts";
import { gatewayTables } from "./gateway/gateway-tables.ts";
import { reviewTables } from "./gateway/review/review-tables.ts";
import type { Env } from "./http/visit.ts";
import { limitTables } from "./limits/limit-tables.ts";
import { signingKeyTables } from "./login/identity/signing-key-tables.ts";
import { issuerTables } from "./login/issuers/issuer-tables.ts";
import { loginTables } from "./login/server/login-tables.ts";
import { callAuditTables } from "./records/call-audit-tables.ts";
import { usageTables } from "./records/usage-tables.ts";
import { webhookTables } from "./records/webhook-tables.ts";
import { authorityTables } from "./tenants/authority/authority-tables.ts";
import { endedTables } from "./tenants/authority/ended-tables.ts";
import { faultTables } from "./tenants/authority/fault-tables.ts";
import { policyTables } from "./tenants/authority/policy-tables.ts";
import { sectionRows } from "./tenants/authority/section-rows.ts";
import { sectionTables } from "./tenants/authority/section-tables.ts";
import { sessionRegister } from "./tenants/authority/session-register.ts";
import { standingTables } from "./tenants/authority/standing-tables.ts";
import { createTablesObject } from "./tenants/authority/tables-object.ts";
import { createTenantHost, type TenantHost } from "./tenants/authority/tenant-host.ts";
import { absentTenant, refuseOthers } from "./tenants/authority/meant-tenant.ts";

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
export class TenantObject extends createTablesObject<Env, TenantHost>(
  [
    authorityTables,
    endedTables,
    sessionRegister,
    policyTables,
    sectionRows,
    sectionTables,
    standingTables,
    limitTables,
    editLog,
    faultTables,
    gatewayTables,
    reviewTables,
    resultTables,
    issuerTables,
    loginTables,
    signingKeyTables,
    usageTables,
    callAuditTables,
    webhookTables,
  ],
  { hostOf: createTenantHost, refuse: refuseOthers, absent: absentTenant },
) {}
