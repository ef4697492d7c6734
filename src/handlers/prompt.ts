import type { RequestScope } from "./request-scope.ts";
import { accessRulesOf, type AccessRules } from "./access-rules.ts";
import { DEFAULT_TIMEOUT_MS, runHandlerCall } from "./run-handler-call.ts";
import { runCompleter, type Completer } from "./run-completer.ts";
import type { Context, Wants } from "./context.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import { invalid } from "../protocol/methods/params.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import type { CompletionQuery, SourcePrompt } from "../protocol/source.ts";
import { checkDefinition } from "./check-definition.ts";
import { createDefinition } from "./definition-errors.ts";
import { promptResult, type PromptReturn } from "./results.ts";

/**
 * One argument of a prompt. `Name` is the union of the prompt's argument names: a completer gets the values already
 * chosen, by these names.
 */
export interface PromptArgument<Name extends string = string> {
  /** Name shown to people. */
  readonly title?: string;
  /** Description of the argument, for people. */
  readonly description?: string;
  /** Whether a call must give the argument; false by default. */
  readonly required?: boolean;
  /** Proposes values while a person types the argument. */
  readonly complete?: Completer<Name>;
}

/** The arguments that a handler receives. An argument that is not required may be undefined. */
export type PromptArguments<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends { readonly required: true } ? string : string | undefined;
};

type DeclaredArguments = Readonly<Record<string, Omit<PromptArgument, "complete"> & { readonly complete?: unknown }>>;

/** `Name` is the union of the argument names. It is inferred before the completers are. */
export interface PromptOptions<
  Declared = DeclaredArguments,
  Name extends string = string,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends AccessRules<Settings> {
  /** Unique name, 1 to 128 characters. */
  readonly name: string;
  /** Name shown to people. */
  readonly title?: string;
  /** What the prompt does, for people. The default is `title`, or `name` if there is no `title`. */
  readonly description?: string;
  /** Icons as in the protocol: objects with `src`, and optionally `mimeType`, `sizes` and `theme`. */
  readonly icons?: readonly JsonObject[];
  /** The arguments by name. Their values are texts. */
  readonly arguments?: Declared & { readonly [One in Name]: PromptArgument<Name> };
  /** Returns the messages, within 60 seconds. A thrown `UserError` becomes an error with its text. */
  readonly handler: (
    args: PromptArguments<Declared>,
    ctx: Context<Env, Settings>,
  ) => PromptReturn | Promise<PromptReturn>;
}

export interface Prompt<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends SourcePrompt<RequestScope>, Wants<Env, Settings>, AccessRules<never> {
  readonly kind: "prompt";
}

/** Defines a prompt. Throws a TypeError that names the prompt and the rule when the definition is invalid. */
export function definePrompt<
  const Declared extends DeclaredArguments = typeof NO_PROMPT_ARGUMENTS,
  Name extends string = string,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
>(options: PromptOptions<Declared, Name, Env, Settings>): Prompt<Env, Settings> {
  return createDefinition(() => createPrompt(options as never) as Prompt<Env, Settings>);
}

declare const NO_PROMPT_ARGUMENTS: { readonly [name in never]: never };

interface UntypedPromptOptions extends Omit<PromptOptions, "arguments" | "handler"> {
  readonly arguments?: Readonly<Record<string, PromptArgument>>;
  readonly handler: (args: Record<string, string>, ctx: Context) => PromptReturn | Promise<PromptReturn>;
}

/** Like `definePrompt`, for a prompt that does not come from code: throws its errors under `wrangler dev` too. */
export function createPrompt(options = {} as UntypedPromptOptions): Prompt<never, never> {
  const { name, title, description, icons } = options;
  checkDefinition(`prompt "${name}"`, options, ["name", "handler"], "arguments handler");
  if (name === "" || name.length > 128) throw new TypeError(`prompt "${name}": a name must have 1 to 128 characters`);
  const declared = options.arguments ?? {};
  const listed = Object.entries(declared).map(
    ([argument, { title: argumentTitle, description: argumentDescription, required = false }]) =>
      omitUndefined({ name: argument, title: argumentTitle, description: argumentDescription, required }),
  );
  return {
    kind: "prompt",
    ...accessRulesOf(options),
    name,
    get: (args, request, requestScope) => runPromptHandler(options, args, request, requestScope),
    complete: (query, request, requestScope) => completeArgument(declared, query, request, requestScope),
    wire: omitUndefined({ name, title, description: description ?? title ?? name, arguments: listed, icons }),
  };
}

function runPromptHandler(
  { name, title, description, handler }: UntypedPromptOptions,
  args: Readonly<Record<string, string>>,
  request: McpRequest,
  requestScope: RequestScope,
): Promise<CallOutcome> {
  return runHandlerCall(
    {
      name,
      timeoutMs: DEFAULT_TIMEOUT_MS,
      handler: (ctx) => handler({ ...args }, ctx as never),
      toResult: (returned) => promptResult(returned, description ?? title ?? name),
    },
    request,
    requestScope,
  );
}

async function completeArgument(
  declared: Readonly<Record<string, PromptArgument>>,
  query: CompletionQuery,
  request: McpRequest,
  requestScope: RequestScope,
): Promise<readonly string[] | CallOutcome> {
  if (!Object.hasOwn(declared, query.name)) return invalid("argument.name", "is not an argument of the prompt");
  const completer = declared[query.name]?.complete;
  return completer ? runCompleter(completer, query, request, requestScope) : [];
}
