// Owns bindings that count: the Worker's own objects and its KV, as one request calls them. Refuses to change what is called, or
// what comes back; what else is bound is handed on as it is.

export interface BindingObserver {
  /** A call to an object. */
  onObjectCall(method: string): void;
  /** It was refused because too many came. */
  onOverload(): void;
  /** A value was read of KV. */
  onKvRead(isMissing: boolean): void;
}

type Bound = Readonly<Record<string, unknown>>;

const READS = new Set(["get", "getWithMetadata"]);

export function instrumentBindings<Env extends object>(env: Env, counting: BindingObserver): Env {
  const bound: Record<string, unknown> = { ...(env as Bound) };
  for (const [name, value] of Object.entries(bound))
    if (isObjectNamespace(value)) bound[name] = observeNamespace(value, counting);
  if (bound["BODIES"])
    bound["BODIES"] = observeMethods(bound["BODIES"], (method, done) => observeKv(method, done, counting));
  return bound as Env;
}

/** The platform's own classes: a service binding has every method that it is asked for. */
function isObjectNamespace(value: unknown): boolean {
  const { constructor: constructorFunction } = Object(value) as { readonly constructor?: { readonly name?: unknown } };
  return /^(?:Loopback)?DurableObjectNamespace$/.test(String(constructorFunction?.name));
}

type Observe = (method: string, returned: unknown) => unknown;

/** Every function of the target, and then what is heard of it; what else it has as it is. */
function observeMethods(target: unknown, observe: Observe): object {
  return new Proxy(target as object, {
    get: (_target, member) => {
      const value: unknown = Reflect.get(target as object, member);
      if (typeof value !== "function" || typeof member !== "string") return value;
      // A method of a remote object has every member, `apply` too.
      const methods = target as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
      return (...args: readonly unknown[]) => observe(member, methods[member]?.(...args));
    },
  });
}

function observeNamespace(namespace: unknown, counting: BindingObserver): object {
  return observeMethods(namespace, (method, stub) => {
    if (method === "jurisdiction") return observeNamespace(stub, counting);
    return method.startsWith("get") ? observeMethods(stub, (...heard) => observeCall(...heard, counting)) : stub;
  });
}

function observeCall(method: string, returned: unknown, counting: BindingObserver): unknown {
  counting.onObjectCall(method);
  if (returned instanceof Promise || isThenable(returned)) {
    Promise.resolve(returned).catch((error: unknown) => {
      // Whoever called hears of it. Here it is counted.
      if ((error as { readonly overloaded?: boolean } | undefined)?.overloaded) counting.onOverload();
    });
  }
  return returned;
}

function observeKv(method: string, returned: unknown, counting: BindingObserver): unknown {
  if (!READS.has(method)) return returned;
  Promise.resolve(returned).then(
    (value) => counting.onKvRead(value === null || (value as { readonly value?: unknown }).value === null),
    () => counting.onKvRead(true),
  );
  return returned;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === "function";
}
