// Owns `defineResource` and `defineTemplate`: resources that live in code, and templates over code or stored ones.

import type { CallHost } from "../../calls/call-host.ts";
import { surrounded } from "../../calls/around.ts";
import { guardsOf, type Guarded } from "../../calls/guarded.ts";
import { DEFAULT_TIMEOUT_MS, handle } from "../../calls/handle.ts";
import { runCompleter, type Completer } from "../../calls/run-completer.ts";
import type { Context, Wants } from "../../calls/typed-context.ts";
import type { Call } from "../../protocol/call.ts";
import { failure } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { given } from "../../protocol/members.ts";
import { invalid } from "../../protocol/methods/params.ts";
import type { CallOutcome } from "../../protocol/outcome.ts";
import type { AskedUri, AskedValue, ServedResource, ServedTemplate } from "../../protocol/source.ts";
import { parseUri } from "../../protocol/uri.ts";
import { parseUriTemplate, type UriTemplate } from "../../protocol/uri-template.ts";
import { checkCompleters, checkListed } from "./check-listed.ts";
import { defined } from "./refuse.ts";
import { checkCache, withCache, type CacheOptions } from "./cache-hint.ts";
import { readResult, type ReadReturn } from "./contents.ts";
import { listingOf, type TemplateLister } from "./template-listing.ts";
import type { TemplateVariable, TemplateVariables } from "./template-variables.ts";

/** How many stored URIs are looked at for one completion. */
const MAX_STORED = 2000;
const DESCRIBED = "read mimeType cache";

export interface ResourceDescription<Settings = Tenantry.Settings> extends Guarded<Settings> {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
  /** How long clients of era 2026 may keep what is read; absent: they ask again each time. */
  readonly cache?: CacheOptions;
}

export interface ResourceOptions<
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends ResourceDescription<Settings> {
  readonly uri: string;
  /**
   * The content: `text`, `blob`, or what `read` gives. The first of `read`, `text` and `blob` that is given is used.
   */
  readonly text?: string;
  readonly blob?: Uint8Array;
  readonly read?: (ctx: Context<Env, Settings>) => ReadReturn | Promise<ReadReturn>;
}

export interface Resource<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends ServedResource<CallHost>, Wants<Env, Settings>, Guarded<never> {
  readonly kind: "resource";
}

export interface TemplateOptions<
  Template extends string = string,
  Env = Cloudflare.Env,
  Settings = Tenantry.Settings,
> extends ResourceDescription<Settings> {
  readonly uriTemplate: Template;
  /** By variable. A variable without a completer is completed from the stored URIs that match the template. */
  readonly complete?: {
    readonly [Name in TemplateVariable<Template>]?: Completer<TemplateVariable<Template>>;
  };
  /** It returns undefined where there is no such resource. A template without `read` describes stored resources. */
  readonly read?: (
    variables: TemplateVariables<Template>,
    ctx: Context<Env, Settings>,
  ) => ReadReturn | undefined | Promise<ReadReturn | undefined>;
  /** What there is, a page at a time; it needs `read`. Without it only stored resources are listed. */
  readonly list?: TemplateLister<Env, Settings>;
}

export interface ResourceTemplate<in Env = Cloudflare.Env, in Settings = Tenantry.Settings>
  extends ServedTemplate<CallHost>, Wants<Env, Settings>, Guarded<never> {
  readonly kind: "template";
}

/** What was written, whatever TypeScript makes of its functions. */
type WrittenTemplate = Omit<TemplateOptions<string, never, never>, "read" | "list"> & {
  readonly list?: TemplateLister<never, never>;
  readonly read?: (variables: Record<string, string>, ctx: never) => ReturnType<NonNullable<TemplateOptions["read"]>>;
};

function aboutWire({
  name,
  title,
  description,
  mimeType,
  annotations,
  icons,
  meta,
}: ResourceDescription<never>): JsonObject {
  return given({ name, title, description, mimeType, annotations, icons, _meta: meta });
}

/** Throws a TypeError that names the resource and the rule when the definition cannot be served. */
export function defineResource<Env = Cloudflare.Env, Settings = Tenantry.Settings>(
  options: ResourceOptions<Env, Settings>,
): Resource<Env, Settings> {
  return defined(() => createResource(options as never) as Resource<Env, Settings>);
}

function createResource(options = {} as ResourceOptions<never, never>): Resource<never, never> {
  checkListed(`resource "${options.uri}"`, options, ["name", "uri"], `uri text blob ${DESCRIBED}`);
  checkCache(`resource "${options.uri}"`, options.cache);
  const parsed = parseUri(options.uri);
  if ("broken" in parsed) throw new TypeError(`resource "${options.uri}": ${parsed.broken}`);
  const fixed = options.read ? undefined : (options.text ?? options.blob);
  const read = options.read ?? (fixed === undefined ? undefined : () => fixed);
  if (!read) throw new TypeError(`resource "${options.uri}": needs text, blob or read`);
  const size = typeof fixed === "string" ? new TextEncoder().encode(fixed).byteLength : fixed?.byteLength;
  return {
    kind: "resource",
    ...guardsOf(options),
    uri: parsed.uri,
    wire: given({ uri: parsed.uri, ...aboutWire(options), size }),
    read: (asked, call, host) => readThrough(read, options, { asked, call, host }) as Promise<CallOutcome>,
  };
}

/** Throws a TypeError that names the template and the rule when the definition cannot be served. */
export function defineTemplate<const Template extends string, Env = Cloudflare.Env, Settings = Tenantry.Settings>(
  options: TemplateOptions<Template, Env, Settings>,
): ResourceTemplate<Env, Settings> {
  return defined(() => createTemplate(options as never) as ResourceTemplate<Env, Settings>);
}

function createTemplate(options = {} as WrittenTemplate): ResourceTemplate<never, never> {
  const what = `template "${options.uriTemplate}"`;
  checkListed(what, options, ["name", "uriTemplate"], `uriTemplate complete list ${DESCRIBED}`);
  checkCache(what, options.cache);
  const template = parseUriTemplate(options.uriTemplate);
  if ("broken" in template) throw new TypeError(`${what}: ${template.broken}`);
  const names = template.variables;
  if (names.length === 0) throw new TypeError(`${what}: has no variable`);
  checkCompleters(`${what}: complete`, options.complete ?? {}, names.join(" "));
  const { uriTemplate, read, list } = options;
  if (list && !read) throw new TypeError(`${what}: list is a function, and needs read`);
  return {
    kind: "template",
    ...guardsOf(options),
    wire: { uriTemplate, ...aboutWire(options) },
    ...(read && { glob: template.glob, matches: (uri) => template.match(uri) !== undefined }),
    ...(list && { listing: listingOf(uriTemplate, template, list) }),
    read: async (asked, call, host) => {
      const variables = read && template.match(asked.uri);
      return variables && readTemplate(options, variables, { asked, call, host });
    },
    complete: (asked, call, host) => completeVariable(options, template, asked, { call, host }),
  };
}

/** What is around a template's own reads is known only when it has matched. */
async function readTemplate(
  { read, around, ...about }: WrittenTemplate,
  variables: Record<string, string>,
  asking: { readonly asked: AskedUri; readonly call: Call; readonly host: CallHost },
): Promise<CallOutcome | undefined> {
  const { asked, call, host } = asking;
  const none = failure("resourceNotFound", "Resource not found", { uri: asked.asked });
  const found = async () => (await readThrough((ctx) => read?.(variables, ctx), about, asking)) ?? none;
  const surrounding = { name: asked.uri, call, host, own: around, repeatable: true, isInner: true };
  const outcome = await surrounded(surrounding, found);
  return outcome === none ? undefined : outcome;
}

/** undefined: the `read` of a template gave nothing. */
async function readThrough(
  read: (ctx: never) => ReadReturn | undefined | Promise<ReadReturn | undefined>,
  about: ResourceDescription<never>,
  { asked, call, host }: { readonly asked: AskedUri; readonly call: Call; readonly host: CallHost },
): Promise<CallOutcome | undefined> {
  const { mimeType, cache } = about;
  let missing = false;
  const most = host.limits.resultBytes;
  const outcome = await handle(
    {
      timeoutMs: DEFAULT_TIMEOUT_MS,
      name: asked.uri,
      // Bytes that come later come within the time of the call.
      work: async (ctx) => {
        const body = await read(ctx as never);
        missing = body === undefined && "uriTemplate" in about;
        return readResult(missing ? "" : (body as ReadReturn), {
          uri: asked.asked,
          mimeType,
          most,
          signal: () => ctx.signal,
        });
      },
      finish: (result) => ({ result }),
    },
    call,
    host,
  );
  return missing ? undefined : withCache(outcome, cache, host);
}

async function completeVariable(
  { complete = {} }: WrittenTemplate,
  template: UriTemplate,
  asked: AskedValue,
  { call, host }: { readonly call: Call; readonly host: CallHost },
): Promise<readonly string[] | CallOutcome> {
  const { name } = asked;
  if (!template.variables.includes(name)) return invalid("argument.name", "is no variable of the template");
  const own = Object.hasOwn(complete, name) ? complete[name] : undefined;
  return runCompleter(own ?? (() => storedValues(template, asked, host)), asked, call, host);
}

/** The values of one variable among stored URIs that agree with the variables already chosen. */
async function storedValues(
  template: UriTemplate,
  { name, value, known }: AskedValue,
  host: CallHost,
): Promise<readonly string[]> {
  // What was typed up to the first reserved character: a URI may hold that one as it is or escaped.
  const [plain = ""] = /^[\w.~\-\u0080-\uffff]*/.exec(value.toWellFormed()) ?? [];
  const typed = template.leadingVariable === name ? encodeURIComponent(plain) : "";
  const uris = await host.resources().uris(template.literalPrefix + typed, MAX_STORED);
  const values = new Set<string>();
  for (const uri of uris) {
    const variables = template.match(uri);
    const candidate = variables?.[name];
    if (!variables || candidate === undefined || !candidate.startsWith(value)) continue;
    if (Object.entries(known).every(([other, chosen]) => other === name || variables[other] === chosen)) {
      values.add(candidate);
    }
  }
  return [...values];
}
