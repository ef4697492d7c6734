// Owns saying what a list lacks: which sources could not give all that they have, and why.

import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { Source } from "../../protocol/source.ts";

export interface Missing {
  readonly source: string;
  readonly why: string;
}

/** The key in `_meta` of every list under which it stands: an array of `Missing`. */
export const MISSING_KEY = "tenantry/missing";

/** What a source knew last is served as it was; that it may be old is said, too. */
export function missingIn<Host>(sources: readonly Source<Host>[]): readonly Missing[] {
  return sources.flatMap(({ id, state }) => (state.kind === "fresh" ? [] : [{ source: id, why: state.why }]));
}

export function missingMeta(missing: readonly Missing[]): JsonObject | undefined {
  return missing.length === 0 ? undefined : { [MISSING_KEY]: missing };
}
