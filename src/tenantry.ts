// Owns the package's public face: what an author of a Worker imports. Nothing else is promised to stay.
// oxlint-disable oxc/no-barrel-file

import type { Around } from "./calls/call-host.ts";
import type { NewResource } from "./calls/resource-store.ts";
import type { TenantDefinitionOf as Definition } from "./tenants/document/tenant-definition.ts";

export { createWorker, type TenantryWorker, type WorkerOptions } from "./http/create-worker.ts";
export type { Env } from "./http/visit.ts";
export { admin } from "./admin/admin.ts";
export type {
  CallerGround,
  Deployment,
  Feature,
  FeatureRoutes,
  IdentityGround,
  LeasedSections,
  LoadedSections,
  SectionGround,
  SourceGround,
  TendGround,
} from "./deployment/deployment.ts";
export { gateway } from "./http/gateway-feature.ts";
export { login } from "./http/login-feature.ts";
export { leasedSections } from "./deployment/leased-sections.ts";
export { defineTool, type Tool, type ToolOptions } from "./content/define/tool.ts";
export type { Infer } from "./calls/schema.ts";
export { definePrompt, type Prompt, type PromptOptions } from "./content/define/prompt.ts";
export type { CallToolReturn, PromptMessage, PromptReturn, ToolReturn } from "./content/define/results.ts";
export {
  defineResource,
  defineTemplate,
  type Resource,
  type ResourceOptions,
  type ResourceTemplate,
  type TemplateOptions,
} from "./content/define/resource.ts";
export type {
  Announcement,
  ClientProgress,
  Context,
  ElicitAnswer,
  ElicitOptions,
  RequestHeaders,
  Root,
  SampleOptions,
} from "./calls/context.ts";
export type { Guarded, Viewer } from "./calls/guarded.ts";
export { UserError } from "./protocol/user-error.ts";
export { OutboundError, type OutboundRule } from "./outbound/outbound-error.ts";
export type { OutboundInit } from "./outbound/outbound-door.ts";
export { IdentityError, type IdentityRule } from "./login/identity/identity-error.ts";
export type {
  Around,
  AroundCall,
  AroundOutcome,
  CallEnd,
  CallEvent,
  CallHost,
  Hooks,
  Identity,
  TokenAsk,
} from "./calls/call-host.ts";
export type { Question } from "./calls/answers.ts";
export type { NewResource, ResourceBody, ResourceMeta, ResourceStore } from "./calls/resource-store.ts";
export type { Principal } from "./auth/principal.ts";
export type { CallOutcome, ContentBlock, InvalidArguments } from "./protocol/outcome.ts";
export type { Failure } from "./protocol/errors.ts";
export type { ClientInfo } from "./protocol/meta.ts";
export type {
  AskedUri,
  AskedValue,
  Interest,
  ServedPrompt,
  ServedResource,
  ServedTemplate,
  ServedTool,
  Shelf,
  ShelfPage,
  Source,
  SourceState,
} from "./protocol/source.ts";

export type { LimitName, Limits } from "./tenants/document/tenant-document.ts";

export type TenantDefinition = Definition<NewResource, Around>;
