// Owns saying in a list's `_meta` what it lacks: which sources could not give all that they have, and why.

import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { Source, Withheld } from "../../protocol/source.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { isVisible, type Eyes } from "../../tenants/document/visibility.ts";

export interface Missing {
  readonly source: string;
  readonly why: string;
}

/** The key in a list's `_meta`; its value is an array of `Missing`. */
export const MISSING_KEY = "tenantry/missing";

/**
 * Sources that are degraded, and those that serve what they knew last, which may be old. Of what is hidden from `eyes` nothing
 * is said, not even that it is left out.
 */
export function missingIn<Host>(
  sources: readonly Source<Host>[],
  { document, eyes }: { readonly document: TenantDocument; readonly eyes: Eyes },
): readonly Missing[] {
  const { profile, scopes } = eyes;
  const patterns = [profile?.tools, profile?.prompts, profile?.resources];
  const isWhole = scopes === undefined && patterns.every((one) => one?.allow === undefined && one?.deny === undefined);
  const sees = ({ kind, name }: Pick<Withheld, "kind" | "name">) => isVisible(document, eyes, kind, name);
  return sources.flatMap(({ id, state, lacks }) => {
    if (state.kind === "fresh") return [];
    const why = state.kind === "degraded" && lacks ? lacks(sees, isWhole) : state.why;
    return why === undefined ? [] : [{ source: id, why }];
  });
}

export function missingMeta(missing: readonly Missing[]): JsonObject | undefined {
  return missing.length === 0 ? undefined : { [MISSING_KEY]: missing };
}
