// Owns what code may say of changes that nobody stored, and saying it to whoever listens. Refuses what is no URI.

import { parseUri } from "../protocol/uri.ts";
import { createChangeClient } from "../tenants/object/change-rpc.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";

/** What changed: lists as a whole, and in `updated` the URIs of resources whose content did. */
export interface Announcement {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  readonly updated?: readonly string[];
}

/** `content`: the object that keeps the tenant's content. Throws a TypeError for what is no URI. */
export async function publishChanges(content: TenantStub, changes: Announcement): Promise<void> {
  const sections = (["tools", "prompts", "resources"] as const).filter((section) => changes[section]);
  const uris = (changes.updated ?? []).map((uri) => {
    const parsed = parseUri(uri);
    if ("broken" in parsed) throw new TypeError(`${uri.slice(0, 100)}: ${parsed.broken}`);
    return parsed.uri;
  });
  await createChangeClient(content).announce(sections, uris);
}
