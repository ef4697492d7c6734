// The namespaces of the Worker's own Durable Objects. The platform provides them for all exported classes, so
// wrangler.toml needs no bindings. A binding with the name of the class takes precedence: a Worker whose objects live
// in another script needs it.

import { exports } from "cloudflare:workers";
import { OBJECT_CLASSES, type ObjectClass } from "./object-classes.ts";

export type ObjectBindings = { readonly [name in ObjectClass]?: DurableObjectNamespace };

/** Call this in a request or an object: the platform provides no namespaces while modules are evaluated. */
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

/** If no migration names an exported class, the platform provides something else under its name. */
export function isExported(name: ObjectClass): boolean {
  return getExportedClasses()[name] !== undefined;
}

/** The bindings, plus every namespace that the Worker has. */
export function withNamespaces<Bindings extends object>(env: Bindings): Bindings {
  const namespaces = OBJECT_CLASSES.filter((name) => hasNamespace(env, name)).map((name) => [
    name,
    findNamespace(env, name),
  ]);
  return { ...env, ...Object.fromEntries(namespaces) };
}

function findNamespace(env: unknown, name: ObjectClass): unknown {
  return (env as Members)[name] ?? getExportedClasses()[name];
}

type Members = Readonly<Record<string, unknown>>;

let exportedClasses: Members = {};

/** Cached, because they never change and each access to `exports` takes half a microsecond. */
function getExportedClasses(): Members {
  if (Object.keys(exportedClasses).length > 0) return exportedClasses;
  const all = exports as unknown as Members;
  exportedClasses = Object.fromEntries(
    OBJECT_CLASSES.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])),
  );
  return exportedClasses;
}
