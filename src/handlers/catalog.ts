// Everything that a Worker's author defines in code, for all tenants. Which tenant sees which part is decided
// elsewhere.

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
  /** Protocol extensions that the author declares: settings by identifier. */
  readonly extensions?: JsonObject | undefined;
  /** Limits for every tenant whose document sets no others. */
  readonly limits?: Limits | undefined;
  /** Parses the settings in tenant documents; without it they are used as written. */
  readonly settings?: TypedConfig | undefined;
  /** True when visibility is decided per request, so that shared caches must not store any list. */
  readonly isPrivate?: boolean;
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  /** The tools, prompts and resources that are not visible to everyone. */
  readonly guarded?: readonly AccessRules<never>[] | undefined;
  readonly resources: readonly (Resource | ResourceTemplate)[];
}
