// Owns `defineTool`: what the author of a tool writes, checked once, and the definition that is listed.

import type { CallHost } from "../../calls/call-host.ts";
import { guardsOf, type Guarded } from "../../calls/guarded.ts";
import { DEFAULT_TIMEOUT_MS, handle } from "../../calls/handle.ts";
import { hasAtMost } from "../../calls/json-schema.ts";
import { configuredBy, type Configured } from "../../calls/configured.ts";
import { compileSchema, objectSchema, type AnySchema, type CompiledSchema, type Infer } from "../../calls/schema.ts";
import type { Context, Wants } from "../../calls/typed-context.ts";
import type { Call } from "../../protocol/call.ts";
import type { Resumable } from "../../protocol/definition.ts";
import { collectParamHeaders, type ParamHeader } from "../../protocol/headers.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { checkShape, given } from "../../protocol/members.ts";
import type { CallOutcome, InvalidArguments } from "../../protocol/outcome.ts";
import type { ServedTool } from "../../protocol/source.ts";
import { checkListed } from "./check-listed.ts";
import { defined } from "./refuse.ts";
import { toolResult } from "./results.ts";
import type { CheckedReturn, Returnable } from "./returned.ts";

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
type ConfigBy<Config> = [Config] extends [undefined] ? unknown : Infer<Config>;

export interface ToolOptions<
  Input = AnySchema,
  Output = AnySchema | undefined,
  Config = AnySchema | undefined,
  Returned = unknown,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends Guarded<Settings> {
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
  readonly handler: ToolHandler<ToolArguments<Input>, Context<Env, Settings, ConfigBy<Config>>, Returned> &
    CheckedReturn<Output, Returned>;
}

/** `Env`, `Settings`: what its handler reads of the Worker and its tenants. */
export interface Tool<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends ServedTool<CallHost>, Wants<Env, Settings>, Guarded<never> {
  readonly kind: "tool";
  readonly config?: Configured | undefined;
}

/** What a call needs to know of its tool. */
interface Written {
  readonly name: string;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  readonly timeoutMs: number;
  readonly handler: (args: never, ctx: never) => unknown;
}

const MAX_TIMEOUT_MS = 3_600_000;
const RESUMABLE: Resumable = { closeAfterMs: 25_000, retryMs: 1000 };
const MAX_RETRY_MS = 60_000;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
/** How many values the arguments of one call may hold: the time to validate them grows faster than their number. */
const MAX_MEMBERS = 20_000;
const TOO_MANY = {
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
  return defined(() => createTool(options as never) as Tool<Env, Settings>);
}

/** What was written, whatever TypeScript makes of its handler. */
type WrittenOptions = Omit<ToolOptions, "handler"> & Pick<Written, "handler">;

function createTool(options = {} as WrittenOptions): Tool<never, never> {
  const { name } = options;
  const known = "handler input output config timeoutMs resumable";
  checkListed(`tool "${name}"`, options, ["name", "handler"], known);
  if (!NAME.test(name)) throw new TypeError(`tool "${name}": a name is 1 to 128 of A-Z, a-z, 0-9, "_", "-", "."`);
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw new TypeError(`tool "${name}": timeoutMs is a number above 0, at most ${MAX_TIMEOUT_MS}`);
  }
  const input = compileFor(`tool "${name}": input`, options.input ?? NO_ARGUMENTS);
  const output = options.output && compileFor(`tool "${name}": output`, options.output);
  const config = options.config && saidOf(`tool "${name}": config`, () => configuredBy(options.config as AnySchema));
  const written: Written = { name, input, output, timeoutMs, handler: options.handler };
  return {
    kind: "tool",
    name,
    ...guardsOf(options),
    config,
    ...describe(options, input, output),
    resumable: resumableOf(name, options.resumable ?? false),
    // A handler of era 2026 runs again after each answer, so what must not be done twice is in `ctx.once` anyway.
    repeatable: true,
    call: (args, call, host) => callTool(written, args, call, host),
  };
}

async function callTool(
  { name, input, output, timeoutMs, handler }: Written,
  args: JsonObject,
  call: Call,
  host: CallHost,
): Promise<CallOutcome | InvalidArguments> {
  if (!hasAtMost(MAX_MEMBERS, args)) return { kind: "invalidArguments", violations: [TOO_MANY] };
  const checked = await input.validate(args);
  if ("violations" in checked) return { kind: "invalidArguments", violations: checked.violations };
  return handle(
    {
      name,
      timeoutMs,
      work: (ctx) => handler(checked.value as never, ctx as never),
      finish: (returned) => toolResult(returned, output),
      hasOutput: output !== undefined,
    },
    call,
    host,
  );
}

function resumableOf(tool: string, resumable: boolean | Partial<Resumable>): Resumable | undefined {
  if (resumable === false) return undefined;
  if (resumable !== true) checkShape(`tool "${tool}": resumable`, resumable, "closeAfterMs retryMs");
  const whole = { ...RESUMABLE, ...(resumable === true ? {} : resumable) };
  const { closeAfterMs, retryMs } = whole;
  if (closeAfterMs >= 0 && retryMs >= 0 && retryMs <= MAX_RETRY_MS) return whole;
  throw new TypeError(`tool "${tool}": closeAfterMs is 0 or more, retryMs from 0 to ${MAX_RETRY_MS}`);
}

/** Writes the JSON Schema at definition, so that a schema that has none is refused there and not at a request. */
function compileFor(what: string, schema: AnySchema): CompiledSchema {
  return saidOf(what, () => {
    const compiled = compileSchema(schema);
    const { json } = compiled;
    return { ...compiled, json };
  });
}

/** What `make` returns; where it throws, that says of what. */
export function saidOf<T>(what: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const why = (error as Error).message;
    throw new TypeError(/^[\w$.]+: /.test(why) ? `${what}.${why}` : `${what}: ${why}`, { cause: error });
  }
}

function describe(
  options: WrittenOptions,
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
    wire: given({
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
