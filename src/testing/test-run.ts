// Owns what a test learns of a run: what the client got, and what the handler did on the way. Refuses to say whether that is
// right.

import type { Announcement } from "../handlers/publish-changes.ts";
import type { ResourceStore } from "../handlers/resource-store.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { LogLevel } from "../protocol/meta.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly data: unknown;
  readonly logger?: string;
}

export interface AskedQuestion {
  readonly name: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** What `ctx.link` kept. */
export interface KeptLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
}

/** Something that a handler did outside of itself: `fetch GET https://…`, `write note:a`; `round` counts from 1. */
export interface Effect {
  readonly what: string;
  readonly round: number;
}

export interface TestRun {
  /** As the client gets it, in the shape of its era; empty where there is an error. */
  readonly result: JsonObject;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
  /** The texts of the result, of its content, contents or messages, line by line. */
  readonly text: string;
  readonly structured: unknown;
  readonly isError: boolean;
  readonly progress: readonly { readonly progress: number; readonly total?: number; readonly message?: string }[];
  readonly logs: readonly LogLine[];
  readonly links: readonly KeptLink[];
  readonly questions: readonly AskedQuestion[];
  readonly announcements: readonly Announcement[];
  /** What the operator would find in the log: exceptions, and what could not be sent. */
  readonly errors: readonly unknown[];
  /** How often the handler ran: in era 2026 once more after each question. */
  readonly rounds: number;
  readonly effects: readonly Effect[];
  /** What was done in more than one round: in era 2026 all that stands before a question, outside of `memo` and `once`. */
  readonly repeated: readonly string[];
  /** The tenant's stored resources after it. */
  readonly resources: ResourceStore;
}
