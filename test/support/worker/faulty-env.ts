// Owns bindings of a Worker of which one call fails, as the platform has calls fail on a bad day: to an object or to KV. Refuses
// assertions.

import { env } from "cloudflare:workers";
import type { Env } from "../../../src/tenantry.ts";
import { withFault, type ObjectFault } from "./object-faults.ts";

const OBJECTS = ["TENANTS", "CONTENT", "DIRECTORY"] as const;

type Calling = (name: string, args: unknown[], work: () => unknown) => unknown;

/** Every function of the target by `calling`; what else it has as it is. */
function watched(target: object, calling: Calling): object {
  return new Proxy(target, {
    get: (_target, member) => {
      const value: unknown = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      // A method of a remote object has every member, `apply` too.
      const methods = target as Record<string | symbol, (...args: unknown[]) => unknown>;
      return (...args: unknown[]) => calling(String(member), args, () => methods[member]?.(...args));
    },
  });
}

/** `steps`: the names of all calls, such as `CONTENT content.list` and `BODIES get`; `at`: those that fail. */
export function faultyEnv(fault: ObjectFault, at: string): { readonly env: Env; readonly steps: string[] } {
  const steps: string[] = [];
  const step = (name: string, work: () => unknown) => {
    steps.push(name);
    const going = async () => work();
    return name === at ? withFault(fault, going) : going();
  };
  const bound: Record<string, unknown> = { ...env };
  for (const name of OBJECTS) {
    bound[name] = watched(env[name], (_method, _args, get) =>
      watched(get() as object, (method, args, work) =>
        step(`${name} ${method === "run" ? args.slice(0, 2).join(".") : method}`, work),
      ),
    );
  }
  bound["BODIES"] = watched(env.BODIES, (method, _args, work) => step(`BODIES ${method}`, work));
  return { env: bound as unknown as Env, steps };
}
