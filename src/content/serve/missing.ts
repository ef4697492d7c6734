// Owns saying in a list's `_meta` what it lacks: which sources could not give all that they have, and why.

import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { Source } from "../../protocol/source.ts";

export interface Missing {
  readonly source: string;
  readonly why: string;
}

/** The key in a list's `_meta`; its value is an array of `Missing`. */
export const MISSING_KEY = "tenantry/missing";

/** Sources that are degraded, and those that serve what they knew last, which may be old. */
export function missingIn<Host>(sources: readonly Source<Host>[]): readonly Missing[] {
  return sources.flatMap(({ id, state }) => (state.kind === "fresh" ? [] : [{ source: id, why: state.why }]));
}

export function missingMeta(missing: readonly Missing[]): JsonObject | undefined {
  return missing.length === 0 ? undefined : { [MISSING_KEY]: missing };
}
