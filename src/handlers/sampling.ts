// Types of sampling/createMessage: the question to the client's model, and its answer.
// https://modelcontextprotocol.io/specification/2025-11-25/client/sampling

import type { JsonObject } from "../protocol/jsonrpc.ts";

export type SampleContent =
  | { readonly type: "text"; readonly text: string; readonly _meta?: JsonObject }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string; readonly _meta?: JsonObject }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: JsonObject }
  | {
      readonly type: "tool_result";
      readonly toolUseId: string;
      readonly content: readonly JsonObject[];
      readonly isError?: boolean;
    };

export interface SampleMessage {
  readonly role: "user" | "assistant";
  readonly content: SampleContent | readonly SampleContent[];
}

/** A client's progress with a question. */
export interface ClientProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface SampleOptions {
  /** Called with the client's progress. An exception goes to `onError`, and the call continues. */
  readonly onProgress?: (progress: ClientProgress) => void;
}

/** Parameters of sampling/createMessage. The client decides which model runs, and may change or reject the request. */
export interface SampleParams {
  readonly messages: readonly SampleMessage[];
  /** Most tokens that the model may generate. */
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly modelPreferences?: {
    /** Preferred model names or parts of them, best first. */
    readonly hints?: readonly { readonly name?: string }[];
    /** From 0 to 1, like the other two. */
    readonly costPriority?: number;
    readonly speedPriority?: number;
    readonly intelligencePriority?: number;
  };
  readonly includeContext?: "none" | "thisServer" | "allServers";
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly tools?: readonly JsonObject[];
  readonly toolChoice?: { readonly mode?: "auto" | "required" | "none" };
  readonly metadata?: JsonObject;
}

/** The model's answer. A client may return one piece of content or several. */
export interface SampleResult extends SampleMessage {
  readonly model: string;
  readonly stopReason?: string;
}
