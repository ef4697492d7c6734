// Bindings of a Worker of which one call fails, as the platform has calls fail on a bad day: to an object or to KV.

import { env, exports } from "cloudflare:workers";
import type { Env } from "../../../src/tenantry.ts";
import { withFault, type ObjectFault } from "./object-faults.ts";

const FAULTY_CLASSES = ["TenantObject", "ContentObject", "DirectoryObject"] as const;

type Calling = (name: string, work: () => unknown) => unknown;

/** Every function of the target by `calling`; what else it has as it is. */
function watched(target: object, calling: Calling): object {
  return new Proxy(target, {
    get: (_target, member) => {
      const value: unknown = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      // A method of a remote object has every member, `apply` too.
      const methods = target as Record<string | symbol, (...args: unknown[]) => unknown>;
      return (...args: unknown[]) => calling(String(member), () => methods[member]?.(...args));
    },
  });
}

/** The platform loses the connection to an object: it says that the call may be made again. */
export const RESET = { retryable: true };
/** The same, and resets an object under a call, as a deployment does: it may say no more than that. */
export const RESETS = [RESET, { durableObjectReset: true }] as const;

/**
 * Bindings at which each call to an object fails the first time that it is made, and is not done; `steps`: the names of all.
 * `error`: what the platform says of it.
 */
export function failingOnce(error: object): { readonly env: Env; readonly steps: string[] } {
  const failed = new Set<string>();
  return calledBy((name, work) => {
    if (name.startsWith("BODIES") || failed.has(name)) return work();
    failed.add(name);
    throw Object.assign(new Error("Durable Object reset because its code was updated."), error);
  });
}

/** `steps`: the names of all calls, such as `ContentObject content.list` and `BODIES get`; `at`: those that fail. */
export function faultyEnv(fault: ObjectFault, at: string): { readonly env: Env; readonly steps: string[] } {
  return calledBy((name, work) => (name === at ? withFault(fault, async () => work()) : work()));
}

function calledBy(going: (name: string, work: () => unknown) => unknown): {
  readonly env: Env;
  readonly steps: string[];
} {
  const steps: string[] = [];
  const step = async (name: string, work: () => unknown) => {
    steps.push(name);
    return going(name, work);
  };
  const bound: Record<string, unknown> = { ...env };
  for (const name of FAULTY_CLASSES) {
    bound[name] = watched(exports[name], (_method, get) =>
      watched(get() as object, (method, work) => step(`${name} ${method}`, work)),
    );
  }
  bound["BODIES"] = watched(env.BODIES, (method, work) => step(`BODIES ${method}`, work));
  return { env: bound as unknown as Env, steps };
}
