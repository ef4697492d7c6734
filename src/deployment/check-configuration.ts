// Checks that the author's configuration is complete: a KV namespace, classes in a migration, and the exports of
// tenantry/objects.

import { hasNamespace, isExported } from "../tenants/directory/namespaces.ts";
import { OBJECT_CLASSES } from "../tenants/directory/object-classes.ts";
import type { UntypedEnv } from "./deployment.ts";

/** Entrypoints that only the Worker itself calls. */
export const ENTRYPOINTS = ["StoredRuns", "UpstreamRefreshes", "WebhookDeliveries"] as const;

/** From this date on, the platform provides `ctx.exports`. */
const MIN_COMPATIBILITY_DATE = "2025-11-17";

const STRICT_FETCH = "global_fetch_strictly_public";

/** Error for the one binding that is always required; undefined if it is there. */
export function missingBinding({ BODIES }: UntypedEnv): string | undefined {
  return BODIES === undefined
    ? "wrangler's configuration has no KV binding BODIES: add a KV namespace with this binding (tenantry/docs/api-start.md)"
    : undefined;
}

/** Error for a missing entrypoint; undefined if all are exported. Only a request's `ctx` shows them. */
export function missingExport({ exports }: { readonly exports?: unknown }): string | undefined {
  if (exports === undefined)
    return `compatibility_date must be ${MIN_COMPATIBILITY_DATE} or later, because the Worker needs ctx.exports`;
  const exported = exports as UntypedEnv;
  const missing = ENTRYPOINTS.find((name) => exported[name] === undefined);
  return missing && notExported(missing);
}

/** Error for classes without a namespace, all at once; undefined if all have one. */
export function missingObjectClass(env: UntypedEnv): string | undefined {
  const missing = OBJECT_CLASSES.filter((name) => !hasNamespace(env, name));
  if (missing.length === 0) return undefined;
  const unexported = missing.filter((name) => !isExported(name));
  return unexported.length > 0
    ? notExported(unexported.join(", "))
    : `new_sqlite_classes in wrangler's configuration does not list ${missing.join(", ")}: add the class to a migration, with a new tag if the Worker is deployed (tenantry/docs/api-start.md)`;
}

/**
 * Warning about a missing compatibility flag; undefined if it is set. `wrangler dev` reads the flag and does not apply it:
 * only a deployment shows what it does.
 */
export function missingFlag({
  compatibilityFlags,
}: {
  readonly compatibilityFlags: Readonly<Record<string, boolean>>;
}): string | undefined {
  return compatibilityFlags[STRICT_FETCH] === true
    ? undefined
    : `wrangler's configuration lacks compatibility_flags = ["${STRICT_FETCH}"]: once deployed, ctx.fetch can reach origins of your own zone that are not public`;
}

function notExported(name: string): string {
  return `the Worker does not export ${name}: write export * from "tenantry/objects" in the file that main names`;
}
