// What a Worker needs of its wrangler.toml: a KV namespace, and its classes in a migration.

import { hasNamespace, isExported, isObjectClass, type ObjectClass } from "../tenants/directory/namespaces.ts";
import type { Bindings, Feature } from "./deployment.ts";

/** Durable Objects that every Worker has. */
const OBJECTS = ["TenantObject", "ContentObject", "SessionObject", "HubObject", "DirectoryObject"] as const;

export function neededObjects(features: readonly Feature[]): readonly ObjectClass[] {
  const ofFeatures = features.flatMap(({ objects = {} }) => Object.keys(objects)).filter(isObjectClass);
  return [...new Set([...OBJECTS, ...ofFeatures])];
}

/** What an operator is told of the one binding without which nothing can be served; undefined: it is there. */
export function missingBinding({ BODIES }: Bindings): string | undefined {
  return BODIES === undefined
    ? "wrangler.toml binds no BODIES: the Worker needs it, as in docs/api-start.md"
    : undefined;
}

/** The same of a class without objects; undefined: all have some. Only a request can tell. */
export function missingObject(env: Bindings, features: readonly Feature[]): string | undefined {
  const missing = neededObjects(features).find((name) => !hasNamespace(env, name));
  if (missing === undefined) return undefined;
  return isExported(missing)
    ? `wrangler.toml names no ${missing} in new_sqlite_classes: the Worker needs it, as in docs/api-start.md`
    : `the Worker does not export ${missing}: export const { ${missing}, ... } = worker.exports`;
}
