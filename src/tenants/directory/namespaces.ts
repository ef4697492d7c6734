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
  return find(env, name) as DurableObjectNamespace<T>;
}

/** Whether the Worker exports the class and its migrations name it. */
export function hasNamespace(env: unknown, name: ObjectClass): boolean {
  return typeof (find(env, name) as Partial<DurableObjectNamespace> | undefined)?.getByName === "function";
}

/** What the Worker exports and no migration names has no namespace, but something else of the name. */
export function isExported(name: ObjectClass): boolean {
  return ofExports()[name] !== undefined;
}

/** The bindings, with every namespace that the Worker has. */
export function withNamespaces<Bindings extends object>(env: Bindings): Bindings {
  const found = CLASSES.filter((name) => hasNamespace(env, name)).map((name) => [name, find(env, name)]);
  return { ...env, ...Object.fromEntries(found) };
}

function find(env: unknown, name: ObjectClass): unknown {
  return (env as Members)[name] ?? ofExports()[name];
}

type Members = Readonly<Record<string, unknown>>;

let known: Members = {};

/** Kept, because they stay the same and each look at `exports` takes half a microsecond. */
function ofExports(): Members {
  if (Object.keys(known).length > 0) return known;
  const all = exports as unknown as Members;
  known = Object.fromEntries(CLASSES.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
  return known;
}
