import type { ClientProgress } from "../handlers/sampling.ts";
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

/** One content stored with `ctx.link`. */
export interface KeptLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
}

/** One side effect of a handler, such as `fetch GET https://…` or `write note:a`. `round` counts from 1. */
export interface Effect {
  readonly what: string;
  readonly round: number;
}

export interface TestRun {
  /** JSON-RPC result in the shape of the client's era. Empty if the request failed: see `error`. */
  readonly result: JsonObject;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
  /** All text of the result's content, contents or messages, joined by newlines. */
  readonly text: string;
  readonly structured: unknown;
  readonly isError: boolean;
  readonly progress: readonly ClientProgress[];
  readonly logs: readonly LogLine[];
  readonly links: readonly KeptLink[];
  readonly questions: readonly AskedQuestion[];
  readonly announcements: readonly Announcement[];
  /** Errors that the operator would find in the log: exceptions, and answers that could not be sent. */
  readonly errors: readonly unknown[];
  /** How often the handler ran. In era 2026 the handler runs again after each question. */
  readonly rounds: number;
  readonly effects: readonly Effect[];
  /**
   * Effects that happened in more than one round. In era 2026 everything before a question repeats, unless it is inside
   * `memo` or `once`.
   */
  readonly repeated: readonly string[];
  /** The tenant's stored resources after the run. */
  readonly resources: ResourceStore;
}

/** Records a handler's effects during one run, with the round in which each happened. */
export class TestRecorder {
  round = 1;
  readonly effects: Effect[] = [];
  readonly links: KeptLink[] = [];
  readonly questions: AskedQuestion[] = [];
  readonly announcements: Announcement[] = [];
  readonly errors: unknown[] = [];
  readonly pending: Promise<unknown>[] = [];

  addEffect(what: string): void {
    this.effects.push({ what, round: this.round });
  }
}
