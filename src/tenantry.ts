// The package's public API: what the author of a Worker imports. docs/api-types.md explains the types; api/tenantry.md
// shows each change.
// oxlint-disable oxc/no-barrel-file

import type { Around } from "./handlers/request-scope.ts";
import type { NewResource } from "./handlers/resource-store.ts";
import type { TenantDefinitionOf } from "./tenants/document/tenant-definition.ts";

export { createWorker, type TenantryWorker } from "./app/create-worker.ts";
export type { Env } from "./endpoint/request-context.ts";
export type { AppUser } from "./auth/app-user.ts";
export type { ToolResult, TenantOutside } from "./endpoint/outside.ts";
export type TenantDefinition = TenantDefinitionOf<NewResource, Around>;

export { defineTool, type Tool } from "./handlers/tool.ts";
export { definePrompt, type Prompt } from "./handlers/prompt.ts";
export { defineResource, defineTemplate, type Resource, type ResourceTemplate } from "./handlers/resource.ts";

export type { Context } from "./handlers/context.ts";
export type { CompletionContext } from "./handlers/run-completer.ts";
export type { Infer } from "./handlers/schema.ts";
export type { Root } from "./handlers/context.ts";
export type { JsonObject } from "./protocol/jsonrpc.ts";
export type { ElicitAnswer } from "./handlers/elicitation.ts";
export type { SampleParams, SampleResult } from "./handlers/sampling.ts";
export type { ContentBlock, ResourceLinkBlock } from "./handlers/content-block.ts";
export type { PromptMessage } from "./handlers/results.ts";
export type { NewResource, ResourceBody, ResourceMeta, ResourceStore } from "./handlers/resource-store.ts";
export type { Principal } from "./auth/principal.ts";

export type { Around, CallEvent, Hooks } from "./handlers/request-scope.ts";

export type { Feature } from "./deployment/feature.ts";
export type { SourceTool } from "./protocol/source.ts";
export { admin } from "./admin/admin.ts";
export { gateway } from "./gateway/gateway-feature.ts";
export { login } from "./login/login-feature.ts";
export { connectPage } from "./connect/connect-page.ts";
export { telemetry } from "./records/telemetry-feature.ts";
export type { RequestEvent } from "./telemetry/request-event.ts";
export { usage } from "./records/usage.ts";
export { callAudit } from "./records/call-audit.ts";
export { webhooks } from "./records/webhooks.ts";
export { links } from "./gateway/budget/links.ts";

export { UserError } from "./protocol/user-error.ts";
export { OutboundError } from "./outbound/outbound-error.ts";
export { IdentityError } from "./login/identity/identity-error.ts";
export { TenantError } from "./endpoint/tenant-error.ts";
