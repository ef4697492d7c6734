// Loads the leased sections that a feature's sources are built from. Synchronous if this isolate has them all.

import { sectionStore } from "../tenants/object/section-store.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import {
  retainSections,
  getCachedSection,
  loadSection,
  type Section,
  type SectionLocation,
} from "../tenants/cache/section-cache.ts";
import type { LeasedSections, SectionContext } from "./deployment.ts";

type SectionHash = readonly [name: string, hash: string];

/** `isNeeded`: selects sections by name. */
export function createLeasedSections(isNeeded: (name: string) => boolean): LeasedSections {
  return {
    load: (context) => {
      const needed = [...context.sectionHashes].filter(([name]) => isNeeded(name));
      const cached = needed.map(([name, hash]) => [name, getCachedSection(context.storageKey, hash)] as const);
      const missing = cached.some(([, section]) => section === undefined);
      return missing ? loadSections(needed, context) : toLoadedSections(cached);
    },
  };
}

/** Where a tenant's sections are read and written. */
export function sectionPlace(storageKey: string, bodies: KVNamespace, stub: () => TenantStub): SectionLocation {
  return { storageKey, bodies, sections: () => createRpcClient(stub(), sectionStore) };
}

async function loadSections(needed: readonly SectionHash[], context: SectionContext) {
  const storage = sectionPlace(context.storageKey, context.bodies, context.stub);
  const entries = await Promise.all(
    // The source reports the missing section in each list.
    needed.map(async ([name, hash]) => [name, await loadSection(storage, hash).catch(() => undefined)] as const),
  );
  retainSections(context.storageKey, context.sectionHashes.values());
  return toLoadedSections(entries);
}

/** A section that could not be loaded is left out; its source reports that it is missing. */
function toLoadedSections(entries: readonly (readonly [string, Section | undefined])[]) {
  const sections = new Map(entries.filter((entry): entry is [string, Section] => entry[1] !== undefined));
  return { sections, isComplete: sections.size === entries.length };
}
