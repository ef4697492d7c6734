// A view: everything that one principal sees of a tenant in one profile, over all of the tenant's sources. Computed
// once per policy version, profile and set of scopes; a request then only looks up names.

import type { ToolRestrictions } from "../auth/principal.ts";
import type { RequestScope, CatalogAccess } from "../handlers/request-scope.ts";
import type { Definitions } from "../protocol/request-handlers.ts";
import type { ServerInfo, ViewItem } from "../protocol/definition.ts";
import type { Failure } from "../protocol/errors.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { CacheHint } from "../protocol/call-outcome.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type {
  SourcePrompt,
  SourceResource,
  SourceTemplate,
  SourceTool,
  PagedResources,
  PageRequest,
  ResourcePage,
  Source,
} from "../protocol/source.ts";
import {
  renamingOf,
  type ProfileDocument,
  type ResultBudget,
  type TenantDocument,
} from "../tenants/document/tenant-document.ts";
import {
  fullGlobLength,
  isVisible,
  mayBeVisible,
  mergeScopes,
  type AccessFilter,
} from "../tenants/document/visibility.ts";
import { MAX_PATTERN_WORK, tooManyPatternsError } from "../resources/pattern-budget.ts";
import { tenantSettings, toolConfig } from "../handlers/check-config.ts";
import { deepFreeze } from "./deep-freeze.ts";
import {
  toViewItem,
  createNameLookup,
  suspensionNoteOf,
  deprecatedNamesOf,
  removeDuplicateNames,
} from "./listed-names.ts";
import { findUnavailable, unavailableMeta, type UnavailableSource } from "./unavailable-sources.ts";
import type { HiddenDefinitions } from "./hidden-definitions.ts";
import type { TenantCatalog } from "./tenant-catalog.ts";

export type ViewTool = ViewItem<SourceTool<RequestScope>>;
export type ViewPrompt = ViewItem<SourcePrompt<RequestScope>>;

/** A source's resources that are listed page by page. */
export interface ViewPagedResources {
  readonly source: string;
  readonly pagedResources: PagedResources<RequestScope>;
  readonly required: boolean;
}

export interface ViewListing {
  /** The id of the source, or the template. */
  readonly source: string;
  readonly required: boolean;
  /** undefined for the paged resources of a source. */
  readonly template?: SourceTemplate<RequestScope>;
  list(page: PageRequest, request: McpRequest, requestScope: RequestScope): Promise<ResourcePage>;
}

export interface View extends Definitions, CatalogAccess {
  readonly tools: readonly ViewTool[];
  readonly prompts: readonly ViewPrompt[];
  readonly templates: readonly SourceTemplate<RequestScope>[];
  readonly resources: readonly SourceResource<RequestScope>[];
  readonly resourcesByUri: ReadonlyMap<string, SourceResource<RequestScope>>;
  readonly pagedResources: readonly ViewPagedResources[];
  /** Everything that is listed page by page: first the templates' lists, then the sources' paged resources. */
  readonly listings: readonly ViewListing[];
  /** The template whose list decides which resources exist under this URI. */
  templateListing(uri: string): SourceTemplate<RequestScope> | undefined;
  readonly unavailable: readonly UnavailableSource[];
  readonly sources: readonly Source<RequestScope>[];
  /** Sources of which something is visible, or may be once their definitions are known. */
  readonly visibleSources: readonly Source<RequestScope>[];
  readonly resultBudget?: ResultBudget;
  readonly hidden?: HiddenDefinitions;
  tool(name: string, now: number): ViewTool | Failure | undefined;
  prompt(name: string, now: number): ViewPrompt | Failure | undefined;
}

/** The caller for whom a view is made. */
export interface ViewOptions {
  readonly profile: string | null;
  /** Names of the principal's scopes; undefined if no scope limits the principal. */
  readonly scopes: readonly string[] | undefined;
  readonly restrictions?: ToolRestrictions | undefined;
  /** Absent if every definition is visible to everyone. */
  readonly hidden?: HiddenDefinitions | undefined;
}

const NOTHING_ALLOWED = { allow: [] };

export function createView(tenantCatalog: TenantCatalog, options: ViewOptions): View {
  const { catalog, document, sources } = tenantCatalog;
  const profile = options.profile === null ? undefined : document.profiles?.[options.profile];
  const scopes = options.scopes?.flatMap((name) => document.scopes?.[name] ?? []);
  const effectiveProfile = options.restrictions?.toolsOnly
    ? { ...profile, prompts: NOTHING_ALLOWED, resources: NOTHING_ALLOWED }
    : profile;
  const filter: AccessFilter = { profile: effectiveProfile, scopes: scopes && [mergeScopes(scopes)] };
  checkPatternCost(tenantCatalog, filter);
  const input: ViewInput = { ...tenantCatalog, ...options, filter };
  const visibleSources = sources.filter((source) => isSourceVisible(input, source));
  const unavailable = findUnavailable(visibleSources, input);
  const cache = cacheHintOf(tenantCatalog, options, visibleSources);
  return {
    server: serverOf(catalog.server, document, profile),
    instructions: instructionsOf(
      profile?.instructions ?? document.instructions ?? catalog.instructions,
      visibleSources,
    ),
    cache,
    cacheScope: cache.cacheScope,
    ...visibleTools(input),
    ...visiblePrompts(input),
    ...visibleResources(input),
    sources,
    ...omitUndefined({ resultBudget: profile?.resultBudget, extensions: catalog.extensions, hidden: options.hidden }),
    visibleSources,
    unavailable,
    meta: unavailableMeta(unavailable),
    configOf: (tool) => deepFreeze(toolConfig(tenantCatalog, tool)),
    settings: () => deepFreeze(tenantSettings(tenantCatalog)),
  };
}

/** Throws when matching the patterns would block all other requests in the isolate. */
function checkPatternCost({ document, sources }: TenantCatalog, filter: AccessFilter): void {
  const inner = fullGlobLength(document, filter);
  if (inner === 0 || inner * totalNameLength(sources) <= MAX_PATTERN_WORK) return;
  throw tooManyPatternsError();
}

function totalNameLength(sources: readonly Source<RequestScope>[]): number {
  const sum = (lengths: readonly number[]) => lengths.reduce((total, one) => total + one, 0);
  return sum(
    sources.map(({ tools, prompts, resources, templates }) =>
      sum([
        ...[...tools, ...prompts].map(({ name }) => name.length),
        ...resources.map(({ uri }) => uri.length),
        ...templates.map(({ wire }) => wire.uriTemplate.length),
      ]),
    ),
  );
}

interface ViewInput extends TenantCatalog, ViewOptions {
  readonly filter: AccessFilter;
}

/**
 * Whether anything of the source is visible. A source without known names counts as visible if a name with its prefix
 * could be, or if nothing limits the visible resources.
 */
function isSourceVisible({ document, filter }: ViewInput, source: Source<RequestScope>): boolean {
  const { tools, prompts, resources, templates } = source;
  const names = {
    tools: tools.map(({ name }) => name),
    prompts: prompts.map(({ name }) => name),
    resources: [...resources.map(({ uri }) => uri), ...templates.map(({ wire }) => wire.uriTemplate)],
  };
  const kinds = ["tools", "prompts", "resources"] as const;
  if (kinds.some((kind) => names[kind].length > 0)) {
    return kinds.some((kind) => names[kind].some((name) => isVisible(document, filter, kind, name)));
  }
  const { prefix = "" } = source;
  const isUnrestricted = filter.scopes === undefined && filter.profile?.resources?.allow === undefined;
  const byName = (["tools", "prompts"] as const).some((kind) => mayBeVisible(filter, kind, prefix));
  return byName || source.shelf !== undefined || (isUnrestricted && mayBeVisible(filter, "resources", ""));
}

/** The items by name. The first of two items with the same name wins. */
function uniqueByName<T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, T> {
  const first = new Map<string, T>();
  for (const item of items) if (!first.has(nameOf(item))) first.set(nameOf(item), item);
  return first;
}

function visibleTools(input: ViewInput): Pick<View, "tools" | "tool"> {
  const { sources, policy, document, filter, profile, restrictions, hidden } = input;
  const all = uniqueByName(
    sources.flatMap(({ tools }) => tools),
    ({ name }) => name,
  );
  const hasSearch = filter.profile?.search ?? document.search ?? false;
  const visible = [...all.values()].filter((tool) => {
    const { name, only } = tool;
    return (
      !hidden?.definitions.has(tool) &&
      (only !== "search" || hasSearch) &&
      isVisible(document, filter, "tools", name) &&
      !isRestricted(restrictions, name, renamingOf(filter.profile?.tools, name)?.name)
    );
  });
  const listed = removeDuplicateNames(visible.map((tool) => toViewItem(tool, filter.profile?.tools)));
  const suspended = policy.suspensions.filter(({ kind }) => kind === "tool");
  const notes = new Map(suspended.map(({ name, note }) => [name, note]));
  return {
    tools: listed.filter(({ target }) => suspensionNoteOf(notes, target) === undefined),
    tool: createNameLookup(listed, {
      kind: "tool",
      // A deprecated name resolves to a tool that this caller sees under another name, and never to one that was
      // removed since.
      targets: new Map(visible.map((tool) => [tool.name, tool])),
      deprecated: deprecatedNamesOf(policy, "tools", profile),
      notes,
    }),
  };
}

/** A tool that is denied under either name stays denied when a profile renames it. */
function isRestricted(restrictions: ToolRestrictions | undefined, name: string, listed = name): boolean {
  return (
    restrictions !== undefined &&
    ([name, listed].some((one) => restrictions.deny.includes(one)) || restrictions.allow?.includes(listed) === false)
  );
}

function visiblePrompts({
  sources,
  policy,
  document,
  filter,
  profile,
  hidden,
}: ViewInput): Pick<View, "prompts" | "prompt"> {
  const all = uniqueByName(
    sources.flatMap(({ prompts }) => prompts),
    ({ name }) => name,
  );
  const visible = [...all.values()].filter(
    (prompt) => !hidden?.definitions.has(prompt) && isVisible(document, filter, "prompts", prompt.name),
  );
  const listed = removeDuplicateNames(visible.map((prompt) => toViewItem(prompt, filter.profile?.prompts)));
  return {
    prompts: listed,
    prompt: createNameLookup(listed, {
      kind: "prompt",
      targets: new Map(visible.map((prompt) => [prompt.name, prompt])),
      deprecated: deprecatedNamesOf(policy, "prompts", profile),
      notes: new Map(),
    }),
  };
}

type VisibleResources = Pick<
  View,
  | "resources"
  | "resourcesByUri"
  | "templates"
  | "pagedResources"
  | "listings"
  | "templateListing"
  | "resourcePatterns"
  | "sees"
>;

function visibleResources({ sources, document, filter, hidden }: ViewInput): VisibleResources {
  const hiddenDefinitions = hidden?.definitions;
  const hiddenUris =
    hiddenDefinitions &&
    new Set(
      sources.flatMap(({ resources }) => resources.filter((one) => hiddenDefinitions.has(one)).map(({ uri }) => uri)),
    );
  const isAllowedName = (name: string) => isVisible(document, filter, "resources", name) && !hiddenUris?.has(name);
  const scoped = filter.scopes && { allow: filter.scopes.flatMap(({ resources = [] }) => resources) };
  const byUri = uniqueByName(
    sources.flatMap(({ resources }) => resources).filter(({ uri }) => isAllowedName(uri)),
    ({ uri }) => uri,
  );
  const templates = uniqueByName(
    sources
      .flatMap((source) => source.templates)
      .filter((one) => isAllowedName(one.wire.uriTemplate) && !hiddenDefinitions?.has(one)),
    ({ wire }) => wire.uriTemplate,
  );
  const hiddenTemplates =
    hiddenDefinitions && sources.flatMap((source) => source.templates.filter((one) => hiddenDefinitions.has(one)));
  const deny = [...(hiddenUris ?? []), ...(hiddenTemplates ?? []).flatMap(({ glob }) => glob ?? [])];
  const only = [filter.profile?.resources, scoped, deny.length > 0 ? { deny } : undefined].filter(
    (patterns) => patterns !== undefined,
  );
  // A resource that only a hidden template matches is hidden too.
  const isVisibleUri = (uri: string) =>
    isAllowedName(uri) &&
    (!hiddenTemplates?.some(matchesUri(uri)) || byUri.has(uri) || [...templates.values()].some(matchesUri(uri)));
  const pagedResources = sources.flatMap(({ id, shelf, required = false }) =>
    shelf ? { source: id, pagedResources: shelf, required } : [],
  );
  const templateListings = [...templates.values()].flatMap((template) => templateListingOf(template) ?? []);
  return {
    resources: [...byUri.values()],
    resourcesByUri: byUri,
    templates: [...templates.values()],
    pagedResources,
    listings: [...templateListings, ...pagedResources.map(pagedListing)],
    templateListing: (uri) => templateListings.find(({ template }) => template.matches?.(uri))?.template,
    ...(only.length === 0 ? {} : { resourcePatterns: only }),
    sees: isVisibleUri,
  };
}

const matchesUri = (uri: string) => (template: SourceTemplate<RequestScope>) => template.matches?.(uri);

function templateListingOf(template: SourceTemplate<RequestScope>): Required<ViewListing> | undefined {
  const { listing, wire } = template;
  if (!listing) return undefined;
  const list: ViewListing["list"] = (page, request, requestScope) => listing.list(page, request, requestScope);
  return { source: wire.uriTemplate, required: false, template, list };
}

function pagedListing({ source, required, pagedResources }: ViewPagedResources): ViewListing {
  return { source, required, list: (page, _call, requestScope) => pagedResources.list(page, requestScope) };
}

function serverOf(server: ServerInfo, document: TenantDocument, profile: ProfileDocument | undefined): ServerInfo {
  const { title = document.title, description = document.description } = profile ?? {};
  const { icon: src } = document;
  return { ...server, ...omitUndefined({ title, description, icons: src === undefined ? src : [{ src }] }) };
}

/** The tenant's own instructions, then those of each source after the source's id. */
function instructionsOf(
  tenantInstructions: string | undefined,
  sources: readonly Source<RequestScope>[],
): string | undefined {
  const all = [tenantInstructions, ...sources.map(({ id, instructions }) => instructions && `${id}: ${instructions}`)];
  const texts = all.filter((text) => text !== undefined && text !== "");
  return texts.length === 0 ? tenantInstructions : texts.join("\n\n");
}

/** A list may be cached for as long as each part of it may. */
function cacheHintOf(
  { catalog, document, tenant }: TenantCatalog,
  { scopes, hidden }: ViewOptions,
  visibleSources: readonly Source<RequestScope>[],
): CacheHint {
  // Only an open tenant shows everyone the same list, apart from callers whose key has scopes.
  const isOpen = !catalog.isPrivate && (document.mode ?? "open") === "open";
  const isSame = isOpen && scopes === undefined && hidden === undefined;
  const hints = visibleSources.flatMap(({ cache }) => cache ?? []);
  return {
    ttlMs: Math.min(document.maxStalenessMs ?? tenant.maxStalenessMs, ...hints.map(({ ttlMs }) => ttlMs)),
    cacheScope: isSame && hints.every(({ cacheScope }) => cacheScope === "public") ? "public" : "private",
  };
}
