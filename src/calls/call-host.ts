// Owns what a request brings along for running handlers: whose, for whom, and with which bindings.

import type { KeyRing } from "../auth/seal.ts";
import type { Principal } from "../auth/principal.ts";
import type { Limits } from "../tenants/document/tenant-document.ts";
import type { TenantStub } from "../tenants/authority/tables.ts";
import type { CacheHint } from "../protocol/outcome.ts";
import type { ResourceStore } from "./resource-store.ts";

export interface CallEvent {
  readonly tenant: string;
  readonly profile: string | null;
  readonly principal: Principal;
  readonly method: "tools/call" | "prompts/get" | "resources/read";
  /** Tool or prompt name, or resource URI. */
  readonly name: string;
}

export type CallEnd = "complete" | "error" | "input_required" | "timeout" | "cancelled";

/** What the author of a Worker may hang into its calls. They run in the request: keep them quick. */
export interface Hooks {
  /** A text refuses the call; the client is told it. */
  readonly beforeCall?: (event: CallEvent) => string | undefined | Promise<string | undefined>;
  readonly afterCall?: (event: CallEvent, end: CallEnd) => void;
  /** Errors that clients are not told about: a handler's exception, a binding that failed. */
  readonly onError?: (error: unknown, event: CallEvent | undefined) => void;
}

/** The part of a view that handlers feel. */
export interface Sight {
  /** Whether nothing that is stored is hidden. */
  readonly seesAll: boolean;
  sees(uri: string): boolean;
  /** Who may keep what is read through it. */
  readonly cacheScope: CacheHint["cacheScope"];
  /** How much the tenant may store. */
  readonly limits: Limits;
  /** What this tenant configured for a tool. */
  configOf(tool: string): unknown;
}

export interface CallHost {
  /** The tenant's id. */
  readonly tenant: string;
  readonly sight: Sight;
  readonly profile: string | null;
  readonly principal: Principal;
  readonly env: unknown;
  readonly ring: KeyRing;
  readonly hooks: Hooks;
  /** What the tenant stores, as far as this view sees it. */
  resources(): ResourceStore;
  /** The tenant's own secret; undefined when it has none of this name. */
  secret(name: string): Promise<string | undefined>;
  /** A stub belongs to one request: made anew, at the first use. */
  stub(): TenantStub;
  /** Keeps the invocation alive for work that outlives its answer. */
  waitUntil(work: Promise<unknown>): void;
}
