// Owns what a tenant has of features beside its own: asks each for its sources, with the sections that it leases.

import type { CallHost } from "../calls/call-host.ts";
import type { Source } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import type { Feature, LoadedSections, SectionGround } from "./deployment.ts";

export interface FeatureSources {
  readonly sources: readonly Source<CallHost>[];
  /** Whether every section could be brought. Where one could not, it is worth asking again soon. */
  readonly whole: boolean;
}

const NONE: LoadedSections = { sections: new Map(), whole: true };

/** A promise only where a section is not in this isolate yet. */
export function featureSources(
  features: readonly Feature[],
  document: TenantDocument,
  ground: SectionGround,
): FeatureSources | Promise<FeatureSources> {
  const loads = features.map((feature) => feature.sections?.load(ground) ?? NONE);
  const made = (loaded: readonly LoadedSections[]): FeatureSources => ({
    sources: features.flatMap(
      (feature, at) =>
        feature.sources?.({
          tenant: ground.tenant,
          server: ground.server,
          document,
          sections: (loaded[at] ?? NONE).sections,
        }) ?? [],
    ),
    whole: loaded.every(({ whole }) => whole),
  });
  const waits = loads.some((load) => load instanceof Promise);
  return waits ? Promise.all(loads.map(async (load) => load)).then(made) : made(loads as readonly LoadedSections[]);
}
