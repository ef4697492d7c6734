import type { ClientProgress } from "../handlers/sampling.ts";
import type { Announcement } from "../handlers/publish-changes.ts";
import type { ResourceStore } from "../handlers/resource-store.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { LogLevel } from "../protocol/meta.ts";

export interface TestLogLine {
  readonly level: LogLevel;
  readonly data: unknown;
  readonly logger?: string;
}

/** One question of the handler, in the form in which the client receives it. */
export interface TestQuestion {
  /** The first argument of `ctx.elicit`, `ctx.sample` or `ctx.roots`. */
  readonly name: string;
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  readonly method: string;
  /** For a form: `{ message, requestedSchema }`; for a page: `{ mode: "url", message, url }`. Empty for roots. */
  readonly params: JsonObject;
}

/** One content stored with `ctx.link`. */
export interface TestLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
}

/** One side effect of a handler, such as `fetch GET https://…` or `write note:a`. `round` counts from 1. */
export interface TestEffect {
  readonly what: string;
  readonly round: number;
}

export interface TestRun {
  /** JSON-RPC result in the shape of the client's era. Empty if the request failed: see `error`. */
  readonly result: JsonObject;
  /**
   * The JSON-RPC error of a request that failed: an unknown URI, a prompt's `UserError`, in era 2026 a missing capability. undefined if
   * there is a `result`. A tool's `UserError`, exception and invalid arguments are a result with `isError`.
   */
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
  /** All text of the result's content, contents or messages, joined by newlines. */
  readonly text: string;
  /** `structuredContent` of a tool's result; undefined if it has none. */
  readonly structured: unknown;
  /**
   * Whether a tool's result is an error: the handler threw, or the arguments do not fit `input` (in both eras). False if
   * `error` is set, because there is no result then.
   */
  readonly isError: boolean;
  readonly progress: readonly ClientProgress[];
  readonly logs: readonly TestLogLine[];
  readonly links: readonly TestLink[];
  /** The questions that the handler asked, in order. Each is listed once, however often the handler ran. */
  readonly questions: readonly TestQuestion[];
  readonly announcements: readonly Announcement[];
  /** Errors that the operator would find in the log: exceptions, and answers that could not be sent. */
  readonly errors: readonly unknown[];
  /** How often the handler ran. In era 2026 the handler runs again after each question. */
  readonly rounds: number;
  readonly effects: readonly TestEffect[];
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
  readonly effects: TestEffect[] = [];
  readonly links: TestLink[] = [];
  readonly questions: TestQuestion[] = [];
  readonly announcements: Announcement[] = [];
  readonly errors: unknown[] = [];
  readonly pending: Promise<unknown>[] = [];

  addEffect(what: string): void {
    this.effects.push({ what, round: this.round });
  }
}
