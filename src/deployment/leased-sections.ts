// Owns loading the sections of a lease that a feature makes its sources of: without a wait where this isolate has them.

import { sectionTables } from "../tenants/authority/section-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import type { TenantStub } from "../tenants/authority/incarnation.ts";
import { keepOnly, recallSection, loadSection, type Section, type SectionPlace } from "../tenants/isolate/sections.ts";
import type { LeasedSections, SectionGround } from "./deployment.ts";

type Named = readonly [name: string, hash: string];

/** `wants`: the names of the sections that the feature's sources are made of. */
export function leasedSections(wants: (name: string) => boolean): LeasedSections {
  return {
    load: (ground) => {
      const wanted = [...ground.leased].filter(([name]) => wants(name));
      const known = wanted.map(([name, hash]) => [name, recallSection(ground.kept, hash)] as const);
      const missing = known.some(([, section]) => section === undefined);
      return missing ? loadAll(wanted, ground) : loaded(known);
    },
  };
}

/** Where a tenant's sections are read and written. `kept`: as `keptUnder` makes it. */
export function sectionPlace(kept: string, bodies: KVNamespace, stub: () => TenantStub): SectionPlace {
  return { kept, bodies, sections: () => remote(stub(), sectionTables) };
}

async function loadAll(wanted: readonly Named[], ground: SectionGround) {
  const place = sectionPlace(ground.kept, ground.bodies, ground.stub);
  const found = await Promise.all(
    // Its source says in each list that it is missing.
    wanted.map(async ([name, hash]) => [name, await loadSection(place, hash).catch(() => undefined)] as const),
  );
  keepOnly(ground.kept, ground.leased.values());
  return loaded(found);
}

/** A section that could not be loaded is left out: its source says that it is missing. */
function loaded(found: readonly (readonly [string, Section | undefined])[]) {
  const sections = new Map(found.filter((entry): entry is [string, Section] => entry[1] !== undefined));
  return { sections, whole: sections.size === found.length };
}
