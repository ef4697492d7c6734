// `RequestHandlers` in memory and the requests that tests send to them: definitions and answers as the test gives them,
// and a record of the calls.

import type {
  RequestHandlers,
  CompletionRef,
  Definitions,
  CallablePrompt,
  CallableTool,
  ResourceList,
} from "../../src/protocol/request-handlers.ts";
import type { McpRequest, SessionPort } from "../../src/protocol/mcp-request.ts";
import type {
  PromptDefinition,
  ServerInfo,
  TemplateDefinition,
  ToolDefinition,
  ViewItem,
} from "../../src/protocol/definition.ts";
import type { CacheHint, CallOutcome, InvalidArguments } from "../../src/protocol/call-outcome.ts";
import type { CompletionQuery, ResourceRef } from "../../src/protocol/source.ts";
import { dispatch, encodeOutcome } from "../../src/protocol/dispatch.ts";
import { REVISION_FEATURES, type ProtocolVersion } from "../../src/protocol/revisions.ts";
import { failure, type Failure } from "../../src/protocol/errors.ts";
import type { ParamHeader } from "../../src/protocol/headers.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import type { LogLevel } from "../../src/protocol/meta.ts";

export const REVISIONS = Object.keys(REVISION_FEATURES) as ProtocolVersion[];

/** A call of the fake: the method and its arguments without the request. */
export type RecordedCall = readonly [method: string, ...rest: readonly unknown[]];

export class FakeRequestHandlers implements RequestHandlers {
  readonly server: ServerInfo = { name: "fake", version: "1.2.3" };
  readonly instructions: string | undefined = undefined;
  readonly cache: CacheHint = { ttlMs: 5000, cacheScope: "public" };
  readonly meta: JsonObject | undefined = undefined;
  readonly extensions: JsonObject | undefined = undefined;
  readonly tools: readonly ViewItem<ToolDefinition>[] = [];
  readonly prompts: readonly PromptDefinition[] = [];
  readonly templates: readonly TemplateDefinition[] = [];
  readonly requests: RecordedCall[] = [];
  readonly onTool: (call: McpRequest) => CallOutcome | InvalidArguments | Promise<CallOutcome> = () =>
    failure("internal");
  readonly onPrompt: () => CallOutcome = () => failure("internal");
  readonly onList: (cursor: string | undefined) => ResourceList | Failure = () => failure("internal");
  readonly onRead: () => CallOutcome = () => failure("internal");
  readonly onComplete: () => readonly string[] | Failure = () => failure("internal");

  constructor(members: Partial<Omit<FakeRequestHandlers, "requests" | "definitions">> = {}) {
    Object.assign(this, members);
  }

  /** One view for as long as these handlers exist. */
  get definitions(): Definitions {
    return this;
  }

  tool(name: string): CallableTool | undefined {
    const tool = this.tools.find(({ wire }) => wire.name === name);
    return (
      tool && {
        definition: tool.target,
        call: async (args, call) => {
          this.requests.push(["callTool", name, args]);
          return this.onTool(call);
        },
      }
    );
  }

  prompt(name: string): CallablePrompt | undefined {
    const definition = this.prompts.find((prompt) => prompt.wire.name === name);
    return (
      definition && {
        definition,
        get: async (args) => {
          this.requests.push(["getPrompt", name, args]);
          return this.onPrompt();
        },
      }
    );
  }

  async listResources(cursor: string | undefined): Promise<ResourceList | Failure> {
    this.requests.push(["listResources", cursor]);
    return this.onList(cursor);
  }

  async readResource({ uri, asked }: ResourceRef): Promise<CallOutcome> {
    this.requests.push(["readResource", uri, asked]);
    return this.onRead();
  }

  async complete(ref: CompletionRef, query: CompletionQuery): Promise<readonly string[] | Failure> {
    this.requests.push(["complete", { ref, ...query }]);
    return this.onComplete();
  }
}

export function toolOf(
  name: string,
  more: JsonObject = {},
  paramHeaders: readonly ParamHeader[] = [],
): ViewItem<ToolDefinition> {
  const wire = { name, inputSchema: { type: "object" }, ...more };
  return { wire, target: { wire, paramHeaders, repeatable: true } };
}

export function promptOf(name: string, more: JsonObject = {}): PromptDefinition {
  return { wire: { name, ...more } };
}

export function templateOf(uriTemplate: string): TemplateDefinition {
  return { wire: { uriTemplate, name: uriTemplate } };
}

/** A session that remembers its log level. */
export function sessionOf(unofficial = false): SessionPort {
  let level: LogLevel | undefined;
  return {
    isUnknownRevision: unofficial,
    logLevel: async () => level,
    setLogLevel: async (next) => {
      level = next;
    },
    subscribe: async () => true,
    unsubscribe: async () => {},
  };
}

export const NOW = 1_795_000_000_000;

export function callOf(
  revision: ProtocolVersion,
  method: string,
  params: JsonObject = {},
  more: Partial<McpRequest> = {},
): McpRequest {
  return {
    revision: REVISION_FEATURES[revision],
    id: 7,
    method,
    params,
    capabilities: {},
    progressToken: undefined,
    logLevel: undefined,
    session: undefined,
    sink: { notify: () => {}, cancelled: new AbortController().signal },
    header: () => null,
    now: () => NOW,
    ...more,
  };
}

export interface Answered {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly message: JsonObject;
  /** `{}` when the answer is an error. */
  readonly result: JsonObject;
  readonly error: { readonly code: number; readonly message: string; readonly data?: JsonObject } | undefined;
}

/** The call's way through dispatch and encoding, read back as a client reads it. */
export async function answerOf(call: McpRequest, handlers: RequestHandlers): Promise<Answered> {
  const outcome = await dispatch(call, handlers);
  const { json, status, retryAfter } = encodeOutcome(call.id, outcome, call.revision, handlers.definitions.server);
  const message = JSON.parse(json) as JsonObject;
  return {
    status,
    retryAfter,
    message,
    result: (message.result ?? {}) as JsonObject,
    error: message.error as Answered["error"],
  };
}
