// Owns bringing the sections of a lease that features make sources of: at once where this isolate has them.

import { recallSection, loadSection, type Section, type SectionPlace } from "../tenants/isolate/sections.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";
import type { Feature, SourceGround } from "./deployment.ts";

type Sections = SourceGround["sections"];

/** One that cannot be brought is left out: its source says that it is missing. */
export function loadSections(
  features: readonly Feature[],
  leased: Snapshot["sections"],
  place: SectionPlace,
): Sections | Promise<Sections> {
  const wanted = [...leased].filter(([name]) => features.some((feature) => feature.wantsSection?.(name)));
  const known = wanted.map(([name, hash]) => [name, recallSection(place.tenant, hash)] as const);
  if (known.every(([, section]) => section !== undefined)) return new Map(known as [string, Section][]);
  return loadAll(wanted, place);
}

async function loadAll(wanted: readonly (readonly [string, string])[], place: SectionPlace): Promise<Sections> {
  const loaded = await Promise.all(
    wanted.map(async ([name, hash]) => [name, await loadSection(place, hash).catch(() => undefined)] as const),
  );
  return new Map(loaded.filter((entry): entry is [string, Section] => entry[1] !== undefined));
}
