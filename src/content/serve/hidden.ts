// Owns what a caller does not see because the author of a definition says so. Asked of every definition that says it, at
// every request: what somebody may see can be in their claims, and views are shared by who sees the same.

import type { Guarded, Viewer } from "../../calls/guarded.ts";
import type { Catalog } from "../define/catalog.ts";
import { tenantSettings, type ConfiguredPlace } from "../define/check-config.ts";
import { frozen } from "./frozen.ts";

export interface Hidden {
  /** What is told apart from others by what is hidden. */
  readonly key: string;
  readonly things: ReadonlySet<object>;
}

/** Those that are not there for everybody; undefined: all are. */
export function guardedIn({
  tools = [],
  prompts = [],
  resources = [],
}: Partial<Catalog>): readonly Guarded<never>[] | undefined {
  // Of a definition with a mistake there is none under `wrangler dev`.
  const guarded = [...tools, ...prompts, ...resources].filter((one: Guarded<never> | undefined) => one?.visible);
  return guarded.length > 0 ? guarded : undefined;
}

/** Mistakes that were told: each request meets them. */
const told = new WeakSet<object>();

/** undefined: everything is there for everybody. */
export function hiddenOf(
  place: ConfiguredPlace,
  who: Pick<Viewer, "principal" | "tenant">,
  onError: (error: unknown) => void,
): Hidden | undefined {
  const { guarded } = place.catalog;
  if (!guarded) return undefined;
  const viewer = {
    ...who,
    get settings() {
      return frozen(tenantSettings(place)) as never;
    },
  };
  const sees = guarded.map((one) => {
    try {
      return one.visible?.(viewer) === true;
    } catch (error) {
      if (!told.has(one)) onError(error);
      told.add(one);
      return false;
    }
  });
  return {
    key: sees.map(Number).join(""),
    things: new Set(guarded.filter((_one, at) => !sees[at])),
  };
}
