// The Node entry of `tenantry`, for tests that import a module of tools. Definitions work in full. `createWorker` only
// validates its options and cannot answer requests.
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
