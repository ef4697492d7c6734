// Announces changes of lists and resources in code, which no write to storage announces.

import { parseUri } from "../protocol/uri.ts";
import { createChangeClient } from "../tenants/object/change-rpc.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";

/** The changes to announce: whole lists by kind, and in `updated` the URIs of resources whose content changed. */
export interface Announcement {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  readonly updated?: readonly string[];
}

/** `content` is the stub of the object that stores the tenant's content. Throws a TypeError for an invalid URI. */
export async function publishChanges(content: TenantStub, changes: Announcement): Promise<void> {
  const sections = (["tools", "prompts", "resources"] as const).filter((section) => changes[section]);
  const uris = (changes.updated ?? []).map((uri) => {
    const parsed = parseUri(uri);
    if ("broken" in parsed) throw new TypeError(`${uri.slice(0, 100)}: ${parsed.broken}`);
    return parsed.uri;
  });
  await createChangeClient(content).announce(sections, uris);
}
