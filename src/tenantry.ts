// Owns the package's public face: what an author of a Worker imports. Nothing else is promised to stay.
// oxlint-disable oxc/no-barrel-file

import type { NewResource } from "./calls/resource-store.ts";
import { contentTables } from "./content/store/content-tables.ts";
import { authorityTables } from "./tenants/authority/authority-tables.ts";
import type { TenantDefinition as Definition } from "./tenants/document/tenant-definition.ts";
import { endedTables } from "./tenants/authority/ended-tables.ts";
import { policyTables } from "./tenants/authority/policy-tables.ts";
import { sessionRegister } from "./tenants/authority/session-register.ts";
import { createTenantObject } from "./tenants/authority/tenant-object.ts";

export { createWorker, type WorkerOptions } from "./http/create-worker.ts";
export type { Env } from "./http/app.ts";
export { defineTool, type Tool, type ToolOptions, type ToolReturn } from "./content/define/tool.ts";
export {
  definePrompt,
  type Prompt,
  type PromptMessage,
  type PromptOptions,
  type PromptReturn,
} from "./content/define/prompt.ts";
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
  Root,
  SampleOptions,
} from "./calls/context.ts";
export type { CallEnd, CallEvent, Hooks } from "./calls/call-host.ts";
export type { Question } from "./calls/answers.ts";
export type { NewResource, ResourceBody, ResourceMeta, ResourceStore } from "./calls/resource-store.ts";
export type { Principal } from "./auth/principal.ts";
export type { ContentBlock } from "./protocol/backend.ts";
export { PlatformObject } from "./admin/platform/platform-object.ts";
export { DirectoryObject } from "./tenants/directory/directory-object.ts";
export { HubObject } from "./streams/hub-object.ts";
export { SessionObject } from "./sessions/session-object.ts";

export type TenantDefinition = Definition<NewResource>;

/** The authority of one tenant, with the tables of every domain that keeps some there. Bind it as `TENANTS`. */
export class TenantObject extends createTenantObject([
  authorityTables,
  endedTables,
  sessionRegister,
  policyTables,
  contentTables,
]) {}
