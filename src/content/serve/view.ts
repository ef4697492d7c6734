// Owns a view: what one principal sees of a tenant in one profile. Computed once for each policy version, profile and
// set of scopes; then names are only looked up.

import type { CacheHint, ServerInfo, ToolDefinition } from "../../protocol/backend.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import type { Tenant } from "../../tenants/document/tenant-definition.ts";
import {
  mergeDocuments,
  renamingOf,
  type ProfileDocument,
  type Renaming,
  type TenantDocument,
} from "../../tenants/document/tenant-document.ts";
import { matchesAny } from "../../tenants/document/glob.ts";
import type { Policy, RetiredName } from "../../tenants/authority/policy-records.ts";
import { isVisible, settingOf, type Eyes } from "../../tenants/document/visibility.ts";
import type { Sight } from "../../calls/call-host.ts";
import { documentPrompt } from "./document-prompt.ts";
import type { Prompt } from "../define/prompt.ts";
import type { Resource, ResourceTemplate } from "../define/resource.ts";
import { searchTools } from "./search-tools.ts";
import type { NewResource } from "../../calls/resource-store.ts";
import type { Tool } from "../define/tool.ts";

/** Everything that is written in code, for all tenants of a Worker. */
export interface Catalog {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly (Resource | ResourceTemplate)[];
}

/** A tool or prompt under the name that this view gives it. */
export interface Listed<T> {
  readonly wire: ToolDefinition["wire"];
  readonly target: T;
}
export type ListedTool = Listed<Tool> & ToolDefinition;
export type ListedPrompt = Listed<Prompt>;

export interface View extends Sight {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  readonly cache: CacheHint;
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
  readonly resources: readonly Resource[];
  readonly resourcesByUri: ReadonlyMap<string, Resource>;
  readonly templates: readonly ResourceTemplate[];
  tool(name: string, now: number): ListedTool | Failure | undefined;
  prompt(name: string, now: number): ListedPrompt | Failure | undefined;
}

export interface Seen {
  readonly profile: string | null;
  /** Names of scopes; undefined: none apply. */
  readonly scopes: readonly string[] | undefined;
}

export function documentOf(tenant: Tenant<NewResource>, policy: Policy): TenantDocument {
  return mergeDocuments([tenant.base, policy.document]);
}

export function viewOf(catalog: Catalog, tenant: Tenant<NewResource>, policy: Policy, seen: Seen): View {
  const document = documentOf(tenant, policy);
  const profile = seen.profile === null ? undefined : document.profiles?.[seen.profile];
  const eyes: Eyes = { profile, scopes: seen.scopes?.flatMap((name) => document.scopes?.[name] ?? []) };
  const looking: Looking = { catalog, tenant, policy, document, eyes, profile: seen.profile };
  return {
    server: serverOf(catalog.server, document, profile),
    instructions: profile?.instructions ?? document.instructions ?? catalog.instructions,
    cache: {
      ttlMs: document.maxStalenessMs ?? tenant.maxStalenessMs,
      // Only an open tenant looks the same to everybody, apart from those whose key has scopes.
      cacheScope: (document.mode ?? "open") === "open" && seen.scopes === undefined ? "public" : "private",
    },
    ...toolsSeen(looking),
    ...promptsSeen(looking),
    ...resourcesSeen(looking),
    limits: document.limits ?? {},
    configOf: (tool) => settingOf(document, tool)?.setting.config,
  };
}

interface Looking {
  readonly catalog: Catalog;
  readonly tenant: Tenant<NewResource>;
  readonly policy: Policy;
  readonly document: TenantDocument;
  readonly eyes: Eyes;
  readonly profile: string | null;
}

function toolsSeen({ catalog, tenant, policy, document, eyes, profile }: Looking): Pick<View, "tools" | "tool"> {
  const withSearch = eyes.profile?.search ?? document.search ?? false;
  const inCode = catalog.tools.filter((tool) => matchesAny(tool.name, tenant.definition?.tools));
  const all = withSearch ? withBuiltIn(inCode) : inCode;
  const listed = listTools(all, document, eyes);
  const notes = new Map(
    policy.suspensions.filter((entry) => entry.kind === "tool").map((entry) => [entry.name, entry.note]),
  );
  const retired = retiredNames(policy, "tools", profile);
  return {
    tools: listed.filter((tool) => !notes.has(tool.target.name)),
    tool: lookUp(listed, { what: "tool", targets: callable(all, eyes), retired, notes, list: asIs }),
  };
}

/** An author's own tool of the same name stands in the built-in one's place. */
function withBuiltIn(inCode: readonly Tool[]): readonly Tool[] {
  return [...inCode, ...searchTools.filter(({ name }) => !inCode.some((tool) => tool.name === name))];
}

/** What a retired name may lead to: also the built-in tools that were switched off, and never past the scopes. */
function callable(all: readonly Tool[], eyes: Eyes): ReadonlyMap<string, Tool> {
  const targets = new Map([...searchTools.map((tool) => [tool.name, tool] as const), ...byKey(all, nameOf, "tool")]);
  return new Map([...targets].filter(([name]) => inScope(eyes, "tools", name)));
}

function promptsSeen({ catalog, tenant, policy, document, eyes, profile }: Looking): Pick<View, "prompts" | "prompt"> {
  const all = promptsOf(catalog, tenant, document);
  const listed = listPrompts(all, document, eyes);
  const retired = retiredNames(policy, "prompts", profile);
  const list = (target: Prompt): ListedPrompt => ({ wire: target.wire, target });
  return {
    prompts: listed,
    prompt: lookUp(listed, {
      what: "prompt",
      targets: byKey(
        all.filter(({ name }) => inScope(eyes, "prompts", name)),
        nameOf,
        "prompt",
      ),
      retired,
      notes: new Map(),
      list,
    }),
  };
}

type SeenResources = Pick<View, "resources" | "resourcesByUri" | "templates" | "seesAll" | "sees">;

function resourcesSeen({ catalog, tenant, document, eyes }: Looking): SeenResources {
  const entries = catalog.resources.filter((entry) => {
    const name = entry.kind === "resource" ? entry.uri : entry.template.template;
    return matchesAny(name, tenant.definition?.resources) && isVisible(document, eyes, "resources", name);
  });
  const resources = entries.filter((entry) => entry.kind === "resource");
  return {
    resources,
    resourcesByUri: byKey(resources, ({ uri }) => uri, "resource"),
    templates: entries.filter((entry) => entry.kind === "template"),
    seesAll: eyes.profile?.resources === undefined && eyes.scopes === undefined,
    sees: (uri) => isVisible(document, eyes, "resources", uri),
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;

function inScope({ scopes }: Eyes, kind: "tools" | "prompts", name: string): boolean {
  return isVisible({}, { profile: undefined, scopes }, kind, name);
}

/** Two of one name are a mistake in code, found at the first request. */
function byKey<T>(items: readonly T[], keyOf: (item: T) => string, what: string): ReadonlyMap<string, T> {
  const map = new Map(items.map((item) => [keyOf(item), item]));
  const twice = map.size === items.length ? undefined : items.find((item) => map.get(keyOf(item)) !== item);
  if (twice) throw new TypeError(`${what} "${keyOf(twice)}" is defined twice`);
  return map;
}

function retiredNames(
  { retired }: Policy,
  kind: RetiredName["kind"],
  profile: string | null,
): ReadonlyMap<string, RetiredName> {
  const here = retired.filter((entry) => entry.kind === kind && entry.profile === profile);
  return new Map(here.map((entry) => [entry.name, entry]));
}

function serverOf(server: ServerInfo, document: TenantDocument, profile: ProfileDocument | undefined): ServerInfo {
  const title = profile?.title ?? document.title;
  const description = profile?.description ?? document.description;
  return {
    ...server,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
}

/** A prompt of the document stands in for one in code under the same name. */
function promptsOf(catalog: Catalog, { definition }: Tenant<NewResource>, document: TenantDocument): readonly Prompt[] {
  const own = Object.entries(document.prompts ?? {}).map(([name, prompt]) => documentPrompt(name, prompt));
  const names = new Set(own.map((prompt) => prompt.name));
  const inCode = catalog.prompts.filter(
    (prompt) => matchesAny(prompt.name, definition?.prompts) && !names.has(prompt.name),
  );
  return [...inCode, ...own];
}

function asIs(tool: Tool): ListedTool {
  return { wire: tool.wire, paramHeaders: tool.paramHeaders, resumable: tool.resumable, target: tool };
}

/** Code may have brought a name that a profile gave to another thing before: the profile's goes on, and nothing is listed twice. */
function distinct<L extends Listed<{ readonly name: string }>>(listed: L[]): L[] {
  const given = new Set(listed.filter(({ wire, target }) => wire.name !== target.name).map(({ wire }) => wire.name));
  return listed.filter(({ wire, target }) => wire.name !== target.name || !given.has(target.name));
}

function listTools(tools: readonly Tool[], document: TenantDocument, eyes: Eyes): ListedTool[] {
  const listed = tools
    .filter((tool) => isVisible(document, eyes, "tools", tool.name))
    .map((tool) => {
      const renaming = renamingOf(eyes.profile?.tools, tool.name);
      return renaming ? { ...asIs(tool), wire: rename(tool.wire, renaming) } : asIs(tool);
    });
  return distinct(listed);
}

function listPrompts(prompts: readonly Prompt[], document: TenantDocument, eyes: Eyes): ListedPrompt[] {
  const listed = prompts
    .filter((prompt) => isVisible(document, eyes, "prompts", prompt.name))
    .map((prompt) => {
      const renaming = renamingOf(eyes.profile?.prompts, prompt.name);
      return { wire: renaming ? rename(prompt.wire, renaming) : prompt.wire, target: prompt };
    });
  return distinct(listed);
}

function rename(wire: ToolDefinition["wire"], { name, title, description }: Renaming): ToolDefinition["wire"] {
  return {
    ...wire,
    name: name ?? wire.name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
}

interface Names<T, L> {
  readonly what: "tool" | "prompt";
  readonly targets: ReadonlyMap<string, T>;
  readonly retired: ReadonlyMap<string, RetiredName>;
  /** Why a target is suspended, by its name in code. */
  readonly notes: ReadonlyMap<string, string>;
  readonly list: (target: T) => L;
}

/** A listed name, or one that is listed no more: callable while it retires, then told where it went. Never when blocked. */
function lookUp<T extends { readonly name: string }, L extends Listed<T>>(
  listed: readonly L[],
  { what, targets, retired, notes, list }: Names<T, L>,
): (name: string, now: number) => L | Failure | undefined {
  const here = new Map(listed.map((entry) => [entry.wire.name, entry]));
  return (name, now) => {
    const left = here.has(name) ? undefined : retired.get(name);
    const target = left && targets.get(left.target);
    const entry = here.get(name) ?? (target && list(target));
    if (!entry) return undefined;
    const note = notes.get(entry.target.name);
    if (note !== undefined) return failure("suspended", `${name} is suspended: ${note}`);
    if (!left || now < left.until) return entry;
    // As it is called by now: the name that followed this one may have been given up too.
    const successor = listed.find(({ target: { name: inCode } }) => inCode === left.target)?.wire.name;
    const next = successor === undefined ? "it was withdrawn" : `it is now called ${successor}`;
    return failure("invalidParams", `Unknown ${what}: ${name}; ${next}`);
  };
}
