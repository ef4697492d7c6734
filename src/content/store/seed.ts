// Owns storing the first content of a tenant that is declared in code. Refuses to overwrite what is there already.

import type { NewResource } from "../../calls/resource-store.ts";
import { authorityTables } from "../../tenants/authority/authority-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { TenantStub } from "../../tenants/authority/incarnation.ts";
import { contentTables } from "./content-tables.ts";
import { openStore, type ContentPlace } from "./open-store.ts";

export async function storeSeed(
  { kept, bodies }: Pick<ContentPlace, "kept" | "bodies">,
  { stub, content }: { readonly stub: TenantStub; readonly content: TenantStub },
  seed: readonly NewResource[],
): Promise<void> {
  const store = openStore({ kept, content: remote(content, contentTables), bodies });
  for (const resource of seed) await store.write(resource, { ifAbsent: true });
  await remote(stub, authorityTables).markSeeded();
}
