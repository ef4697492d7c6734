// Owns storing the first content of a tenant that is declared in code. Refuses to overwrite what is there already.

import type { NewResource } from "../../calls/resource-store.ts";
import { authorityTables } from "../../tenants/authority/authority-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { TenantStub } from "../../tenants/authority/incarnation.ts";
import { contentTables } from "./content-tables.ts";
import type { ContentPlace } from "./bodies.ts";
import { openStore } from "./open-store.ts";

export async function storeSeed(
  { kept, bodies }: Pick<ContentPlace, "kept" | "bodies">,
  { stub, content }: { readonly stub: TenantStub; readonly content: TenantStub },
  seed: readonly NewResource[],
): Promise<void> {
  const index = remote(content, contentTables);
  const store = openStore({ kept, content: index, bodies });
  // An invocation that was cut, or used up its calls, has stored some: the next one goes on from there.
  const stored = new Set(seed.length > 0 ? await index.stored(seed.map(({ uri }) => uri)) : []);
  for (const resource of seed) if (!stored.has(resource.uri)) await store.write(resource, { ifAbsent: true });
  await remote(stub, authorityTables).markSeeded();
}
