// Stores the first content of a tenant that is declared in code. Existing resources are not overwritten.

import type { NewResource } from "../handlers/resource-store.ts";
import { authorityStore } from "../tenants/object/authority-store.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import { contentStore } from "./content-store.ts";
import type { ContentLocation } from "./bodies.ts";
import { createResourceStore } from "./tenant-resource-store.ts";

export async function storeSeed(
  { storageKey, bodies }: Pick<ContentLocation, "storageKey" | "bodies">,
  { stub, content }: { readonly stub: TenantStub; readonly content: TenantStub },
  seed: readonly NewResource[],
): Promise<void> {
  const index = createRpcClient(content, contentStore);
  const store = createResourceStore({ storageKey, content: index, bodies });
  // An invocation that was cut off, or that used up its subrequests, has stored some. The next one continues from
  // there.
  const stored = new Set(seed.length > 0 ? await index.stored(seed.map(({ uri }) => uri)) : []);
  for (const resource of seed) if (!stored.has(resource.uri)) await store.write(resource, { ifAbsent: true });
  await createRpcClient(stub, authorityStore).markSeeded();
}
