// Owns what `tenantry` is outside of Workers, where a test imports a module of tools: definitions are whole, and a Worker is one
// that cannot be asked, and that is refused for its mistakes. Refuses to stand in for workerd.
// oxlint-disable oxc/no-barrel-file

import { createFeatureShim } from "./node-shims.ts";

export { defineTool } from "../handlers/tool.ts";
export { definePrompt } from "../handlers/prompt.ts";
export { defineResource, defineTemplate } from "../handlers/resource.ts";
export { links } from "../gateway/budget/links.ts";
export { TenantError } from "../endpoint/tenant-error.ts";
export { IdentityError } from "../login/identity/identity-error.ts";
export { OutboundError } from "../outbound/outbound-error.ts";
export { UserError } from "../protocol/user-error.ts";
export { createWorkerShim as createWorker } from "./node-shims.ts";
export {
  adminShim as admin,
  callAuditShim as callAudit,
  connectPageShim as connectPage,
  gatewayShim as gateway,
  loginShim as login,
  telemetryShim as telemetry,
  usageShim as usage,
  webhooksShim as webhooks,
};

const adminShim = createFeatureShim("admin");
const gatewayShim = createFeatureShim("gateway");
const loginShim = createFeatureShim("login");
const callAuditShim = createFeatureShim("callAudit");
const connectPageShim = createFeatureShim("connectPage");
const telemetryShim = createFeatureShim("telemetry");
const usageShim = createFeatureShim("usage");
const webhooksShim = createFeatureShim("webhooks");
