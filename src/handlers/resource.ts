import type { RequestScope } from "./request-scope.ts";
import { applyAround } from "./around.ts";
import { accessRulesOf, type AccessRules } from "./access-rules.ts";
import { DEFAULT_TIMEOUT_MS, runHandlerCall } from "./run-handler-call.ts";
import { runCompleter, type Completer } from "./run-completer.ts";
import type { Context, Wants } from "./context.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import { invalid } from "../protocol/methods/params.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import type { ResourceRef, CompletionQuery, SourceResource, SourceTemplate } from "../protocol/source.ts";
import { parseUri } from "../protocol/uri.ts";
import { parseUriTemplate, type UriTemplate } from "../protocol/uri-template.ts";
import { checkCompleters, checkDefinition } from "./check-definition.ts";
import { createDefinition } from "./definition-errors.ts";
import { checkCache, withCache, type CacheOptions } from "./cache-hint.ts";
import { toReadResult, type ReadReturn } from "./resource-contents.ts";
import { createTemplateListing, type TemplateLister } from "./template-listing.ts";
import type { TemplateVariable, TemplateVariables } from "./template-variables.ts";

/** Most stored URIs that one completion reads. */
const MAX_STORED_URIS = 2000;
const COMMON_OPTIONS = "read mimeType cache";

export interface ResourceDescription<Settings = Tenantry.Settings> extends AccessRules<Settings> {
  /** Short name, such as `rules.md`. Clients show it if there is no `title`. */
  readonly name: string;
  /** Name shown to people. */
  readonly title?: string;
  /** Text for the model: what the content is, and when to read it. No description by default. */
  readonly description?: string;
  /** MIME type of contents for which `read` returns no `mimeType`. */
  readonly mimeType?: string;
  /** Annotations as in the protocol: `audience`, `priority` from 0 to 1, `lastModified` in ISO 8601. */
  readonly annotations?: JsonObject;
  /** Icons as in the protocol: objects with `src`, and optionally `mimeType`, `sizes` and `theme`. */
  readonly icons?: readonly JsonObject[];
  /** The `_meta` of the resource in lists. */
  readonly meta?: JsonObject;
  /** How long clients of era 2026 may cache the content. Without `cache`, they read it again each time. */
  readonly cache?: CacheOptions;
}

interface ResourceContentOptions<Env, Settings> extends ResourceDescription<Settings> {
  /** Absolute URI of the resource, such as `notes://all`. */
  readonly uri: string;
  /** The content as text. Not used if there is a `read`. */
  readonly text?: string;
  /** The content as bytes. Not used if there is a `read` or `text`. */
  readonly blob?: Uint8Array;
  /** Produces the content at each request, within 60 seconds. */
  readonly read?: (ctx: Context<Env, Settings>) => ReadReturn | Promise<ReadReturn>;
}

interface ResourceWithText<Env, Settings> extends ResourceContentOptions<Env, Settings> {
  readonly text: string;
}

interface ResourceWithBlob<Env, Settings> extends ResourceContentOptions<Env, Settings> {
  readonly blob: Uint8Array;
}

interface ResourceWithRead<Env, Settings> extends ResourceContentOptions<Env, Settings> {
  readonly read: (ctx: Context<Env, Settings>) => ReadReturn | Promise<ReadReturn>;
}

/** One of `text`, `blob` and `read` is required. Indexed, so that the compiler prints the three types in an error. */
export type ResourceOptions<Env = Cloudflare.Env, Settings = Tenantry.Settings> = [
  ResourceWithText<Env, Settings>,
  ResourceWithBlob<Env, Settings>,
  ResourceWithRead<Env, Settings>,
][number];

export interface Resource<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends SourceResource<RequestScope>, Wants<Env, Settings>, AccessRules<never> {
  readonly kind: "resource";
}

export interface TemplateOptions<
  Template extends string = string,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends ResourceDescription<Settings> {
  /** URI template (RFC 6570) with at least one variable, such as `notes://{id}`. */
  readonly uriTemplate: Template;
  /**
   * Completers by variable name. A variable without a completer is completed from stored URIs that match the template.
   */
  readonly complete?: {
    readonly [Name in TemplateVariable<Template>]?: Completer<TemplateVariable<Template>>;
  };
  /**
   * Reads the resource for these variables. Returns undefined if there is no such resource. A template without `read`
   * describes stored resources.
   */
  readonly read?: (
    variables: TemplateVariables<Template>,
    ctx: Context<Env, Settings>,
  ) => ReadReturn | undefined | Promise<ReadReturn | undefined>;
  /**
   * Lists the resources of the template, one page at a time; needs `read`. Without `list`, clients see only stored
   * resources of the template.
   */
  readonly list?: TemplateLister<Env, Settings>;
}

export interface ResourceTemplate<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends SourceTemplate<RequestScope>, Wants<Env, Settings>, AccessRules<never> {
  readonly kind: "template";
}

type UntypedTemplateOptions = Omit<TemplateOptions<string, never, never>, "read" | "list"> & {
  readonly list?: TemplateLister<never, never>;
  readonly read?: (variables: Record<string, string>, ctx: never) => ReturnType<NonNullable<TemplateOptions["read"]>>;
};

function describeResource({
  name,
  title,
  description,
  mimeType,
  annotations,
  icons,
  meta,
}: ResourceDescription<never>): JsonObject {
  return omitUndefined({ name, title, description, mimeType, annotations, icons, _meta: meta });
}

/** Defines a resource. Throws a TypeError that names the resource and the rule when the definition is invalid. */
export function defineResource<Env = Cloudflare.Env, Settings = Tenantry.Settings>(
  options: ResourceOptions<Env, Settings>,
): Resource<Env, Settings> {
  return createDefinition(() => createResource(options as never) as Resource<Env, Settings>);
}

function createResource(options = {} as ResourceOptions<never, never>): Resource<never, never> {
  checkDefinition(`resource "${options.uri}"`, options, ["name", "uri"], `uri text blob ${COMMON_OPTIONS}`);
  checkCache(`resource "${options.uri}"`, options.cache);
  const parsed = parseUri(options.uri);
  if ("broken" in parsed) throw new TypeError(`resource "${options.uri}": ${parsed.broken}`);
  const staticBody = options.read ? undefined : (options.text ?? options.blob);
  const read = options.read ?? (staticBody === undefined ? undefined : () => staticBody);
  if (!read) throw new TypeError(`resource "${options.uri}": needs text, blob or read`);
  const size =
    typeof staticBody === "string" ? new TextEncoder().encode(staticBody).byteLength : staticBody?.byteLength;
  return {
    kind: "resource",
    ...accessRulesOf(options),
    uri: parsed.uri,
    wire: omitUndefined({ uri: parsed.uri, ...describeResource(options), size }),
    read: (ref, request, requestScope) =>
      runRead(read, options, { ref, request, requestScope }) as Promise<CallOutcome>,
  };
}

/** Defines a template. Throws a TypeError that names the template and the rule when the definition is invalid. */
export function defineTemplate<const Template extends string, Env = Cloudflare.Env, Settings = Tenantry.Settings>(
  options: TemplateOptions<Template, Env, Settings>,
): ResourceTemplate<Env, Settings> {
  return createDefinition(() => createTemplate(options as never) as ResourceTemplate<Env, Settings>);
}

function createTemplate(options = {} as UntypedTemplateOptions): ResourceTemplate<never, never> {
  const what = `template "${options.uriTemplate}"`;
  checkDefinition(what, options, ["name", "uriTemplate"], `uriTemplate complete list ${COMMON_OPTIONS}`);
  checkCache(what, options.cache);
  const template = parseUriTemplate(options.uriTemplate);
  if ("broken" in template) throw new TypeError(`${what}: ${template.broken}`);
  const names = template.variables;
  if (names.length === 0) throw new TypeError(`${what}: must have a variable`);
  checkCompleters(`${what}: complete`, options.complete ?? {}, names.join(" "));
  const { uriTemplate, read, list } = options;
  if (list && !read) throw new TypeError(`${what}: list needs read`);
  return {
    kind: "template",
    ...accessRulesOf(options),
    wire: { uriTemplate, ...describeResource(options) },
    ...(read && { glob: template.glob, matches: (uri) => template.match(uri) !== undefined }),
    ...(list && { listing: createTemplateListing(uriTemplate, template, list) }),
    read: async (ref, request, requestScope) => {
      const variables = read && template.match(ref.uri);
      return variables && readTemplate(options, variables, { ref, request, requestScope });
    },
    complete: (query, request, requestScope) => completeVariable(options, template, query, { request, requestScope }),
  };
}

/** Applies the template's own `around` here, because the template is known only after it has matched. */
async function readTemplate(
  { read, around, ...about }: UntypedTemplateOptions,
  variables: Record<string, string>,
  callContext: { readonly ref: ResourceRef; readonly request: McpRequest; readonly requestScope: RequestScope },
): Promise<CallOutcome | undefined> {
  const { ref, request, requestScope } = callContext;
  const notFound = failure("resourceNotFound", "Resource not found", { uri: ref.asked });
  const readMatched = async () => (await runRead((ctx) => read?.(variables, ctx), about, callContext)) ?? notFound;
  const aroundCall = { name: ref.uri, call: request, requestScope, own: around, repeatable: true, isInner: true };
  const outcome = await applyAround(aroundCall, readMatched);
  return outcome === notFound ? undefined : outcome;
}

/** Returns undefined when the `read` of a template returns undefined. */
async function runRead(
  read: (ctx: never) => ReadReturn | undefined | Promise<ReadReturn | undefined>,
  about: ResourceDescription<never>,
  {
    ref,
    request,
    requestScope,
  }: { readonly ref: ResourceRef; readonly request: McpRequest; readonly requestScope: RequestScope },
): Promise<CallOutcome | undefined> {
  const { mimeType, cache } = about;
  let isMissing = false;
  const maxBytes = requestScope.limits.resultBytes;
  const outcome = await runHandlerCall(
    {
      timeoutMs: DEFAULT_TIMEOUT_MS,
      name: ref.uri,
      // Reads streamed bytes inside the handler, so that the call's time limit covers them.
      handler: async (ctx) => {
        const body = await read(ctx as never);
        isMissing = body === undefined && "uriTemplate" in about;
        return toReadResult(isMissing ? "" : (body as ReadReturn), {
          uri: ref.asked,
          mimeType,
          maxBytes,
          signal: () => ctx.signal,
        });
      },
      toResult: (result) => ({ result }),
    },
    request,
    requestScope,
  );
  return isMissing ? undefined : withCache(outcome, cache, requestScope);
}

async function completeVariable(
  { complete = {} }: UntypedTemplateOptions,
  template: UriTemplate,
  query: CompletionQuery,
  { request, requestScope }: { readonly request: McpRequest; readonly requestScope: RequestScope },
): Promise<readonly string[] | CallOutcome> {
  const { name } = query;
  if (!template.variables.includes(name)) return invalid("argument.name", "is not a variable of the template");
  const completer = Object.hasOwn(complete, name) ? complete[name] : undefined;
  return runCompleter(
    completer ?? (() => completeFromStored(template, query, requestScope)),
    query,
    request,
    requestScope,
  );
}

/** The values of one variable among stored URIs that agree with the variables already chosen. */
async function completeFromStored(
  template: UriTemplate,
  { name, value, known: chosenValues }: CompletionQuery,
  requestScope: RequestScope,
): Promise<readonly string[]> {
  // Only the part before the first reserved character: a stored URI may hold that character as it is or escaped.
  const [unreserved = ""] = /^[\w.~\-\u0080-\uffff]*/.exec(value.toWellFormed()) ?? [];
  const encodedPrefix = template.leadingVariable === name ? encodeURIComponent(unreserved) : "";
  const uris = await requestScope.resources().uris(template.literalPrefix + encodedPrefix, MAX_STORED_URIS);
  const values = new Set<string>();
  for (const uri of uris) {
    const variables = template.match(uri);
    const candidate = variables?.[name];
    if (!variables || candidate === undefined || !candidate.startsWith(value)) continue;
    if (Object.entries(chosenValues).every(([other, chosen]) => other === name || variables[other] === chosen)) {
      values.add(candidate);
    }
  }
  return [...values];
}
