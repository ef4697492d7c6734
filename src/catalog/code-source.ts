// The source of definitions in code: the part of the catalog that a tenant is given.

import type { RequestScope } from "../handlers/request-scope.ts";
import type { Source } from "../protocol/source.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import { matchesAny } from "../tenants/document/glob.ts";
import type { Catalog } from "../handlers/catalog.ts";

/** `replaced`: names of the tenant's own prompts, which replace those in code. */
export function createCodeSource(
  catalog: Catalog,
  { definition }: Tenant<NewResource>,
  replaced: ReadonlySet<string>,
): Source<RequestScope> {
  const resources = catalog.resources.filter((entry) =>
    matchesAny(entry.kind === "resource" ? entry.uri : entry.wire.uriTemplate, definition?.resources),
  );
  return {
    id: "code",
    state: { kind: "fresh" },
    tools: catalog.tools.filter(({ name }) => matchesAny(name, definition?.tools)),
    prompts: catalog.prompts.filter(({ name }) => matchesAny(name, definition?.prompts) && !replaced.has(name)),
    resources: resources.filter((entry) => entry.kind === "resource"),
    templates: resources.filter((entry) => entry.kind === "template"),
  };
}
