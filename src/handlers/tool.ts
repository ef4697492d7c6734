// Owns `defineTool`: what the author of a tool writes, checked once, and the definition that is listed.

import type { RequestScope } from "./request-scope.ts";
import { accessRulesOf, type AccessRules } from "./access-rules.ts";
import { DEFAULT_TIMEOUT_MS, runHandlerCall } from "./run-handler-call.ts";
import { hasAtMost } from "./json-schema.ts";
import { createTypedConfig, type TypedConfig } from "./typed-config.ts";
import { compileSchema, objectSchema, type AnySchema, type CompiledSchema, type Infer } from "./schema.ts";
import type { Context, Wants } from "./typed-context.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { Resumable } from "../protocol/definition.ts";
import { collectParamHeaders, type ParamHeader } from "../protocol/headers.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { assertMemberTypes, omitUndefined } from "../protocol/members.ts";
import type { CallOutcome, InvalidArguments } from "../protocol/call-outcome.ts";
import type { ServedTool } from "../protocol/source.ts";
import { checkDefinition } from "./check-definition.ts";
import { createDefinition } from "./definition-errors.ts";
import { toolResult } from "./results.ts";
import type { CheckedReturn, Returnable } from "./checked-return.ts";

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What a handler receives: by its names and types where the schema says them. */
export type ToolArguments<Input> = Infer<Input> extends object ? Infer<Input> : Record<string, unknown>;

export type ToolHandler<Args, Ctx, Returned> = (args: Args, ctx: Ctx) => Returned | Promise<Returned>;

/** What a `config` schema reads; `unknown` without one. */
type ConfigOf<Config> = [Config] extends [undefined] ? unknown : Infer<Config>;

export interface ToolOptions<
  Input = AnySchema,
  Output = AnySchema | undefined,
  Config = AnySchema | undefined,
  Returned = unknown,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends AccessRules<Settings> {
  /** 1 to 128 of A-Z, a-z, 0-9, `_`, `-`, `.`; known clients refuse all tools for one with a `.` or more than 64. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly JsonObject[];
  readonly annotations?: ToolAnnotations;
  readonly meta?: JsonObject;
  /** zod 4, zod/mini or JSON Schema 2020-12 of type object; without it the tool takes no arguments. */
  readonly input?: Input;
  /** What a handler returns: an object of this is the structured content. */
  readonly output?: Output;
  /** What a tenant says for this tool, an object: `ctx.config`. Without the schema it is read as it was written. */
  readonly config?: Config;
  /** Milliseconds, one hour at most; 60000 by default. What the client takes to answer a question does not count. */
  readonly timeoutMs?: number;
  /**
   * A client that lost its connection can come back for the result, in revisions that can resume. Such a call may run
   * more than once: what must happen at most once belongs into `ctx.once`.
   */
  readonly resumable?: boolean | Partial<Resumable>;
  /** A thrown UserError becomes a result with `isError` and its text; of any other error the client learns only an id. */
  readonly handler: ToolHandler<ToolArguments<Input>, Context<Env, Settings, ConfigOf<Config>>, Returned> &
    CheckedReturn<Output, Returned>;
}

/** `Env`, `Settings`: what its handler reads of the Worker and its tenants. */
export interface Tool<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends ServedTool<RequestScope>, Wants<Env, Settings>, AccessRules<never> {
  readonly kind: "tool";
  readonly config?: TypedConfig | undefined;
}

/** What a call needs to know of its tool. */
interface ToolDefinitionParts {
  readonly name: string;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  readonly timeoutMs: number;
  readonly handler: (args: never, ctx: never) => unknown;
}

const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_RESUMABLE: Resumable = { closeAfterMs: 25_000, retryMs: 1000 };
const MAX_RETRY_MS = 60_000;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
/** How many values the arguments of one call may hold: the time to validate them grows faster than their number. */
const MAX_MEMBERS = 20_000;
const TOO_MANY_VALUES = {
  path: "",
  expected: `at most ${MAX_MEMBERS} values`,
  received: "more",
  message: `arguments: at most ${MAX_MEMBERS} values`,
};
const NO_ARGUMENTS = { type: "object", properties: {} } as const;

/** Throws a TypeError that names the tool, the member and the rule when the definition cannot be served. */
export function defineTool<
  const Input extends AnySchema = typeof NO_ARGUMENTS,
  const Output extends AnySchema | undefined = undefined,
  const Config extends AnySchema | undefined = undefined,
  // Nothing until a handler is known: it is what every schema allows.
  Returned extends Returnable = never,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
>(options: ToolOptions<Input, Output, Config, Returned, Env, Settings>): Tool<Env, Settings> {
  return createDefinition(() => createTool(options as never) as Tool<Env, Settings>);
}

/** What was written, whatever TypeScript makes of its handler. */
type UntypedToolOptions = Omit<ToolOptions, "handler"> & Pick<ToolDefinitionParts, "handler">;

function createTool(options = {} as UntypedToolOptions): Tool<never, never> {
  const { name } = options;
  const optionNames = "handler input output config timeoutMs resumable";
  checkDefinition(`tool "${name}"`, options, ["name", "handler"], optionNames);
  if (!NAME.test(name)) throw new TypeError(`tool "${name}": a name is 1 to 128 of A-Z, a-z, 0-9, "_", "-", "."`);
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw new TypeError(`tool "${name}": timeoutMs is a number above 0, at most ${MAX_TIMEOUT_MS}`);
  }
  const input = compileFor(`tool "${name}": input`, options.input ?? NO_ARGUMENTS);
  const output = options.output && compileFor(`tool "${name}": output`, options.output);
  const config =
    options.config && withErrorPrefix(`tool "${name}": config`, () => createTypedConfig(options.config as AnySchema));
  const parts: ToolDefinitionParts = { name, input, output, timeoutMs, handler: options.handler };
  return {
    kind: "tool",
    name,
    ...accessRulesOf(options),
    config,
    ...describeTool(options, input, output),
    resumable: resumableOf(name, options.resumable ?? false),
    // A handler of era 2026 runs again after each answer, so what must not be done twice is in `ctx.once` anyway.
    repeatable: true,
    call: (args, request, requestScope) => callTool(parts, args, request, requestScope),
  };
}

async function callTool(
  { name, input, output, timeoutMs, handler }: ToolDefinitionParts,
  args: JsonObject,
  request: McpRequest,
  requestScope: RequestScope,
): Promise<CallOutcome | InvalidArguments> {
  if (!hasAtMost(MAX_MEMBERS, args)) return { kind: "invalidArguments", violations: [TOO_MANY_VALUES] };
  const checked = await input.validate(args);
  if ("violations" in checked) return { kind: "invalidArguments", violations: checked.violations };
  return runHandlerCall(
    {
      name,
      timeoutMs,
      handler: (ctx) => handler(checked.value as never, ctx as never),
      toResult: (returned) => toolResult(returned, output),
      hasOutput: output !== undefined,
    },
    request,
    requestScope,
  );
}

function resumableOf(tool: string, resumable: boolean | Partial<Resumable>): Resumable | undefined {
  if (resumable === false) return undefined;
  if (resumable !== true) assertMemberTypes(`tool "${tool}": resumable`, resumable, "closeAfterMs retryMs");
  const complete = { ...DEFAULT_RESUMABLE, ...(resumable === true ? {} : resumable) };
  const { closeAfterMs, retryMs } = complete;
  if (closeAfterMs >= 0 && retryMs >= 0 && retryMs <= MAX_RETRY_MS) return complete;
  throw new TypeError(`tool "${tool}": closeAfterMs is 0 or more, retryMs from 0 to ${MAX_RETRY_MS}`);
}

/** Writes the JSON Schema at definition, so that a schema that has none is refused there and not at a request. */
function compileFor(what: string, schema: AnySchema): CompiledSchema {
  return withErrorPrefix(what, () => {
    const compiled = compileSchema(schema);
    const { json } = compiled;
    return { ...compiled, json };
  });
}

/** What `make` returns; where it throws, that says of what. */
export function withErrorPrefix<T>(what: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const reason = (error as Error).message;
    throw new TypeError(/^[\w$.]+: /.test(reason) ? `${what}.${reason}` : `${what}: ${reason}`, { cause: error });
  }
}

function describeTool(
  options: UntypedToolOptions,
  input: CompiledSchema,
  output: CompiledSchema | undefined,
): { wire: Tool["wire"]; paramHeaders: readonly ParamHeader[] } {
  const inputSchema = objectSchema(input.json);
  if (inputSchema.type !== "object") throw new TypeError(`tool "${options.name}": input: its type is object`);
  const paramHeaders = collectParamHeaders(inputSchema);
  if ("broken" in paramHeaders) throw new TypeError(`tool "${options.name}": input.${paramHeaders.broken}`);
  const { name, title, description, icons, annotations, meta } = options;
  return {
    paramHeaders,
    wire: omitUndefined({
      name,
      title,
      description: description ?? title ?? name,
      inputSchema,
      outputSchema: output?.json,
      annotations,
      icons,
      _meta: meta,
    }),
  };
}
