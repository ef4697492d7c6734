// Owns the package's public face: what an author of a Worker imports. Nothing else is promised to stay.
// oxlint-disable oxc/no-barrel-file

import type { Around } from "./calls/call-host.ts";
import type { NewResource } from "./calls/resource-store.ts";
import type { TenantDefinitionOf as Definition } from "./tenants/document/tenant-definition.ts";

export {
  createWorker,
  type SettingsBy,
  type TenantryWorker,
  type TenantsFunction,
  type Unnamed,
  type WorkerEnv,
  type WorkerOptions,
} from "./http/create-worker.ts";
export type { Env, LimitEnv } from "./http/visit.ts";
export type { OriginVars } from "./auth/origin.ts";
export type { SecretsKeyEnv } from "./auth/secrets-key.ts";
export type { HostEnv } from "./http/find-tenant.ts";
export type { OutboundVars } from "./outbound/outbound-door.ts";
export type { StreamEnv } from "./sessions/doors.ts";
export type { DirectoryEnv } from "./tenants/directory/directory.ts";
export type { HostVars } from "./tenants/directory/worker-hosts.ts";
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
  Trail,
  TrailVisit,
} from "./deployment/deployment.ts";
export type { CallAs, CalledTool, NamedCaller, TenantOutside } from "./http/outside.ts";
export { TenantError, type TenantRule } from "./http/tenant-error.ts";
export { gateway } from "./http/gateway-feature.ts";
export type { GatewayOptions } from "./gateway/gateway.ts";
export type { ServiceBinding, Services } from "./gateway/guard/service-binding.ts";
export { login } from "./http/login-feature.ts";
export { telemetry, type TelemetryOptions } from "./http/telemetry-feature.ts";
export type { FaultPlace } from "./telemetry/fault-line.ts";
export type { Counts } from "./telemetry/counters.ts";
export type { Levels } from "./telemetry/levels.ts";
export type { RequestEvent } from "./telemetry/request-event.ts";
export { callAudit } from "./records/call-audit.ts";
export { webhooks, type WebhooksOptions } from "./records/webhooks.ts";
export { usage } from "./records/usage.ts";
export { connectPage } from "./connect/connect-page.ts";
export { links } from "./gateway/budget/links.ts";
export { leasedSections } from "./deployment/leased-sections.ts";
export {
  defineTool,
  type Tool,
  type ToolAnnotations,
  type ToolArguments,
  type ToolHandler,
  type ToolOptions,
} from "./content/define/tool.ts";
export type { AnySchema, FromInput, Infer, StandardSchema } from "./calls/schema.ts";
export type { FromJsonSchema } from "./calls/json-schema-type.ts";
export type { BrokenConfig, Configured } from "./calls/configured.ts";
export type { Resumable } from "./protocol/definition.ts";
export type { JsonObject } from "./protocol/jsonrpc.ts";
export type { ClientCapability, LogLevel } from "./protocol/meta.ts";
export {
  definePrompt,
  type Prompt,
  type PromptArgument,
  type PromptArguments,
  type PromptOptions,
} from "./content/define/prompt.ts";
export type { CallToolReturn, CheckedReturn, Returnable, ReturnHint, ToolReturn } from "./content/define/returned.ts";
export type { PromptMessage, PromptReturn } from "./content/define/results.ts";
export type {
  AudioBlock,
  BlockAbout,
  BlockAnnotations,
  ContentBlock,
  EmbeddedResource,
  EmbeddedResourceBlock,
  ImageBlock,
  ResourceLinkBlock,
  TextBlock,
  ToolContent,
} from "./calls/content-block.ts";
export {
  defineResource,
  defineTemplate,
  type Resource,
  type ResourceDescription,
  type ResourceOptions,
  type ResourceTemplate,
  type TemplateOptions,
} from "./content/define/resource.ts";
export type { TemplateVariable, TemplateVariables } from "./content/define/template-variables.ts";
export type { Completer, CompletionAbout } from "./calls/run-completer.ts";
export type { HandlerContext as Context, Wants } from "./calls/typed-context.ts";
export type { ElicitAnswer, Elicited, ElicitOptions } from "./calls/eliciting.ts";
export type { Bytes } from "./calls/read-bytes.ts";
export type { ReadReturn, ResourceContent } from "./content/define/contents.ts";
export type { CacheOptions } from "./content/define/cache-hint.ts";
export type { ListedPage, ListedResource, TemplateLister } from "./content/define/template-listing.ts";
export type {
  ClientProgress,
  SampleContent,
  SampleOptions,
  SampleMessage,
  SampleParams,
  SampleResult,
} from "./calls/sampling.ts";
export type { Announcement } from "./calls/announce.ts";
export type { RequestHeaders, Root } from "./calls/context.ts";
export type { Guarded, Viewer } from "./calls/guarded.ts";
export type { Cause, CauseCode } from "./protocol/cause.ts";
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
  LinkOptions,
  TokenAsk,
} from "./calls/call-host.ts";
export type { Question } from "./calls/answers.ts";
export type { NewResource, ResourceBody, ResourceMeta, ResourceStore } from "./calls/resource-store.ts";
export type { AppUser } from "./auth/app-user.ts";
export type { Principal } from "./auth/principal.ts";
export type { ToolDefinition } from "./protocol/definition.ts";
export type { ErrorKey, Failure, MetLimit } from "./protocol/errors.ts";
export type { ParamHeader } from "./protocol/headers.ts";
export type {
  CacheHint,
  CallOutcome,
  Complete,
  Encoded,
  InputRequired,
  InvalidArguments,
  Violation,
} from "./protocol/outcome.ts";
export type { ClientInfo } from "./protocol/meta.ts";
export type {
  AskedUri,
  AskedValue,
  Interest,
  ServedPrompt,
  ServedResource,
  ServedTemplate,
  ServedTool,
  Listing,
  Shelf,
  ShelfAsk,
  ShelfPage,
  Source,
  SourceState,
} from "./protocol/source.ts";

export type {
  AuthDocument,
  CallAuditDocument,
  IdentityDocument,
  IssuerDocument,
  LimitName,
  Limits,
  LoginDocument,
  Mode,
  ScopeDocument,
  UpstreamAuthDocument,
  UpstreamBounds,
  UpstreamDocument,
  WebhookDocument,
  NamedPatterns,
  Patterns,
  ProfileDocument,
  Renaming,
  ResultBudget,
} from "./tenants/document/tenant-document.ts";
export type { ToolPredicate } from "./tenants/document/tenant-definition.ts";

export type TenantDefinition = Definition<NewResource, Around>;
