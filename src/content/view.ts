// Owns which of a Worker's tools, prompts and resources a tenant has: computed once, then only looked up.

import type { ServerInfo, CacheHint } from "../protocol/backend.ts";
import { matchesAny, type Tenant } from "../tenants/definition.ts";
import type { Prompt } from "./prompt.ts";
import type { Resource, ResourceTemplate } from "./resource.ts";
import { searchTools } from "./search-tools.ts";
import type { NewResource } from "./store.ts";
import type { Tool } from "./tool.ts";

/** Everything that is written in code, for all tenants of a Worker. */
export interface Catalog {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly (Resource | ResourceTemplate)[];
}

export interface View {
  readonly server: ServerInfo;
  readonly instructions: string | undefined;
  readonly cache: CacheHint;
  readonly tools: readonly Tool[];
  readonly toolsByName: ReadonlyMap<string, Tool>;
  readonly prompts: readonly Prompt[];
  readonly promptsByName: ReadonlyMap<string, Prompt>;
  readonly resources: readonly Resource[];
  readonly resourcesByUri: ReadonlyMap<string, Resource>;
  readonly templates: readonly ResourceTemplate[];
}

export function viewOf(catalog: Catalog, tenant: Tenant<NewResource>): View {
  const tools = catalog.tools.filter((tool) => matchesAny(tool.name, tenant.tools));
  if (tenant.search === true) tools.push(...searchTools);
  const prompts = catalog.prompts.filter((prompt) => matchesAny(prompt.name, tenant.prompts));
  const seen = catalog.resources.filter((entry) =>
    matchesAny(entry.kind === "resource" ? entry.uri : entry.template.template, tenant.resources),
  );
  const resources = seen.filter((entry) => entry.kind === "resource");
  const { title, description } = tenant;
  return {
    server: {
      ...catalog.server,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
    },
    instructions: tenant.instructions ?? catalog.instructions,
    // An open tenant looks the same to everybody; a definition may be as old as a lease.
    cache: { ttlMs: tenant.maxStalenessMs, cacheScope: "public" },
    tools,
    toolsByName: byKey(tools, (tool) => tool.name, "tool"),
    prompts,
    promptsByName: byKey(prompts, (prompt) => prompt.name, "prompt"),
    resources,
    resourcesByUri: byKey(resources, (resource) => resource.uri, "resource"),
    templates: seen.filter((entry) => entry.kind === "template"),
  };
}

function byKey<T>(items: readonly T[], key: (item: T) => string, what: string): ReadonlyMap<string, T> {
  const map = new Map<string, T>();
  for (const item of items) {
    if (map.has(key(item))) throw new TypeError(`${what} "${key(item)}" is defined twice`);
    map.set(key(item), item);
  }
  return map;
}
