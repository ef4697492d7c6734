// Owns what a caller does not see because the author of a definition says so. Asked of every definition that says it, at
// every request: what somebody may see can be in their claims, and views are shared by who sees the same.

import type { AccessRules, Viewer } from "../handlers/access-rules.ts";
import type { Catalog } from "../handlers/catalog.ts";
import { tenantSettings, type ConfiguredTenant } from "../handlers/check-config.ts";
import { deepFreeze } from "./deep-freeze.ts";

export interface HiddenDefinitions {
  /** What is told apart from others by what is hidden. */
  readonly key: string;
  readonly definitions: ReadonlySet<object>;
}

/** Those that are not there for everybody; undefined: all are. */
export function restrictedDefinitions({
  tools = [],
  prompts = [],
  resources = [],
}: Partial<Catalog>): readonly AccessRules<never>[] | undefined {
  // Of a definition with a mistake there is none under `wrangler dev`.
  const guarded = [...tools, ...prompts, ...resources].filter((one: AccessRules<never> | undefined) => one?.visible);
  return guarded.length > 0 ? guarded : undefined;
}

/** Mistakes that were told: each request meets them. */
const reported = new WeakSet<object>();

/** undefined: everything is there for everybody. */
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
