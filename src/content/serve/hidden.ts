// Owns what a caller does not see because the author of a definition says so. Asked of every definition that says it, at
// every request: what somebody may see can be in their claims, and views are shared by who sees the same.

import type { Guarded, Viewer } from "../../calls/guarded.ts";
import type { ServedTemplate } from "../../protocol/source.ts";
import type { Catalog } from "../define/catalog.ts";

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
}: Partial<Catalog>): readonly Guarded[] | undefined {
  // Of a definition with a mistake there is none under `wrangler dev`.
  const guarded = [...tools, ...prompts, ...resources].filter((one: Guarded | undefined) => one?.visible);
  return guarded.length > 0 ? guarded : undefined;
}

/** Whether only templates that are hidden from the viewer have this URI: changes of it are not theirs to hear of. */
export function isVeiled(
  uri: string,
  { hidden, templates }: { readonly hidden?: Hidden; readonly templates: readonly object[] },
): boolean {
  const has = (one: Pick<ServedTemplate<never>, "matches">) => one.matches?.(uri) === true;
  return hidden !== undefined && [...hidden.things].some(has) && !templates.some(has);
}

/** Mistakes that were told: each request meets them. */
const told = new WeakSet<Guarded>();

export function hiddenOf(guarded: readonly Guarded[], viewer: Viewer, onError: (error: unknown) => void): Hidden {
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
