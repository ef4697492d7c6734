// The package's public face: what the author of a Worker imports. docs/api-types.md says what the types are for, and api/tenantry.md
// shows each change.
// oxlint-disable oxc/no-barrel-file

import type { Around } from "./calls/call-host.ts";
import type { NewResource } from "./calls/resource-store.ts";
import type { TenantDefinitionOf } from "./tenants/document/tenant-definition.ts";

export { createWorker, type TenantryWorker } from "./http/create-worker.ts";
export type { Env } from "./http/visit.ts";
export type { AppUser } from "./auth/app-user.ts";
export type { CalledTool, TenantOutside } from "./http/outside.ts";
export type TenantDefinition = TenantDefinitionOf<NewResource, Around>;

export { defineTool, type Tool } from "./content/define/tool.ts";
export { definePrompt, type Prompt } from "./content/define/prompt.ts";
export { defineResource, defineTemplate, type Resource, type ResourceTemplate } from "./content/define/resource.ts";

export type { Context } from "./calls/typed-context.ts";
export type { CompletionContext } from "./calls/run-completer.ts";
export type { Infer } from "./calls/schema.ts";
export type { Root } from "./calls/context.ts";
export type { JsonObject } from "./protocol/jsonrpc.ts";
export type { ElicitAnswer } from "./calls/eliciting.ts";
export type { SampleParams, SampleResult } from "./calls/sampling.ts";
export type { ContentBlock, ResourceLinkBlock } from "./calls/content-block.ts";
export type { PromptMessage } from "./content/define/results.ts";
export type { NewResource, ResourceBody, ResourceMeta, ResourceStore } from "./calls/resource-store.ts";
export type { Principal } from "./auth/principal.ts";

export type { Around, CallEvent, Hooks } from "./calls/call-host.ts";

export type { Feature } from "./deployment/feature.ts";
export type { ServedTool } from "./protocol/source.ts";
export { admin } from "./admin/admin.ts";
export { gateway } from "./http/gateway-feature.ts";
export { login } from "./http/login-feature.ts";
export { connectPage } from "./connect/connect-page.ts";
export { telemetry } from "./http/telemetry-feature.ts";
export type { RequestEvent } from "./telemetry/request-event.ts";
export { usage } from "./records/usage.ts";
export { callAudit } from "./records/call-audit.ts";
export { webhooks } from "./records/webhooks.ts";
export { links } from "./gateway/budget/links.ts";

export { UserError } from "./protocol/user-error.ts";
export { OutboundError } from "./outbound/outbound-error.ts";
export { IdentityError } from "./login/identity/identity-error.ts";
export { TenantError } from "./http/tenant-error.ts";
