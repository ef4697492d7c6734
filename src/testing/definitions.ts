// Owns what `tenantry` is outside of Workers, where a test imports a module of tools: definitions are whole, and a Worker is one
// that cannot be asked, and that is refused for its mistakes. Refuses to stand in for workerd.
// oxlint-disable oxc/no-barrel-file

import { featureOutside } from "./outside-worker.ts";

export { defineTool } from "../content/define/tool.ts";
export { definePrompt } from "../content/define/prompt.ts";
export { defineResource, defineTemplate } from "../content/define/resource.ts";
export { links } from "../gateway/budget/links.ts";
export { TenantError } from "../http/tenant-error.ts";
export { IdentityError } from "../login/identity/identity-error.ts";
export { OutboundError } from "../outbound/outbound-error.ts";
export { UserError } from "../protocol/user-error.ts";
export { workerOutside as createWorker } from "./outside-worker.ts";
export {
  adminOutside as admin,
  callAuditOutside as callAudit,
  connectPageOutside as connectPage,
  gatewayOutside as gateway,
  loginOutside as login,
  telemetryOutside as telemetry,
  usageOutside as usage,
  webhooksOutside as webhooks,
};

const adminOutside = featureOutside("admin");
const gatewayOutside = featureOutside("gateway");
const loginOutside = featureOutside("login");
const callAuditOutside = featureOutside("callAudit");
const connectPageOutside = featureOutside("connectPage");
const telemetryOutside = featureOutside("telemetry");
const usageOutside = featureOutside("usage");
const webhooksOutside = featureOutside("webhooks");
