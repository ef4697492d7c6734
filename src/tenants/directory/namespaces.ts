// The namespaces of the Worker's own Durable Objects. The platform gives those of all exported classes, so a wrangler.toml binds
// none. A binding with the name of the class goes first: a Worker whose objects are another script's needs it.

import { exports } from "cloudflare:workers";

export const CLASSES = [
  "TenantObject",
  "ContentObject",
  "SessionObject",
  "HubObject",
  "DirectoryObject",
  "PlatformObject",
  "UpstreamObject",
] as const;

export type ObjectClass = (typeof CLASSES)[number];

export type ObjectBindings = { readonly [name in ObjectClass]?: DurableObjectNamespace };

/** Call it in a request or an object: while modules are evaluated the platform gives no namespaces. */
export function namespaceOf<T extends Rpc.DurableObjectBranded | undefined = undefined>(
  env: unknown,
  name: ObjectClass,
): DurableObjectNamespace<T> {
  return findNamespace(env, name) as DurableObjectNamespace<T>;
}

/** Whether the Worker exports the class and its migrations name it. */
export function hasNamespace(env: unknown, name: ObjectClass): boolean {
  return typeof (findNamespace(env, name) as Partial<DurableObjectNamespace> | undefined)?.getByName === "function";
}

/** What the Worker exports and no migration names has no namespace, but something else of the name. */
export function isExported(name: ObjectClass): boolean {
  return getExportedClasses()[name] !== undefined;
}

/** The bindings, with every namespace that the Worker has. */
export function withNamespaces<Bindings extends object>(env: Bindings): Bindings {
  const namespaces = CLASSES.filter((name) => hasNamespace(env, name)).map((name) => [name, findNamespace(env, name)]);
  return { ...env, ...Object.fromEntries(namespaces) };
}

function findNamespace(env: unknown, name: ObjectClass): unknown {
  return (env as Members)[name] ?? getExportedClasses()[name];
}

type Members = Readonly<Record<string, unknown>>;

let exportedClasses: Members = {};

/** Kept, because they stay the same and each look at `exports` takes half a microsecond. */
function getExportedClasses(): Members {
  if (Object.keys(exportedClasses).length > 0) return exportedClasses;
  const all = exports as unknown as Members;
  exportedClasses = Object.fromEntries(CLASSES.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
  return exportedClasses;
}
