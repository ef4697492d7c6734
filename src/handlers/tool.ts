import type { RequestScope } from "./request-scope.ts";
import { accessRulesOf, type AccessRules } from "./access-rules.ts";
import { DEFAULT_TIMEOUT_MS, runHandlerCall } from "./run-handler-call.ts";
import { hasAtMost } from "./json-schema.ts";
import { createTypedConfig, type TypedConfig } from "./typed-config.ts";
import {
  compileSchema,
  objectSchema,
  type AnySchema,
  type CheckedSchema,
  type CompiledSchema,
  type Infer,
} from "./schema.ts";
import type { Context, Wants } from "./context.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { Resumable } from "../protocol/definition.ts";
import { collectParamHeaders, type ParamHeader } from "../protocol/headers.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { assertMemberTypes, omitUndefined } from "../protocol/members.ts";
import type { ToolOutcome } from "../protocol/call-outcome.ts";
import type { SourceTool } from "../protocol/source.ts";
import { checkDefinition } from "./check-definition.ts";
import { createDefinition } from "./definition-errors.ts";
import { toolResult } from "./results.ts";
import type { CheckedReturn, Returnable } from "./checked-return.ts";

/**
 * Hints for clients about a tool's effects. Clients may use them to decide when to ask the person; they are not enforced.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
export interface ToolAnnotations {
  /** Name shown to people by clients that do not read the tool's own `title`. */
  readonly title?: string;
  /** The tool changes nothing. Clients assume false by default. */
  readonly readOnlyHint?: boolean;
  /** The tool may delete or overwrite data. Clients assume true by default. */
  readonly destructiveHint?: boolean;
  /** Repeating a call with the same arguments has no further effect. Clients assume false by default. */
  readonly idempotentHint?: boolean;
  /** The tool interacts with external systems, such as the web. Clients assume true by default. */
  readonly openWorldHint?: boolean;
}

/** The type of a handler's arguments, inferred from the `input` schema where the schema carries types. */
export type ToolArguments<Input> = Infer<Input> extends object ? Infer<Input> : Record<string, unknown>;

export type ToolHandler<Args, Ctx, Returned> = (args: Args, ctx: Ctx) => Returned | Promise<Returned>;

/** The type that a `config` schema gives; `unknown` without a schema. */
type ConfigOf<Config> = [Config] extends [undefined] ? unknown : Infer<Config>;

export interface ToolOptions<
  Input = AnySchema,
  Output = AnySchema | undefined,
  Config = AnySchema | undefined,
  Returned = unknown,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends AccessRules<Settings> {
  /**
   * Unique name of 1 to 128 characters: A-Z, a-z, 0-9, `_`, `-` and `.`. Some clients reject the whole tool list if one
   * name has a `.` or more than 64 characters.
   */
  readonly name: string;
  /** Name shown to people. */
  readonly title?: string;
  /** Text for the model: what the tool does and when to use it. The default is `title`, or `name` if there is no `title`. */
  readonly description?: string;
  /** Icons as in the protocol: objects with `src`, and optionally `mimeType`, `sizes` and `theme`. */
  readonly icons?: readonly JsonObject[];
  /** Hints for clients about the tool's effects, such as `{ readOnlyHint: true }`. They are not enforced. */
  readonly annotations?: ToolAnnotations;
  /** The `_meta` of the tool in lists. */
  readonly meta?: JsonObject;
  /**
   * Schema of the arguments: zod 4, zod/mini or JSON Schema 2020-12 of type object. Without a schema, the tool
   * takes no arguments.
   */
  readonly input?: Input & CheckedSchema<Input>;
  /**
   * Schema of the structured content, in the same form as `input`. An object that the handler returns is validated against the
   * schema and sent as `structuredContent`. A request without `MCP-Protocol-Version`, such as a plain `curl`, counts as
   * 2025-03-26, which has no structured content.
   */
  readonly output?: Output & CheckedSchema<Output>;
  /**
   * Schema of the tenant's configuration for this tool. The configuration is an object that the handler reads from
   * `ctx.config`. Without a schema, `ctx.config` is not validated.
   */
  readonly config?: Config & CheckedSchema<Config>;
  /**
   * Time limit of one call in milliseconds: above 0, at most 3600000 (one hour); 60000 by default. Time that the client
   * takes to answer a question does not count.
   */
  readonly timeoutMs?: number;
  /**
   * Lets a client that lost its connection fetch the result later. The client needs a session: in era 2026 the option has no
   * effect. The call can run more than once: put work that must happen at most once into `ctx.once`.
   * False by default; `true` stands for `{ closeAfterMs: 25000, retryMs: 1000 }`.
   */
  readonly resumable?: boolean | Partial<Resumable>;
  /**
   * Runs the tool and returns a text, content blocks (`{ type: "text", text }`), an object, or a whole result (`{
   * content, structuredContent, isError }`). An object is sent as `structuredContent` and as text. A thrown `UserError`
   * becomes a result with `isError` and the error's text. For any other error the client gets only an id, and the error
   * itself is logged under that id.
   */
  readonly handler: ToolHandler<ToolArguments<Input>, Context<Env, Settings, ConfigOf<Config>>, Returned> &
    CheckedReturn<Output, Returned>;
  /** @deprecated Not an option: use `input`. */
  readonly inputSchema?: "use input";
  /** @deprecated Not an option: use `input`. */
  readonly parameters?: "use input";
  /** @deprecated Not an option: use `output`. */
  readonly outputSchema?: "use output";
  /** @deprecated Not an option: use `handler`. */
  readonly execute?: "use handler";
}

/** A tool to register. `Env` and `Settings` are the Worker bindings and tenant settings that the handler reads. */
export interface Tool<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends SourceTool<RequestScope>, Wants<Env, Settings>, AccessRules<never> {
  readonly kind: "tool";
  readonly config?: TypedConfig | undefined;
}

/** The parts of a definition that a call needs. */
interface CompiledTool {
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
/** Most values that the arguments of one call may hold. Validation time grows faster than their number. */
const MAX_MEMBERS = 20_000;
const TOO_MANY_VALUES = {
  path: "",
  expected: `at most ${MAX_MEMBERS} values`,
  received: "more",
  message: `arguments: at most ${MAX_MEMBERS} values`,
};
const NO_ARGUMENTS = { type: "object", properties: {} } as const;

/** Defines a tool. Throws a TypeError that names the tool, the member and the rule when the definition is invalid. */
export function defineTool<
  const Input extends AnySchema = typeof NO_ARGUMENTS,
  const Output extends AnySchema | undefined = undefined,
  const Config extends AnySchema | undefined = undefined,
  Returned extends Returnable = Returnable,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
>(options: ToolOptions<Input, Output, Config, Returned, Env, Settings>): Tool<Env, Settings> {
  return createDefinition(() => createTool(options as never) as Tool<Env, Settings>);
}

type UntypedToolOptions = Omit<ToolOptions, "handler"> & Pick<CompiledTool, "handler">;

function createTool(options = {} as UntypedToolOptions): Tool<never, never> {
  const { name } = options;
  const optionNames = "handler input output config timeoutMs resumable";
  checkDefinition(`tool "${name}"`, options, ["name", "handler"], optionNames);
  if (!NAME.test(name)) throw new TypeError(`tool "${name}": a name must be 1 to 128 of A-Z, a-z, 0-9, "_", "-", "."`);
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw new TypeError(`tool "${name}": timeoutMs must be a number above 0, at most ${MAX_TIMEOUT_MS}`);
  }
  const input = compileFor(`tool "${name}": input`, options.input ?? NO_ARGUMENTS);
  const output = options.output && compileFor(`tool "${name}": output`, options.output);
  const config =
    options.config && withErrorPrefix(`tool "${name}": config`, () => createTypedConfig(options.config as AnySchema));
  const parts: CompiledTool = { name, input, output, timeoutMs, handler: options.handler };
  return {
    kind: "tool",
    name,
    ...accessRulesOf(options),
    config,
    ...describeTool(options, input, output),
    resumable: resumableOf(name, options.resumable ?? false),
    // In era 2026 a handler runs again after each answer. Work that must not be done twice is therefore in `ctx.once`
    // anyway.
    repeatable: true,
    call: (args, request, requestScope) => runToolHandler(parts, args, request, requestScope),
  };
}

async function runToolHandler(
  { name, input, output, timeoutMs, handler }: CompiledTool,
  args: JsonObject,
  request: McpRequest,
  requestScope: RequestScope,
): Promise<ToolOutcome> {
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
  const withDefaults = { ...DEFAULT_RESUMABLE, ...(resumable === true ? {} : resumable) };
  const { closeAfterMs, retryMs } = withDefaults;
  if (closeAfterMs >= 0 && retryMs >= 0 && retryMs <= MAX_RETRY_MS) return withDefaults;
  throw new TypeError(`tool "${tool}": closeAfterMs must be 0 or more, and retryMs from 0 to ${MAX_RETRY_MS}`);
}

/** Reads `json` at definition, so that a schema without a JSON Schema form is rejected then and not at a request. */
function compileFor(what: string, schema: AnySchema): CompiledSchema {
  return withErrorPrefix(what, () => {
    const compiled = compileSchema(schema);
    const { json } = compiled;
    return { ...compiled, json };
  });
}

/** Returns what `make` returns. Prefixes the message of an error with `what`. */
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
  if (inputSchema.type !== "object") throw new TypeError(`tool "${options.name}": input must be a schema of an object`);
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
