// Owns which tools and prompts the Worker has for a tenant, by name.

import type { Catalog } from "../../content/define/catalog.ts";
import { searchTools } from "../../content/serve/search-tools.ts";
import type { NewResource } from "../../calls/resource-store.ts";
import type { Tenant } from "../../tenants/document/tenant-definition.ts";
import { matchesAny } from "../../tenants/document/glob.ts";
import type { CatalogNames } from "../../tenants/document/retirement.ts";

export function catalogNames({ tools, prompts }: Catalog, { definition }: Tenant<NewResource>): CatalogNames {
  return {
    tools: tools.map((tool) => tool.name).filter((name) => matchesAny(name, definition?.tools)),
    prompts: prompts.map((prompt) => prompt.name).filter((name) => matchesAny(name, definition?.prompts)),
    search: searchTools.map((tool) => tool.name),
  };
}
