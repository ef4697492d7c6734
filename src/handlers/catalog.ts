// Owns what a Worker's author wrote in code, for all of its tenants. Refuses to know which tenant has which part.

import type { TypedConfig } from "./typed-config.ts";
import type { AccessRules } from "./access-rules.ts";
import type { ServerInfo } from "../protocol/definition.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Limits } from "../tenants/document/tenant-document.ts";
import type { Prompt } from "./prompt.ts";
import type { Resource, ResourceTemplate } from "./resource.ts";
import type { Tool } from "./tool.ts";

export interface Catalog {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  /** Of the protocol, that the author declares: settings by identifier. */
  readonly extensions?: JsonObject | undefined;
  /** What holds for every tenant whose document says nothing else. */
  readonly limits?: Limits | undefined;
  /** How what tenants say for all of it is read; without it as it was written. */
  readonly settings?: TypedConfig | undefined;
  /** Who may see any of it is said for each request, so nothing of it is for caches that many share. */
  readonly isPrivate?: boolean;
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  /** Those of the three that are not there for everybody. */
  readonly guarded?: readonly AccessRules<never>[] | undefined;
  readonly resources: readonly (Resource | ResourceTemplate)[];
}
