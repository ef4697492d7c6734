// Owns what a tenant has of features beside its own: asks each for its sources, with the sections that it leases.

import type { CallHost } from "../calls/call-host.ts";
import type { Source } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import type { BuiltInFeature, LoadedSections, SectionGround } from "./deployment.ts";

export interface FeatureSources {
  readonly sources: readonly Source<CallHost>[];
  /** Whether every section could be brought. Where one could not, it is worth asking again soon. */
  readonly whole: boolean;
}

const NONE: LoadedSections = { sections: new Map(), whole: true };

export async function featureSources(
  features: readonly BuiltInFeature[],
  document: TenantDocument,
  ground: SectionGround,
): Promise<FeatureSources> {
  const loaded = await Promise.all(features.map(async (feature) => feature.sections?.load(ground) ?? NONE));
  return {
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
  };
}
