// Owns a view: what one principal sees of a tenant in one profile, over all of the tenant's sources. Computed once for
// each policy version, profile and set of scopes; then names are only looked up.

import type { Narrowing } from "../../auth/principal.ts";
import type { CallHost, Sight } from "../../calls/call-host.ts";
import type { Definitions } from "../../protocol/backend.ts";
import type { PromptDefinition, ServerInfo, ToolDefinition } from "../../protocol/definition.ts";
import type { Failure } from "../../protocol/errors.ts";
import { given } from "../../protocol/members.ts";
import type { CacheHint } from "../../protocol/outcome.ts";
import type { Call } from "../../protocol/call.ts";
import type {
  ServedPrompt,
  ServedResource,
  ServedTemplate,
  ServedTool,
  Shelf,
  ShelfAsk,
  ShelfPage,
  Source,
} from "../../protocol/source.ts";
import {
  renamingOf,
  type ProfileDocument,
  type ResultBudget,
  type TenantDocument,
} from "../../tenants/document/tenant-document.ts";
import { innerLength, isVisible, mayBeVisible, scopesAsOne, type Eyes } from "../../tenants/document/visibility.ts";
import { MOST_WORK, tooManyPatterns } from "../store/pattern-work.ts";
import { tenantSettings, toolConfig } from "../define/check-config.ts";
import { frozen } from "./frozen.ts";
import { listNamed, lookUpName, noteOn, retiredIn, withoutTakenNames, type Listed } from "./listed-names.ts";
import { missingIn, missingMeta, type Missing } from "./missing.ts";
import type { Hidden } from "./hidden.ts";
import type { Offer } from "./sources.ts";

export type ListedTool = ToolDefinition & Listed<ServedTool<CallHost>>;
export type ListedPrompt = PromptDefinition & Listed<ServedPrompt<CallHost>>;

/** A source's resources that are listed page by page. */
export interface ViewedShelf {
  readonly source: string;
  readonly shelf: Shelf<CallHost>;
  readonly required: boolean;
}

export interface ViewedListing {
  /** The id of the source, or the template. */
  readonly source: string;
  readonly required: boolean;
  /** undefined: of a shelf. */
  readonly template?: ServedTemplate<CallHost>;
  list(page: ShelfAsk, call: Call, host: CallHost): Promise<ShelfPage>;
}

export interface View extends Definitions, Sight {
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
  readonly templates: readonly ServedTemplate<CallHost>[];
  readonly resources: readonly ServedResource<CallHost>[];
  readonly resourcesByUri: ReadonlyMap<string, ServedResource<CallHost>>;
  readonly shelves: readonly ViewedShelf[];
  /** What is listed page by page: what templates list, then the shelves. */
  readonly listings: readonly ViewedListing[];
  /** The template that alone says what there is under this URI. */
  lister(uri: string): ServedTemplate<CallHost> | undefined;
  readonly missing: readonly Missing[];
  readonly sources: readonly Source<CallHost>[];
  /** Those of which anything is seen, or may be once it is known. */
  readonly shown: readonly Source<CallHost>[];
  readonly resultBudget?: ResultBudget;
  readonly hidden?: Hidden;
  tool(name: string, now: number): ListedTool | Failure | undefined;
  prompt(name: string, now: number): ListedPrompt | Failure | undefined;
}

/** For whom a view is made. */
export interface Seen {
  readonly profile: string | null;
  /** Names of the principal's scopes; undefined: nothing limits the principal. */
  readonly scopes: readonly string[] | undefined;
  readonly narrowing?: Narrowing | undefined;
  /** Absent where everything is there for everybody. */
  readonly hidden?: Hidden | undefined;
}

const NONE = { allow: [] };

export function viewOf(offer: Offer, seen: Seen): View {
  const { catalog, document, sources } = offer;
  const profile = seen.profile === null ? undefined : document.profiles?.[seen.profile];
  const scopes = seen.scopes?.flatMap((name) => document.scopes?.[name] ?? []);
  const seenIn = seen.narrowing?.toolsOnly ? { ...profile, prompts: NONE, resources: NONE } : profile;
  const eyes: Eyes = { profile: seenIn, scopes: scopes && [scopesAsOne(scopes)] };
  checkWork(offer, eyes);
  const looking: Looking = { ...offer, ...seen, eyes };
  const shown = sources.filter((source) => hasPartIn(looking, source));
  const missing = missingIn(shown, looking);
  const cache = cacheOf(offer, seen, shown);
  return {
    server: serverOf(catalog.server, document, profile),
    instructions: instructionsOf(profile?.instructions ?? document.instructions ?? catalog.instructions, shown),
    cache,
    cacheScope: cache.cacheScope,
    ...toolsSeen(looking),
    ...promptsSeen(looking),
    ...resourcesSeen(looking),
    sources,
    ...given({ resultBudget: profile?.resultBudget, extensions: catalog.extensions, hidden: seen.hidden }),
    shown,
    missing,
    meta: missingMeta(missing),
    configOf: (tool) => frozen(toolConfig(offer, tool)),
    settings: () => frozen(tenantSettings(offer)),
  };
}

/** Throws where making the view would keep everybody in the isolate waiting. */
function checkWork({ document, sources }: Offer, eyes: Eyes): void {
  const inner = innerLength(document, eyes);
  if (inner === 0 || inner * namesLength(sources) <= MOST_WORK) return;
  throw tooManyPatterns();
}

function namesLength(sources: readonly Source<CallHost>[]): number {
  const sum = (lengths: readonly number[]) => lengths.reduce((all, one) => all + one, 0);
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

interface Looking extends Offer, Seen {
  readonly eyes: Eyes;
}

/**
 * Whether anything of the source is seen. Of one that has nothing by name, as far as is known, whether something may be:
 * by what its names would begin with, or because nothing says which resources are seen.
 */
function hasPartIn({ document, eyes }: Looking, source: Source<CallHost>): boolean {
  const { tools, prompts, resources, templates } = source;
  const names = {
    tools: tools.map(({ name }) => name),
    prompts: prompts.map(({ name }) => name),
    resources: [...resources.map(({ uri }) => uri), ...templates.map(({ wire }) => wire.uriTemplate)],
  };
  const kinds = ["tools", "prompts", "resources"] as const;
  if (kinds.some((kind) => names[kind].length > 0)) {
    return kinds.some((kind) => names[kind].some((name) => isVisible(document, eyes, kind, name)));
  }
  const { prefix = "" } = source;
  const isOpen = eyes.scopes === undefined && eyes.profile?.resources?.allow === undefined;
  const byName = (["tools", "prompts"] as const).some((kind) => mayBeVisible(eyes, kind, prefix));
  return byName || source.shelf !== undefined || (isOpen && mayBeVisible(eyes, "resources", ""));
}

/** The items by name; of two with the same name the first one. */
function firstOfEach<T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, T> {
  const first = new Map<string, T>();
  for (const item of items) if (!first.has(nameOf(item))) first.set(nameOf(item), item);
  return first;
}

function toolsSeen(looking: Looking): Pick<View, "tools" | "tool"> {
  const { sources, policy, document, eyes, profile, narrowing, hidden } = looking;
  const all = firstOfEach(
    sources.flatMap(({ tools }) => tools),
    ({ name }) => name,
  );
  const isSearched = eyes.profile?.search ?? document.search ?? false;
  const visible = [...all.values()].filter((tool) => {
    const { name, only } = tool;
    return (
      !hidden?.things.has(tool) &&
      (only !== "search" || isSearched) &&
      isVisible(document, eyes, "tools", name) &&
      !isLeftOut(narrowing, name, renamingOf(eyes.profile?.tools, name)?.name)
    );
  });
  const listed = withoutTakenNames(visible.map((tool) => listTool(tool, listNamed(tool, eyes.profile?.tools))));
  const suspended = policy.suspensions.filter(({ kind }) => kind === "tool");
  const notes = new Map(suspended.map(({ name, note }) => [name, note]));
  return {
    tools: listed.filter(({ target }) => noteOn(notes, target) === undefined),
    tool: lookUpName(listed, {
      what: "tool",
      // A retired name leads to what this caller sees under another one, and to nothing that was taken away since.
      targets: new Map(visible.map((tool) => [tool.name, tool])),
      retired: retiredIn(policy, "tools", profile),
      notes,
      list: (tool) => listTool(tool, listNamed(tool, undefined)),
    }),
  };
}

/** What was denied by either name stays denied when a profile gives it another, or none. */
function isLeftOut(narrowing: Narrowing | undefined, name: string, listed = name): boolean {
  return (
    narrowing !== undefined &&
    ([name, listed].some((one) => narrowing.deny.includes(one)) || narrowing.allow?.includes(listed) === false)
  );
}

function listTool(target: ServedTool<CallHost>, wire: ToolDefinition["wire"]): ListedTool {
  const { paramHeaders, resumable, repeatable, texts } = target;
  return { wire, texts, paramHeaders, resumable, repeatable, target };
}

function promptsSeen({ sources, policy, document, eyes, profile, hidden }: Looking): Pick<View, "prompts" | "prompt"> {
  const all = firstOfEach(
    sources.flatMap(({ prompts }) => prompts),
    ({ name }) => name,
  );
  const visible = [...all.values()].filter(
    (prompt) => !hidden?.things.has(prompt) && isVisible(document, eyes, "prompts", prompt.name),
  );
  const listed = withoutTakenNames(
    visible.map((target) => ({ wire: listNamed(target, eyes.profile?.prompts), target })),
  );
  return {
    prompts: listed,
    prompt: lookUpName(listed, {
      what: "prompt",
      targets: new Map(visible.map((prompt) => [prompt.name, prompt])),
      retired: retiredIn(policy, "prompts", profile),
      notes: new Map(),
      list: (target) => ({ wire: listNamed(target, undefined), target }),
    }),
  };
}

type SeenResources = Pick<
  View,
  "resources" | "resourcesByUri" | "templates" | "shelves" | "listings" | "lister" | "only" | "sees"
>;

function resourcesSeen({ sources, document, eyes, hidden }: Looking): SeenResources {
  const things = hidden?.things;
  const uris =
    things &&
    new Set(sources.flatMap(({ resources }) => resources.filter((one) => things.has(one)).map(({ uri }) => uri)));
  const isOpen = (name: string) => isVisible(document, eyes, "resources", name) && !uris?.has(name);
  const scoped = eyes.scopes && { allow: eyes.scopes.flatMap(({ resources = [] }) => resources) };
  const byUri = firstOfEach(
    sources.flatMap(({ resources }) => resources).filter(({ uri }) => isOpen(uri)),
    ({ uri }) => uri,
  );
  const templates = firstOfEach(
    sources.flatMap((source) => source.templates).filter((one) => isOpen(one.wire.uriTemplate) && !things?.has(one)),
    ({ wire }) => wire.uriTemplate,
  );
  const withheld = things && sources.flatMap((source) => source.templates.filter((one) => things.has(one)));
  const deny = [...(uris ?? []), ...(withheld ?? []).flatMap(({ glob }) => glob ?? [])];
  const only = [eyes.profile?.resources, scoped, deny.length > 0 ? { deny } : undefined].filter(
    (patterns) => patterns !== undefined,
  );
  // What is only under a hidden template is hidden with it.
  const sees = (uri: string) =>
    isOpen(uri) && (!withheld?.some(has(uri)) || byUri.has(uri) || [...templates.values()].some(has(uri)));
  const shelves = sources.flatMap(({ id, shelf, required = false }) => (shelf ? { source: id, shelf, required } : []));
  const listed = [...templates.values()].flatMap((template) => listingIn(template) ?? []);
  return {
    resources: [...byUri.values()],
    resourcesByUri: byUri,
    templates: [...templates.values()],
    shelves,
    listings: [...listed, ...shelves.map(shelfListing)],
    lister: (uri) => listed.find(({ template }) => template.matches?.(uri))?.template,
    ...(only.length === 0 ? {} : { only }),
    sees,
  };
}

const has = (uri: string) => (template: ServedTemplate<CallHost>) => template.matches?.(uri);

function listingIn(template: ServedTemplate<CallHost>): Required<ViewedListing> | undefined {
  const { listing, wire } = template;
  if (!listing) return undefined;
  const list: ViewedListing["list"] = (page, call, host) => listing.list(page, call, host);
  return { source: wire.uriTemplate, required: false, template, list };
}

function shelfListing({ source, required, shelf }: ViewedShelf): ViewedListing {
  return { source, required, list: (page, _call, host) => shelf.list(page, host) };
}

function serverOf(server: ServerInfo, document: TenantDocument, profile: ProfileDocument | undefined): ServerInfo {
  const { title = document.title, description = document.description } = profile ?? {};
  const { icon: src } = document;
  return { ...server, ...given({ title, description, icons: src === undefined ? src : [{ src }] }) };
}

/** The tenant's own instructions, then those of each source after the source's id. */
function instructionsOf(own: string | undefined, sources: readonly Source<CallHost>[]): string | undefined {
  const all = [own, ...sources.map(({ id, instructions }) => instructions && `${id}: ${instructions}`)];
  const told = all.filter((text) => text !== undefined && text !== "");
  return told.length === 0 ? own : told.join("\n\n");
}

/** A list may be kept for as long as each part of it may. */
function cacheOf(
  { catalog, document, tenant }: Offer,
  { scopes, hidden }: Seen,
  shown: readonly Source<CallHost>[],
): CacheHint {
  // Only an open tenant shows everybody the same, apart from callers whose key has scopes.
  const isOpen = !catalog.isPrivate && (document.mode ?? "open") === "open";
  const isSame = isOpen && scopes === undefined && hidden === undefined;
  const hints = shown.flatMap(({ cache }) => cache ?? []);
  return {
    ttlMs: Math.min(document.maxStalenessMs ?? tenant.maxStalenessMs, ...hints.map(({ ttlMs }) => ttlMs)),
    cacheScope: isSame && hints.every(({ cacheScope }) => cacheScope === "public") ? "public" : "private",
  };
}
