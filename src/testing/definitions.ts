// The Node entry of `tenantry`, for tests that import a module of tools. Definitions work in full. `createWorker` only
// validates its options and cannot answer requests.
// oxlint-disable oxc/no-barrel-file

import { createFeatureStub } from "./node-stubs.ts";

export { defineTool } from "../handlers/tool.ts";
export { definePrompt } from "../handlers/prompt.ts";
export { defineResource, defineTemplate } from "../handlers/resource.ts";
export { links } from "../gateway/budget/links.ts";
export { TenantError } from "../endpoint/tenant-error.ts";
export { IdentityError } from "../login/identity/identity-error.ts";
export { OutboundError } from "../outbound/outbound-error.ts";
export { UserError } from "../protocol/user-error.ts";
export { createWorkerStub as createWorker } from "./node-stubs.ts";
export {
  adminStub as admin,
  callAuditStub as callAudit,
  connectPageStub as connectPage,
  gatewayStub as gateway,
  loginStub as login,
  telemetryStub as telemetry,
  usageStub as usage,
  webhooksStub as webhooks,
};

const adminStub = createFeatureStub("admin");
const gatewayStub = createFeatureStub("gateway");
const loginStub = createFeatureStub("login");
const callAuditStub = createFeatureStub("callAudit");
const connectPageStub = createFeatureStub("connectPage");
const telemetryStub = createFeatureStub("telemetry");
const usageStub = createFeatureStub("usage");
const webhooksStub = createFeatureStub("webhooks");
