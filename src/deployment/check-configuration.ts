// What a Worker needs of its author: a KV namespace, its classes in a migration, and the exports of tenantry/objects.

import { CLASSES, hasNamespace, isExported } from "../tenants/directory/namespaces.ts";
import type { Bindings } from "./deployment.ts";

/** Entrypoints, which only the Worker itself reaches. */
export const ENTRYPOINTS = ["StoredRuns", "UpstreamRefreshes", "WebhookDeliveries"] as const;

/** From which on the platform tells a Worker of its own exports. */
const MIN_COMPATIBILITY_DATE = "2025-11-17";

/** What an operator is told of the one binding without which nothing can be served; undefined: it is there. */
export function missingBinding({ BODIES }: Bindings): string | undefined {
  return BODIES === undefined
    ? "wrangler's configuration binds no BODIES: the Worker needs this KV namespace (tenantry/docs/api-start.md)"
    : undefined;
}

/** The same of an entrypoint; undefined: all are exported. Only a request can tell. */
export function missingExport({ exports }: { readonly exports?: unknown }): string | undefined {
  if (exports === undefined)
    return `compatibility_date has to be ${MIN_COMPATIBILITY_DATE} or later: the platform gives no ctx.exports`;
  const exported = exports as Bindings;
  const missing = ENTRYPOINTS.find((name) => exported[name] === undefined);
  return missing && notExported(missing);
}

/** The same of a class without objects. */
export function missingObject(env: Bindings): string | undefined {
  const missing = CLASSES.find((name) => !hasNamespace(env, name));
  if (missing === undefined) return undefined;
  return isExported(missing)
    ? `wrangler's configuration names no ${missing} in new_sqlite_classes: the Worker needs it, under a new tag where one is deployed (tenantry/docs/api-start.md)`
    : notExported(missing);
}

function notExported(name: string): string {
  return `the Worker does not export ${name}: write export * from "tenantry/objects" in the file that main names`;
}
