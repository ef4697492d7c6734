// Owns the package's public face: what an author of a Worker imports. Nothing else is promised to stay.
// oxlint-disable oxc/no-barrel-file

import type { NewResource } from "./content/store.ts";
import { contentTables } from "./content/tables.ts";
import { authorityTables } from "./tenants/authority.ts";
import type { TenantDefinition as Definition } from "./tenants/definition.ts";
import { endedTables } from "./tenants/ended-tables.ts";
import { policyTables } from "./tenants/policy-tables.ts";
import { sessionRegister } from "./tenants/session-register.ts";
import { createTenantObject } from "./tenants/tenant-object.ts";

export { createWorker, type WorkerOptions } from "./http/create-worker.ts";
export type { Env } from "./http/app.ts";
export { defineTool, type Tool, type ToolOptions, type ToolReturn } from "./content/tool.ts";
export {
  definePrompt,
  type Prompt,
  type PromptMessage,
  type PromptOptions,
  type PromptReturn,
} from "./content/prompt.ts";
export {
  defineResource,
  defineTemplate,
  type Resource,
  type ResourceOptions,
  type ResourceTemplate,
  type TemplateOptions,
} from "./content/resource.ts";
export type {
  Announcement,
  ClientProgress,
  Context,
  ElicitAnswer,
  ElicitOptions,
  Root,
  SampleOptions,
} from "./content/context.ts";
export type { CallEnd, CallEvent, Hooks } from "./content/host.ts";
export type { Question } from "./content/answers.ts";
export type { NewResource, ResourceBody, ResourceMeta, ResourceStore } from "./content/store.ts";
export type { Principal } from "./auth/principal.ts";
export type { ContentBlock } from "./protocol/backend.ts";
export { PlatformObject } from "./admin/platform-object.ts";
export { DirectoryObject } from "./tenants/directory-object.ts";
export { HubObject } from "./streams/hub-object.ts";
export { SessionObject } from "./streams/session-object.ts";

export type TenantDefinition = Definition<NewResource>;

/** The authority of one tenant, with the tables of every domain that keeps some there. Bind it as `TENANTS`. */
export class TenantObject extends createTenantObject([
  authorityTables,
  endedTables,
  sessionRegister,
  policyTables,
  contentTables,
]) {}
