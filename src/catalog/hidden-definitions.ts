// Definitions that their author hides from a caller. `visible` runs for every such definition at every request: it may
// depend on the caller's claims, while views are shared by callers who see the same.

import type { AccessRules, Viewer } from "../handlers/access-rules.ts";
import type { Catalog } from "../handlers/catalog.ts";
import { tenantSettings, type ConfiguredTenant } from "../handlers/check-config.ts";
import { deepFreeze } from "./deep-freeze.ts";

export interface HiddenDefinitions {
  /** Identifies the set of hidden definitions. */
  readonly key: string;
  readonly definitions: ReadonlySet<object>;
}

/** The definitions with a `visible` rule; undefined if there are none. */
export function restrictedDefinitions({
  tools = [],
  prompts = [],
  resources = [],
}: Partial<Catalog>): readonly AccessRules<never>[] | undefined {
  // Under `wrangler dev` a definition with an error is undefined.
  const guarded = [...tools, ...prompts, ...resources].filter((one: AccessRules<never> | undefined) => one?.visible);
  return guarded.length > 0 ? guarded : undefined;
}

/** Definitions whose error was reported once: every request runs into it again. */
const reported = new WeakSet<object>();

/** Returns undefined if every definition is visible to everyone. */
export function findHidden(
  tenantVersion: ConfiguredTenant,
  subject: Pick<Viewer, "principal" | "tenant">,
  onError: (error: unknown) => void,
): HiddenDefinitions | undefined {
  const { guarded } = tenantVersion.catalog;
  if (!guarded) return undefined;
  const viewer = {
    ...subject,
    get settings() {
      return deepFreeze(tenantSettings(tenantVersion)) as never;
    },
  };
  const isVisible = guarded.map((one) => {
    try {
      return one.visible?.(viewer) === true;
    } catch (error) {
      if (!reported.has(one)) onError(error);
      reported.add(one);
      return false;
    }
  });
  return {
    key: isVisible.map(Number).join(""),
    definitions: new Set(guarded.filter((_one, at) => !isVisible[at])),
  };
}
