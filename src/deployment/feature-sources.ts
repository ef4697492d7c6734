import type { RequestScope } from "../handlers/request-scope.ts";
import type { Source } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import type { BuiltInFeature, LoadedSections, SectionContext } from "./deployment.ts";

export interface FeatureSources {
  readonly sources: readonly Source<RequestScope>[];
  /** Whether every section could be loaded. If not, loading again soon may succeed. */
  readonly isComplete: boolean;
}

const NO_SECTIONS: LoadedSections = { sections: new Map(), isComplete: true };

export async function loadFeatureSources(
  features: readonly BuiltInFeature[],
  document: TenantDocument,
  context: SectionContext,
): Promise<FeatureSources> {
  const loaded = await Promise.all(features.map(async (feature) => feature.sections?.load(context) ?? NO_SECTIONS));
  return {
    sources: features.flatMap(
      (feature, at) =>
        feature.sources?.({
          tenant: context.tenant,
          server: context.server,
          document,
          sections: (loaded[at] ?? NO_SECTIONS).sections,
        }) ?? [],
    ),
    isComplete: loaded.every(({ isComplete: whole }) => whole),
  };
}
