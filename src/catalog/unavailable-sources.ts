// Reports in a list's `_meta` which sources are incomplete, and why.

import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Source, HiddenItem } from "../protocol/source.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { isVisible, type AccessFilter } from "../tenants/document/visibility.ts";

export interface UnavailableSource {
  readonly source: string;
  readonly why: string;
}

/** The key in a list's `_meta`; its value is an array of `UnavailableSource`. */
export const MISSING_KEY = "tenantry/missing";

/**
 * Sources that are degraded, and sources that serve stale data. Definitions that the filter hides are not mentioned,
 * not even as missing.
 */
export function findUnavailable<Host>(
  sources: readonly Source<Host>[],
  { document, filter }: { readonly document: TenantDocument; readonly filter: AccessFilter },
): readonly UnavailableSource[] {
  const { profile, scopes } = filter;
  const patterns = [profile?.tools, profile?.prompts, profile?.resources];
  const isUnfiltered =
    scopes === undefined && patterns.every((one) => one?.allow === undefined && one?.deny === undefined);
  const isVisibleItem = ({ kind, name }: Pick<HiddenItem, "kind" | "name">) => isVisible(document, filter, kind, name);
  return sources.flatMap(({ id, state, lacks }) => {
    if (state.kind === "fresh") return [];
    const reason = state.kind === "degraded" && lacks ? lacks(isVisibleItem, isUnfiltered) : state.why;
    return reason === undefined ? [] : [{ source: id, why: reason }];
  });
}

export function unavailableMeta(unavailable: readonly UnavailableSource[]): JsonObject | undefined {
  return unavailable.length === 0 ? undefined : { [MISSING_KEY]: unavailable };
}
