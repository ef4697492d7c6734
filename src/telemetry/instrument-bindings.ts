// Wraps the Worker's Durable Object namespaces and its KV, to count one request's calls. Calls and results are
// unchanged; other bindings are passed on as they are.

export interface BindingObserver {
  /** Called for each call to a Durable Object. */
  onObjectCall(method: string): void;
  /** The object rejected the call because it was overloaded. */
  onOverload(): void;
  /** Called for each value read from KV. */
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

/** Checks the class name, because a service binding appears to have every method. */
function isObjectNamespace(value: unknown): boolean {
  const { constructor: constructorFunction } = Object(value) as { readonly constructor?: { readonly name?: unknown } };
  return /^(?:Loopback)?DurableObjectNamespace$/.test(String(constructorFunction?.name));
}

/** Wraps every function of the target and reports its result. Other members are unchanged. */
function observeMethods(target: unknown, observe: (method: string, returned: unknown) => unknown): object {
  return new Proxy(target as object, {
    get: (_target, member) => {
      const value: unknown = Reflect.get(target as object, member);
      if (typeof value !== "function" || typeof member !== "string") return value;
      // A method of a remote object appears to have every member, even `apply`, so it is called directly.
      const methods = target as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
      return (...args: readonly unknown[]) => observe(member, methods[member]?.(...args));
    },
  });
}

function observeNamespace(namespace: unknown, counting: BindingObserver): object {
  return observeMethods(namespace, (method, stub) => {
    if (method === "jurisdiction") return observeNamespace(stub, counting);
    return method.startsWith("get") ? observeMethods(stub, (...args) => observeCall(...args, counting)) : stub;
  });
}

function observeCall(method: string, returned: unknown, counting: BindingObserver): unknown {
  counting.onObjectCall(method);
  if (returned instanceof Promise || isThenable(returned)) {
    Promise.resolve(returned).catch((error: unknown) => {
      // The caller handles the error; here it is only counted.
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
