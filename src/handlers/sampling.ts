// Owns what a handler asks of its client's model, and what it is answered: sampling/createMessage, member by member.
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

/** How far a client is with a question. */
export interface ClientProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface SampleOptions {
  readonly onProgress?: (progress: ClientProgress) => void;
}

export interface SampleParams {
  readonly messages: readonly SampleMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly modelPreferences?: {
    readonly hints?: readonly { readonly name?: string }[];
    /** 0 to 1, as the other two. */
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

/** What the model said. A client may give one piece of content or several. */
export interface SampleResult extends SampleMessage {
  readonly model: string;
  readonly stopReason?: string;
}
