// Owns bindings that count: the Worker's own objects and its KV, as one request calls them. Refuses to change what is called, or
// what comes back; what else is bound is handed on as it is.

export interface Counting {
  /** A call to an object. */
  called(method: string): void;
  /** It was refused because too many came. */
  overloaded(): void;
  /** A value was read of KV. */
  read(isMissing: boolean): void;
}

type Bound = Readonly<Record<string, unknown>>;

const READS = new Set(["get", "getWithMetadata"]);

export function countedBindings<Env extends object>(env: Env, counting: Counting): Env {
  const bound: Record<string, unknown> = { ...(env as Bound) };
  for (const [name, value] of Object.entries(bound)) if (isOfObjects(value)) bound[name] = objects(value, counting);
  if (bound["BODIES"]) bound["BODIES"] = watched(bound["BODIES"], (method, done) => heardKv(method, done, counting));
  return bound as Env;
}

/** The platform's own classes: a service binding has every method that it is asked for. */
function isOfObjects(value: unknown): boolean {
  const { constructor: made } = Object(value) as { readonly constructor?: { readonly name?: unknown } };
  return /^(?:Loopback)?DurableObjectNamespace$/.test(String(made?.name));
}

type Hear = (method: string, returned: unknown) => unknown;

/** Every function of the target, and then what is heard of it; what else it has as it is. */
function watched(target: unknown, hear: Hear): object {
  return new Proxy(target as object, {
    get: (_target, member) => {
      const value: unknown = Reflect.get(target as object, member);
      if (typeof value !== "function" || typeof member !== "string") return value;
      // A method of a remote object has every member, `apply` too.
      const methods = target as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
      return (...args: readonly unknown[]) => hear(member, methods[member]?.(...args));
    },
  });
}

function objects(namespace: unknown, counting: Counting): object {
  return watched(namespace, (method, found) => {
    if (method === "jurisdiction") return objects(found, counting);
    return method.startsWith("get") ? watched(found, (...heard) => heardCall(...heard, counting)) : found;
  });
}

function heardCall(method: string, returned: unknown, counting: Counting): unknown {
  counting.called(method);
  if (returned instanceof Promise || isThenable(returned)) {
    Promise.resolve(returned).catch((error: unknown) => {
      // Whoever called hears of it. Here it is counted.
      if ((error as { readonly overloaded?: boolean } | undefined)?.overloaded) counting.overloaded();
    });
  }
  return returned;
}

function heardKv(method: string, returned: unknown, counting: Counting): unknown {
  if (!READS.has(method)) return returned;
  Promise.resolve(returned).then(
    (value) => counting.read(value === null || (value as { readonly value?: unknown }).value === null),
    () => counting.read(true),
  );
  return returned;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === "function";
}
